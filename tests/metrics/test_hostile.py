"""Whatever a result file holds, it is read or refused in one sentence."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fingerprint.metrics.found import Found, NothingRead
from tests.metrics.results import content, read_content

leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5))
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
FILES = ["pyperf-command.json", "hyperfine-parameters.json", "google-python.json", "pytest-saved.json"]


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of the document, as (container, key)."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(inside):
        yield document, key
        if isinstance(value, dict | list):
            yield from places(value)


def trimmed(file: str) -> Any:
    """Without what no reader looks at, which would take most of the places."""
    document = content(file)
    document.pop("commit_info", None)
    if "machine_info" in document:
        document["machine_info"] = {}
    return document


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_member_replaced_by_anything_is_read_or_refused(file: str, data: st.DataObject) -> None:
    document = copy.deepcopy(trimmed(file))
    container, key = data.draw(st.sampled_from(list(places(document))), label="place")
    container[key] = data.draw(values)
    found = read_or_refuse(document)
    assert isinstance(found, str) or found.metrics
    assert isinstance(found, Found) or found.isprintable()


def read_or_refuse(document: Any) -> Found | str:
    try:
        return read_content(document)
    except NothingRead as refused:
        return str(refused)


@given(values)
def test_any_json_is_refused(document: Any) -> None:
    with pytest.raises(NothingRead, match="not recognised"):
        read_content(document)
