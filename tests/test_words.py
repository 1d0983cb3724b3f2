"""A value is shown so that nobody takes it for another one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.words import LIMIT, before_after, in_full, quantities, quantity, rates

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("before", "after", "unit", "words"),
    [
        (600, 450, "W", "600 -> 450 W"),
        ("max", 4000, "B", "max -> 4000 B"),
        ("max", 3 << 30, "B", "max -> 3 GiB"),
        (80 << 30, 40 << 20, "B", "81920 -> 40 MiB"),
        (700_000, 450_000, "mW", "700 -> 450 W"),
        (700_000, 450_500, "mW", "700000 -> 450500 mW"),
        (700_000, {"during": [700_000, 350_000]}, "mW", "700 -> 700 then 350 W"),
        (700_000, {"during": [700_000, {"gap": "lost"}]}, "mW", "700 -> 700 then (lost) W"),
        ([100_000, 700_000], [100_000, 600_000], "mW", "[100, 700] -> [100, 600] W"),
        (3_000_000, {"gap": "retired"}, "kHz", "3000 MHz -> (retired)"),
        (0, 0.5, "mW", "0 -> 0.5 mW"),
        (600, {"gap": "timed_out"}, "W", "600 W -> (timed out)"),
        ({"gap": "absent"}, {"gap": "denied"}, "W", "(absent) -> (denied)"),
        (None, "", "", "(none) -> ''"),
        ("(denied)", {"gap": "denied"}, "", "'(denied)' -> (denied)"),
        (8, "8", "", "8 -> '8'"),
        (1, True, "", "1 -> true"),
        ("a\x1b[2Jb", "a\u202eb", "", "'a\\x1b[2Jb' -> 'a\\u202eb'"),
        ({"redacted": True}, {"redacted": True}, "", "(private) -> (another, private)"),
        (0, {"during": [0, 512]}, "pages", "0 -> 0 then 512 pages"),
        ({"redacted": True}, "x", "", "(private) -> x"),
        ("a" * 40, "b" * 40, "", f"{'a' * 12}... -> {'b' * 12}..."),
        (["a", "b"], ["a"], "", "[a, b] -> [a]"),
        (
            ["a", {"redacted": True}],
            ["a", {"redacted": True}],
            "",
            "[a, (private)] -> (the same but for what is private)",
        ),
        (list("abcdefgh"), list("abcdxfgh"), "", "[..., d, e, f, ...] -> [..., d, x, f, ...]"),
        (list("abcdefgh"), list("abcdfgh"), "", "[..., d, e, f, ...] -> [..., d, f, ...]"),
    ],
)
def test_before_and_after_in_words(before: Any, after: Any, unit: str, words: str) -> None:
    assert before_after(before, after, unit) == words


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (["4"], ["8"], "4 -> 8"),
        ({"gap": "absent"}, [], "(absent) -> (set)"),
        ([], ["(set)"], "(set) -> '(set)'"),
        (["a", "b"], ["a"], "[a, b] -> a"),
        ([{"redacted": True}], [{"redacted": True}], "(private) -> (another, private)"),
    ],
)
@pytest.mark.parametrize("fact", ["process/main/flags/--threads", "kernel/cmdline/quiet"])
def test_a_flag_reads_as_it_was_written(fact: str, before: Any, after: Any, words: str) -> None:
    assert before_after(before, after, of=fact) == words


def test_of_long_text_the_part_that_differs_is_shown() -> None:
    words = before_after("/usr/lib:" * 20 + "/opt/new:/end", "/usr/lib:" * 20 + "/opt/old:/end")
    assert words == "...sr/lib:/opt/new:/end -> ...sr/lib:/opt/old:/end"


@given(JSON, JSON)
def test_sides_that_differ_look_different_and_short(before: Any, after: Any) -> None:
    old, arrow, new = before_after(before, after).partition(" -> ")
    same = type(before) is type(after) and before == after
    if arrow not in (str(before), str(after)):
        assert same or old != new
    assert all(character.isprintable() for character in old + new)


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_side_is_longer_than_its_limit(before: str, after: str) -> None:
    assert len(before_after(before, after)) <= 2 * (LIMIT + len("......")) + len(" -> ")


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (19.2345, "ms", "19.23 ms"),
        (123456.7, "tok/s", "123457 tok/s"),
        (0, "B", "0 B"),
        (999, "B", "999 B"),
        (310_400_000, "B", "310.4 MB"),
        (2.5e15, "B", "2500 TB"),
        (0.00001, "s", "1e-05 s"),
        (2, "", "2"),
        (412_345.6, "mW", "412.3 W"),
        (900, "mW", "900 mW"),
        (1_980_000, "kHz", "1980 MHz"),
    ],
)
def test_a_quantity_has_four_digits_and_its_unit(number: float, unit: str, words: str) -> None:
    assert quantity(number, unit) == words


def test_two_quantities_share_their_multiple() -> None:
    assert quantities(900_000, 3_100_000, "B") == "0.9 -> 3.1 MB"
    assert quantities(19.2, 29.6, "ms") == "19.2 -> 29.6 ms"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (600_000, "mW", "600 W"),
        (600_500, "mW", "600500 mW"),
        (600_500, "", "600500"),
        ("max", "B", "max B"),
        ({"gap": "denied"}, "B", "(denied)"),
        (None, "B", "(none)"),
    ],
)
def test_a_value_in_full_has_its_unit(value: Any, unit: str, words: str) -> None:
    assert in_full(value, unit) == words


@pytest.mark.parametrize(
    ("unit", "rate", "words"),
    [
        ("ns", 455_589_667, "0 -> 45.6 % of the time"),
        ("us", 3_120_000, "0 -> 312 % of the time"),
        ("ticks of 1/100 s", 2, "0 -> 2 % of the time"),
        ("switches", 101.9, "0 -> 101.9 switches per second"),
    ],
)
def test_time_that_was_counted_is_told_as_a_share_of_the_time(unit: str, rate: float, words: str) -> None:
    assert rates(0, rate, unit) == words


@given(st.text(st.characters(categories=["L", "N"]), min_size=1))
def test_nothing_is_cut_off_a_value_in_full(text: str) -> None:
    assert in_full(text) == text
