"""A lazy expression does what one does that was compiled, and only then costs as much."""

import re

import pytest

from probes.kit.lazy import lazy_regex


def test_a_lazy_expression_answers_as_the_compiled_one() -> None:
    lazy, compiled = lazy_regex(r"(?P<name>\w+)=(\d+)", re.ASCII), re.compile(r"(?P<name>\w+)=(\d+)", re.ASCII)
    for text in ("", "a=1", "x a=12 b=3", "ä=1"):
        assert lazy.findall(text) == compiled.findall(text)
        assert bool(lazy.fullmatch(text)) == bool(compiled.fullmatch(text))
        assert lazy.sub(r"\2", text) == compiled.sub(r"\2", text)
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)


def test_one_of_bytes_is_for_bytes() -> None:
    found = lazy_regex(rb"\d+").search(b"width 16")
    assert found is not None
    assert found[0] == b"16"


def test_it_is_compiled_when_it_is_first_used() -> None:
    broken = lazy_regex("(")
    assert broken.pattern == "("
    with pytest.raises(re.error):
        broken.search("")


def test_from_the_second_time_on_it_is_the_method_of_the_compiled_one() -> None:
    lazy = lazy_regex("a")
    assert lazy.search("a")
    assert lazy.search is lazy.search, "no new one is bound for each call"
