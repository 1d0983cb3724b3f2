"""The facts of a published document, with their units, and where a check of a policy stands."""

import pytest

from fingerprint.report.leaves import Units, of_section, worded_in_full
from fingerprint.report.phrases import policy_line
from tests.report.verdicts import check

SECTION = {
    "facts": {
        "total": 4096, "sizes": {"$": "map", "items": {"x": 1}},
        "items": {"$": "map", "items": {"a/b": {"used": 2048}}},
    },
    "units": {"total": "B", "items/*/used": "kHz", "sizes": "W"},
}  # fmt: skip


def test_each_fact_has_its_path_and_its_unit() -> None:
    units = Units(SECTION)
    told = {str(path): (value, units.of(path[1:])) for path, value in of_section("memory", SECTION)}
    assert told == {"memory/total": (4096, "B"), "memory/items/a%2Fb/used": (2048, "kHz"), "memory/sizes/x": (1, "W")}


def test_a_section_without_units_has_none() -> None:
    assert Units({"facts": {"total": 1}}).of(("total",)) == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"$": "gap", "code": "not_read", "detail": "hung"}, "(not read: hung)"),
        ({"$": "gap", "code": "denied"}, "(denied)"),
        ({"$": "hmac", "digest": "00"}, "(private)"),
        ({"$": "doc", "value": {"a": 1}}, '{"a": 1}'),
        (4096, "4 KiB"),
    ],
)
def test_what_is_no_plain_value_is_told_in_its_place(value: object, words: str) -> None:
    assert worded_in_full(value, "B", "memory/total") == words


@pytest.mark.parametrize(
    ("origin", "source", "place"),
    [
        ("policy", "./policies/ci.toml:12", ("policies/ci.toml", 12)),
        ("policy", "policies/ci.toml at origin/main:12", ("policies/ci.toml", 12)),
        ("policy", "a: b.toml:3", ("a: b.toml", 3)),
        ("policy", "no line", None),
        ("baseline", "run-A:12", None),
        ("nominal", "", None),
    ],
)
def test_a_check_of_a_policy_stands_at_its_line(origin: str, source: str, place: tuple[str, int] | None) -> None:
    assert policy_line(check("x", "failed", origin=origin, source=source)) == place
