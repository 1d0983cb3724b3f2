"""What a diff says of its numbers."""

from math import isclose, log, prod
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.explain import Subject
from fingerprint.explain.contract import Arithmetic
from fingerprint.report.text import render
from fingerprint.runs.record import Asked, Measured
from tests.explain.subjects import explained, subject
from tests.runs.recorded import closed, measured

UNITS = {"throughput": "tok/s", "plain_throughput": "tok/s", "accept_length": ""}


def numbers(**values: Any) -> list[Measured]:
    """Each a number, or the samples of a tuple; times in ms."""
    given = {name: it if isinstance(it, tuple) else (it,) for name, it in values.items()}
    return [measured(name, *samples, unit=UNITS.get(name, "ms")) for name, samples in given.items()]


def side(name: str, *records: Any, **values: Any) -> Subject:
    return subject(name, None, None, *numbers(**values), *records)


def told(a: Subject, b: Subject, **more: Any) -> Arithmetic:
    found = explained(a, b, **more).arithmetic
    assert found is not None
    return found


def shares(found: Arithmetic) -> dict[str, float | None]:
    return {factor.name: factor.share for factor in found.factors}


THURSDAY = {"throughput": 94.0, "accept_length": 2.0, "verify_ms": 19.0, "decode_ms": 11.2}
FRIDAY = {"throughput": 60.0, "accept_length": 2.0, "verify_ms": 30.0, "decode_ms": 12.2}


def test_a_fall_is_split_into_its_causes() -> None:
    found = told(side("A", **THURSDAY), side("B", **FRIDAY))
    assert {name: round(share or 0, 2) for name, share in shares(found).items()} == {
        "accept_length": 0.0, "cycle": 1.0, "verify_ms": 0.91, "rest of the cycle": 0.09,
    }  # fmt: skip
    assert "Of throughput x 0.64: verify_ms 91 %, rest of the cycle 9 %." in found.says
    assert found.contradictions == ()


def test_a_cycle_without_parts_is_split_into_itself_and_what_passes_outside_of_it() -> None:
    a = side("A", throughput=80.0, accept_length=2.0, cycle_ms=20.0)
    b = side("B", throughput=50.0, accept_length=2.0, cycle_time_ms=30.0)
    found = told(a, b)
    assert [(it.name, round(it.a, 6), round(it.b, 6)) for it in found.factors if it.part_of] == [
        ("cycle_ms", 20, 30), ("outside the cycle", 5, 10),
    ]  # fmt: skip
    assert "Of throughput x 0.62: cycle_ms 67 %, outside the cycle 33 %." in found.says


def test_what_no_part_accounts_for_is_stated() -> None:
    (left,) = told(side("A", **THURSDAY), side("B", **FRIDAY)).residuals
    assert left.a == pytest.approx(2000 / 94 - 19)
    assert left.b == pytest.approx(2000 / 60 - 30)
    assert left.says == "verify_ms leaves 2.28 -> 3.33 ms of accept_length / throughput"


def test_break_even_stands_for_both_sides() -> None:
    a, b = told(side("A", **THURSDAY), side("B", **FRIDAY)).break_even
    assert (a.side, b.side) == ("a", "b")
    assert a.accept_length == pytest.approx(2.0 / 94 / 11.2e-3)
    assert b.margin == pytest.approx(2.0 / (2.0 / 60 / 12.2e-3) - 1)
    assert a.margin is not None
    assert b.margin is not None
    assert a.margin > 0 > b.margin


def test_a_plain_run_is_the_baseline_of_one_that_speculates() -> None:
    found = told(side("A", throughput=82.0), side("B", accept_length=2.0, cycle_ms=30.0))
    (even,) = found.break_even
    assert even.accept_length == pytest.approx(2.46)
    assert even.baseline_is == "throughput of A"
    assert even.throughput == pytest.approx(66.67, abs=0.01)


def test_turning_speculation_on_is_told_as_factors() -> None:
    says = told(side("A", throughput=82.0), side("B", throughput=60.0, accept_length=2.0)).says
    assert "throughput x 0.73 = cycle x 0.37, accept_length x 2.00." in says


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"cycle_ms": 30, "draft_ms": 8, "verify_ms": 28}, "draft_ms + verify_ms (36 ms) is 20 % more than cycle_ms"),
        (
            {"throughput": 94, "accept_length": 2, "verify_ms": 30},
            "verify_ms (30 ms) is 41 % more than accept_length /",
        ),
        ({"throughput": 94, "accept_length": 2, "cycle_ms": 30}, "cycle_ms (30 ms) is 41 % more than accept_length /"),
        ({"throughput": 94, "decode_ms": 12.2}, "decode_ms (12.2 ms) is 15 % more than 1 / throughput (10.6 ms)"),
        ({"throughput": 94, "tpot_ms": 12.2}, "tpot_ms (12.2 ms) is 15 % more than 1 / throughput (10.6 ms)"),
        (
            {"tpot_ms": 10, "accept_length": 2, "cycle_ms": 30},
            "cycle_ms (30 ms) is 50 % more than accept_length x tpot",
        ),
        ({"plain_throughput": 94, "decode_ms": 12.2}, "decode_ms (12.2 ms) is 15 % more than 1 / plain_throughput"),
    ],
)
def test_numbers_that_cannot_all_be_true_are_told_of_the_side_that_has_them(
    values: dict[str, float], sentence: str
) -> None:
    for a, b, where in ((values, {}, "a"), ({}, values, "b")):
        found = told(side("A", **a), side("B", **b))
        assert [clash.side for clash in found.contradictions] == [where]
        assert found.says[0].startswith(f"{where.upper()}: {sentence}")


def test_an_accept_length_without_the_verified_token_is_recognised() -> None:
    found = told(side("A", throughput=100.0, accept_length=2.0, cycle_ms=30.0), side("B"))
    assert "accept_length leaves out the token that verification itself gives" in found.says[0]


def test_what_is_within_the_spread_of_its_samples_is_no_contradiction() -> None:
    wide = {"throughput": 94.0, "accept_length": (1.4, 2.0, 3.0), "cycle_ms": (20.0, 30.0, 34.0)}
    assert told(side("A", **wide), side("B")).contradictions == ()


def test_a_mean_and_a_median_of_skewed_samples_are_no_contradiction() -> None:
    skewed = (*(20.0 for _ in range(90)), *(120.0 for _ in range(10)))
    found = told(side("A", throughput=2000 / 30, accept_length=2.0, cycle_ms=skewed), side("B"))
    assert found.contradictions == ()


def test_rounded_numbers_are_no_contradiction_and_leave_nothing() -> None:
    found = told(side("A", throughput=94.0, accept_length=2.0, cycle_ms=21.3), side("B"))
    assert found.contradictions == ()
    assert [left.says for left in found.residuals] == [""]


def test_no_change_is_split_by_numbers_that_cannot_be_true() -> None:
    says = told(side("A", **THURSDAY), side("B", **FRIDAY | {"verify_ms": 50.0})).says
    assert not any("Of throughput" in sentence for sentence in says)


def test_a_throughput_that_stood_still_is_not_split() -> None:
    found = told(side("A", **THURSDAY), side("B", **THURSDAY))
    assert set(shares(found).values()) == {None}
    assert not any("throughput x" in sentence for sentence in found.says)


@pytest.mark.parametrize("values", [{}, {"throughput": 94.0}, {"verify_ms": 19.0}, {"accept_length": 2.0}])
def test_numbers_that_say_nothing_of_each_other_make_no_section(values: dict[str, float]) -> None:
    diff = explained(side("A", **values), side("B", **values))
    assert diff.arithmetic is None
    assert "Arithmetic" not in render(diff)


def test_it_is_no_part_of_a_look_at_another_metric() -> None:
    a, b = (side(name, measured("other", 1.0), **THURSDAY) for name in "AB")
    assert explained(a, b, metric="other").arithmetic is None
    assert explained(a, b, metric="throughput").arithmetic is not None


def test_runs_that_ended_differently_are_not_reckoned_with() -> None:
    assert explained(side("A", **THURSDAY), side("B", closed(1), **FRIDAY)).arithmetic is None


def test_of_several_streams_it_is_said_that_nothing_holds() -> None:
    many = Asked(at=1, key="concurrency", value=8)
    found = told(side("A", many, **THURSDAY), side("B", **FRIDAY))
    (sentence,) = found.says
    assert sentence.startswith("concurrency is 8 in A: ")
    assert (found.factors, found.residuals, found.break_even, found.contradictions) == ((), (), (), ())


def test_two_metrics_that_could_be_one_quantity_are_neither() -> None:
    a = side("A", measured("x/verify_ms", 19.0, unit="ms"), measured("y/verify_ms", 30.0, unit="ms"), cycle_ms=20.0)
    assert explained(a, side("B")).arithmetic is None


def test_a_mean_goes_before_a_median() -> None:
    both = [measured("median_verify_ms", 1.0, unit="ms"), measured("mean_verify_ms", 19.0, unit="ms")]
    (left,) = told(side("A", *both, cycle_ms=20.0), side("B")).residuals
    assert left.parts == "mean_verify_ms"


def test_a_value_that_is_not_above_0_is_no_quantity() -> None:
    assert explained(side("A", verify_ms=0.0, cycle_ms=20.0), side("B")).arithmetic is None


def test_prefill_may_be_what_passes_outside_the_cycle() -> None:
    slow = {"throughput": 50.0, "accept_length": 2.0, "cycle_ms": 30.0, "ttft_ms": 200.0}
    (left,) = told(side("A", **slow), side("B", **slow)).residuals
    assert left.says == "cycle_ms leaves 10 -> 10 ms of accept_length / throughput, ttft_ms perhaps among it"


def test_the_text_shows_four_lines_and_says_how_many_sentences_are_left_out() -> None:
    off = THURSDAY | {"plain_throughput": 200.0, "cycle_ms": 10.0}
    diff = explained(side("A", **off), side("B", **off))
    assert diff.arithmetic is not None
    lines = render(diff).partition("\nArithmetic\n")[2].partition("\n\n")[0].splitlines()
    says = diff.arithmetic.says
    assert len(lines) == 5
    assert " ".join(" ".join(lines[:4]).split()) == f"{says[0]} {says[1]}"
    assert lines[4].strip() == f"and {len(says) - 2} more, all in --format json"


TIMES = st.floats(0.1, 100)
TOKENS = st.floats(1, 12)


@st.composite
def measured_runs(draw: st.DrawFn) -> tuple[dict[str, float], dict[str, float]]:
    """Two runs of true numbers: the same ones measured in each."""
    kept = draw(st.sets(st.sampled_from(["throughput", "cycle_ms", "draft_ms", "verify_ms", "overhead_ms"])))
    return _run(draw, kept), _run(draw, kept)


def _run(draw: st.DrawFn, kept: set[str]) -> dict[str, float]:
    accept, parts = draw(TOKENS), {part: draw(TIMES) for part in ("draft_ms", "verify_ms", "overhead_ms")}
    cycle = sum(parts.values()) + draw(TIMES)
    whole = {"throughput": 1000 * accept / (cycle + draw(TIMES)), "cycle_ms": cycle, **parts}
    return {"accept_length": accept, **{name: value for name, value in whole.items() if name in kept}}


@given(measured_runs())
def test_shares_add_up_and_factors_multiply_to_the_whole(runs: tuple[dict[str, float], dict[str, float]]) -> None:
    found = explained(side("A", **runs[0]), side("B", **runs[1])).arithmetic
    if found is None or not found.factors:
        return
    top = [factor for factor in found.factors if not factor.part_of]
    parts = [factor for factor in found.factors if factor.part_of]
    cycle = next(factor for factor in top if factor.name == "cycle")
    if all("throughput" in run for run in runs):
        assert isclose(
            prod(factor.times for factor in top), runs[1]["throughput"] / runs[0]["throughput"], rel_tol=1e-6
        )
    if parts:
        assert isclose(prod(factor.times for factor in parts), cycle.times, rel_tol=1e-6)
        assert isclose(sum(factor.b - factor.a for factor in parts), cycle.b - cycle.a, abs_tol=1e-6)
    if cycle.share is not None:
        assert isclose(sum(factor.share or 0 for factor in top), 1, abs_tol=1e-6)


@given(measured_runs())
def test_true_numbers_never_contradict_each_other(runs: tuple[dict[str, float], dict[str, float]]) -> None:
    found = explained(side("A", **runs[0]), side("B", **runs[1])).arithmetic
    assert found is None or found.contradictions == ()


@given(measured_runs())
def test_swapping_the_sides_turns_every_factor_round(runs: tuple[dict[str, float], dict[str, float]]) -> None:
    one = explained(side("A", **runs[0]), side("B", **runs[1])).arithmetic
    other = explained(side("A", **runs[1]), side("B", **runs[0])).arithmetic
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    for factor, turned in zip(one.factors, other.factors, strict=True):
        assert (factor.a, factor.b) == (turned.b, turned.a)
        assert isclose(log(factor.times), -log(turned.times), rel_tol=1e-6, abs_tol=1e-9)
        assert isclose(factor.share or 0, turned.share or 0, rel_tol=1e-6, abs_tol=1e-9)


@given(measured_runs())
def test_the_unit_in_which_a_time_was_measured_changes_nothing(
    runs: tuple[dict[str, float], dict[str, float]],
) -> None:
    one = explained(side("A", **runs[0]), side("B", **runs[1])).arithmetic
    in_seconds = [
        [
            measured(name, it / 1000, unit="s") if name.endswith("_ms") else numbers(**{name: it})[0]
            for name, it in run.items()
        ]
        for run in runs
    ]
    other = explained(side("A", *in_seconds[0]), side("B", *in_seconds[1])).arithmetic
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    for factor, same in zip(one.factors, other.factors, strict=True):
        assert factor.times == pytest.approx(same.times, rel=1e-6)


def test_what_is_loaded_back_from_json_is_the_same() -> None:
    found = told(side("A", **THURSDAY), side("B", **FRIDAY))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Arithmetic) == found
