"""How strongly a mechanism is suspected before anything is seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.explain.judged import AS_ANY, TABLE, judged, usual
from fingerprint.explain.mechanisms import rule, rules
from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.phases import ANY
from fingerprint.explain.weights import JUDGED, suspected
from tests.report.cases import metric

COLUMNS, *LINES = (line.split("\t") for line in TABLE.read_text().splitlines())
NUMBERS = {name: dict(zip(COLUMNS[1:], map(float, values), strict=True)) for name, *values in LINES}
CLASSES = ("rate", "host", "transfer", "start", "memory", "ended")
MAY_END = 3
ENDS_BY_ANOTHER = {"open-connections": "open-files"}
"""Of rules that end no run: the one beside it, which sees the same and tells that it does."""
RECORDS = (None, (1.5, 9.0), (1.01, 1.02), (1.3, 1.3))


def made(name: str = "nobody-judged-it", on_record: tuple[float, float] | None = None) -> Rule:
    return Rule(name=name, sees=("*",), moves=("sm clock",), why="", confirm="", usual=on_record)


def test_every_rule_is_judged_once_and_nothing_else_in_the_order_of_the_rules() -> None:
    assert [name for name, *_ in LINES] == [one.name for one in rules()]


def test_what_is_judged_is_a_figure_and_an_effect_is_a_ratio_of_one_or_more() -> None:
    assert {name for name, told in NUMBERS.items() for one in CLASSES if told[one] not in range(10)} == set()
    assert {name for name, told in NUMBERS.items() if not 1 <= told["least"] <= told["most"]} == set()


def test_what_may_well_end_a_run_says_so_in_its_rule() -> None:
    silent = {one.name for one in rules() if one.breaks == "never" and NUMBERS[one.name]["ended"] >= MAY_END}
    assert silent == ENDS_BY_ANOTHER.keys()
    for name, other in ENDS_BY_ANOTHER.items():
        assert (rule(name).sees, rule(other).breaks) == (rule(other).sees, "often")


@pytest.mark.parametrize(
    ("phases", "classes"),
    [
        (("prefill",), ("rate",)), (("decode step", "accept length"), ("rate",)), (("host latency",), ("host",)),
        (("transfer",), ("transfer",)), (("start-up",), ("start",)), (("memory use",), ("memory",)),
        (("completion",), ("ended",)), (("transfer", "decode step"), ("transfer", "rate")),
        (("any work",), ("rate", "host")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["power-limit", "amd-peer-access", "nice", "open-files"])
def test_a_number_is_held_against_the_class_of_its_phases_and_of_several_the_most_suspicious(
    phases: tuple[Phase, ...], classes: tuple[str, ...], name: str
) -> None:
    assert judged(rule(name), frozenset(phases)) == max(NUMBERS[name][one] for one in classes)


def test_a_rule_that_nobody_judged_is_as_good_as_any() -> None:
    assert judged(made(), ANY) == AS_ANY
    assert suspected([made()], metric("decode_ms", "worse", 11, 15)) == suspected([], None) == 0


def test_the_usual_effect_is_what_is_on_record_and_as_far_as_is_judged_beyond_it() -> None:
    name, told = "power-limit", NUMBERS["power-limit"]
    least, most = told["least"], told["most"]
    assert [usual(made(name, record)) for record in RECORDS] == [
        (least, most),
        (least, 9.0),
        (1.01, most),
        (least, most),
    ]
    assert (usual(made(on_record=(1.1, 1.2))), usual(made())) == ((1.1, 1.2), None)


def test_what_moves_no_number_by_a_ratio_has_no_usual_effect() -> None:
    still = [one for one in rules() if NUMBERS[one.name]["most"] == 1]
    assert {usual(one) for one in still} == {one.usual for one in still}
    assert usual(rule("open-files")) is None


@given(st.sampled_from(rules()), st.sampled_from(["decode_ms", "load_time", "busbw", "peak_memory", "exit_status"]))
def test_what_is_judged_never_lifts_what_was_seen_not_to_bind(one: Rule, name: str) -> None:
    moved = metric(name, "worse", 1, 2)
    seen, idle = suspected([one], moved), suspected([one], moved, is_idle=True)
    assert idle == min(0, seen)
    assert -JUDGED <= idle <= 0
