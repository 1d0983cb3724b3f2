"""The path into a JSON document."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.metrics.path import EVERY, Missing, Path, Place, Step, parse_path, walk
from fingerprint.trouble import Trouble

steps: st.SearchStrategy[Step] = st.one_of(
    st.text(max_size=8),
    st.integers(-(10**6), 10**6),
    st.sampled_from('a b.c p99.9 [0] $x a"b # , unit'.split(" ")),
    st.just(EVERY),
)


@given(st.lists(steps, max_size=6).map(tuple))
def test_a_printed_path_is_parsed_to_the_same(path: tuple[Step, ...]) -> None:
    assert parse_path(str(Path(path))) == Path(path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("$", ()),
        ("a.b", ("a", "b")),
        ("$.a[0].b", ("a", 0, "b")),
        ("[*].samples_ts", (EVERY, "samples_ts")),
        ("a[-1]", ("a", -1)),
        ('a["p99.9 (ms)"].b', ("a", "p99.9 (ms)", "b")),
        ('a."x.y"', ("a", "x.y")),
        ("latency (ms)", ("latency (ms)",)),
    ],
)
def test_paths(text: str, path: tuple[Step, ...]) -> None:
    assert parse_path(text).steps == path


@pytest.mark.parametrize("text", ["a..b", "a.", "a[", "a[x]", "a[0", 'a["x]', "a[0]b", ".", 'a["\\q"]'])
def test_what_is_no_path_is_named(text: str) -> None:
    with pytest.raises(Trouble, match="path|quoted key"):
        parse_path(text)


def found(document: Any, path: str) -> list[Any]:
    places = walk(document, parse_path(path), "r.json")
    return [place.value if isinstance(place, Place) else f"missing: {place.says}" for place in places]


def test_every_element_is_visited_in_order() -> None:
    assert found({"a": [{"b": [1, 2]}, {"b": [3]}]}, "a[*].b[*]") == [1, 2, 3]


@pytest.mark.parametrize(
    ("document", "path", "says"),
    [
        ({"latency_ms": 1}, "latencyms", "r.json has no 'latencyms' (did you mean 'latency_ms'?): it has 'latency_ms'"),
        ({"a": [1]}, "a[1]", "r.json#a has 1 elements, so there is no [1]"),
        ({"a": {"b": 1}}, "a[*]", "r.json#a is no list, so [*] means nothing there: it has 'b'"),
        ([1, 2], "a", "r.json has no 'a': it is a list of 2, whose elements are [0] and so on, or [*] for all"),
        ({"a": {}}, "a.b", "r.json#a has no 'b': it is empty"),
        ({"a": 3}, "a.b", "r.json#a has no 'b'"),
    ],
)
def test_what_is_missing_is_told_with_what_stands_there(document: Any, path: str, says: str) -> None:
    assert list(walk(document, parse_path(path), "r.json")) == [Missing(says)]
