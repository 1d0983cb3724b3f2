"""Is the change of a metric real, as a diff tells it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from fingerprint.explain import Subject, exit_status
from fingerprint.explain.contract import MOST_VALUES
from fingerprint.explain.metrics import series_of
from fingerprint.metrics import Metric
from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Attached, Closed, Measured
from tests.explain.subjects import BUSY, START, STEADY, explained, others, subject, wall
from tests.runs.recorded import closed, measured, run


def test_two_single_numbers_with_no_known_spread_are_marked_beyond_ten_percent_and_stay_unassessed() -> None:
    (metric,) = explained(wall("A", 4.0), wall("B", 6.32)).metrics
    assert metric.verdict == "unassessed"
    assert metric.ratio == pytest.approx(1.58)
    assert "58 % apart, and one number each" in metric.says
    assert "+" not in explained(wall("A", 4.0), wall("B", 4.2)).metrics[0].says


def test_an_unassessed_metric_sets_no_exit_status_and_suspects_are_ranked_all_the_same() -> None:
    diff = explained(wall("A", 4.0), wall("B", 9.0))
    assert exit_status(diff) == 0
    assert "wall_time +125 %, unassessed" in diff.headline
    assert any("--repeat 3" in step for step in diff.next)


@pytest.mark.parametrize(("port", "which"), [(30000, "--port 30000"), (0, "--pid PID")])
def test_a_server_that_was_attached_to_is_attached_to_again(port: int, which: str) -> None:
    server = Attached("main", 1, 1, "sglang", port)
    steps = explained(wall("A", 4.0), wall("B", 9.0, attached=(server,))).next
    assert any(step.endswith(f"fingerprint attach --name B {which}, once it serves") for step in steps)


def imported(name: str, seconds: float) -> Subject:
    return subject(name, None, None, measured("wall_time", seconds), Closed(at=START, how="imported"), argv=())


def test_of_a_run_that_was_imported_no_command_is_repeated_but_more_is_imported() -> None:
    steps = explained(wall("A", 4.0), imported("B", 9.0)).next
    assert any(step.endswith("fingerprint import FILE --name B, once for each start") for step in steps)
    assert not any("--repeat" in step for step in steps)


@pytest.mark.parametrize("how", ["exited", "server ran on"])
def test_what_was_imported_is_compared_with_what_was_recorded_and_no_command_is_said_to_differ(how: Any) -> None:
    end = Closed(at=START, how=how, status=0 if how == "exited" else None)
    diff = explained(imported("A", 4.0), subject("B", None, None, measured("wall_time", 9.0), end))
    assert diff.metrics[0].ratio == pytest.approx(2.25)
    assert diff.comparable.same_command is None
    assert "differ" not in diff.comparable.says


def test_what_was_imported_is_not_compared_with_a_run_that_failed() -> None:
    failed = subject("B", None, None, measured("wall_time", 9.0), closed(1))
    metric = explained(imported("A", 4.0), failed).metrics[0]
    assert (metric.ratio, metric.says) == (None, "not comparable: A imported, B exited 1")


@pytest.mark.parametrize(("after", "verdict"), [(4.1, "same"), (9.0, "worse"), (1.9, "better")])
def test_a_known_spread_gives_a_verdict(after: float, verdict: str) -> None:
    diff = explained(wall("A", 4.0), wall("B", after), STEADY)
    assert diff.metrics[0].verdict == verdict
    assert exit_status(diff) == int(verdict != "same")


def test_a_moved_metric_without_a_suspect_says_that_nothing_seen_explains_it() -> None:
    assert "nothing that was seen in both runs changed" in explained(wall("A", 4.0), wall("B", 9.0), STEADY).headline


@pytest.mark.parametrize("samples", [BUSY, {}])
def test_a_time_of_one_run_is_not_judged_where_cpus_were_not_known_to_be_free(samples: Samples) -> None:
    diff = explained(wall("A", 4.0), wall("B", 9.0, samples=samples), STEADY)
    assert diff.metrics[0].verdict == "unassessed"
    assert "whether CPUs were free" in diff.metrics[0].says


def test_a_wide_spread_covers_a_wide_difference() -> None:
    assert explained(wall("A", 4.0), wall("B", 9.0), others(4, 8, 5, 4, 6)).metrics[0].verdict == "same"


def test_the_runs_compared_are_no_witnesses_of_their_own_spread() -> None:
    a, b = wall("A", 4.0), wall("B", 9.0)
    assert explained(a, b, [*STEADY[:4], *a.attempts, *b.attempts]).metrics[0].verdict == "unassessed"


def test_runs_that_ended_otherwise_are_no_witnesses() -> None:
    failed = [run(measured("wall_time", 4.0), closed(1), id_=f"01failed{n}") for n in range(9)]
    assert explained(wall("A", 4.0), wall("B", 9.0), failed).metrics[0].verdict == "unassessed"


def test_a_metric_that_was_measured_in_two_ways_is_not_compared() -> None:
    a, b = (
        subject(n, None, None, Measured(at=START, metric=Metric("peak_memory", "B", "lower", (value,), source)))
        for n, value, source in (("A", 1e9, "sampled"), ("B", 2e9, "wait4"))
    )
    assert "measured in two ways, sampled and wait4" in explained(a, b).metrics[0].says


@pytest.mark.parametrize(("unit", "told"), [("s", "ms, then s"), ("", "ms, then no unit"), ("ms", "ms")])
def test_numbers_in_two_units_stand_with_both(unit: str, told: str) -> None:
    a, b = (
        subject(n, None, None, Measured(at=START, metric=Metric("ttft", each, "lower", (35.5,), "client")))
        for n, each in (("A", "ms"), ("B", unit))
    )
    [found] = explained(a, b).metrics
    assert found.unit == told
    assert ("not comparable" in found.says) == (unit != "ms")
    assert found.verdict == ("same" if unit == "ms" else "unassessed")


def series(name: str, *attempts: Sequence[Any]) -> Subject:
    """One attempt for the records of each."""
    runs = [run(*told, id_=f"01{name}{n}", name=name, attempt=n) for n, told in enumerate(attempts, start=1)]
    state = subject(name)
    return replace(state, attempts=tuple(runs), earlier=(state.state,) * (len(runs) - 1))


def memory(value: float, source: str = "wait4") -> Measured:
    return Measured(at=START, metric=Metric("peak_memory", "B", "lower", (value,), source))


def test_an_attempt_that_could_not_measure_is_no_second_way_of_measuring() -> None:
    gap = Measured(at=START, metric=Metric("peak_memory", "B", "lower", gap="ended too soon"))
    a = series("A", *([memory(x), closed()] for x in (1.0e9, 1.01e9, 1.02e9)), [gap, closed()])
    b = series("B", *([memory(x), closed()] for x in (2.0e9, 2.01e9, 2.02e9)))
    assert explained(a, b).metrics[0].verdict == "worse"


def test_an_attempt_that_could_not_measure_tells_neither_unit_nor_direction_nor_kind() -> None:
    gap = Measured(at=START, metric=Metric("tps", gap="no such key"))
    read = [
        [Measured(at=START, metric=Metric("tps", "tok/s", "higher", (x, x, x), "json tps", kind="series")), closed()]
        for x in (100.0, 101.0, 102.0)
    ]
    less = [
        [Measured(at=START, metric=Metric("tps", "tok/s", "unknown", (x, x, x), "json tps", kind="series")), closed()]
        for x in (50.0, 51.0, 52.0)
    ]
    a, b = series("A", *read), series("B", [gap, closed()], *less, [gap, closed()])
    (metric,) = explained(a, b).metrics
    assert (metric.unit, metric.better, metric.verdict) == ("tok/s", "higher", "worse")
    assert series_of(b.attempts, "tps").kind == "series"


def test_an_attempt_that_failed_is_said_and_does_not_count() -> None:
    timed = [[measured("wall_time", x), measured("exit_status", 0), closed()] for x in (4.0, 4.04, 4.08)]
    failed = [measured("wall_time", 0.1), measured("exit_status", 3), closed(3)]
    wall_time, status = explained(series("A", timed[0], failed, *timed[1:]), series("B", *timed)).metrics
    assert (wall_time.verdict, wall_time.a and wall_time.a.n) == ("same", 3)
    assert (status.verdict, status.says) == (
        "unassessed",
        "equal; A#2 exited 3: unlike the last of that name, so not counted",
    )


def test_how_other_names_differ_is_no_spread() -> None:
    states = [
        run(measured("wall_time", level * x), closed(), id_=f"01{level}{x}", name=f"at-{level}")
        for level in (4, 9)
        for x in (0.99, 1.0, 1.01)
    ]
    assert explained(wall("A", 4.0), wall("B", 9.0), states).metrics[0].verdict == "worse"


def test_milliseconds_of_process_start_are_never_judged() -> None:
    diff = explained(wall("A", 0.002), wall("B", 0.02), others(*[0.002] * 6))
    assert diff.metrics[0].verdict == "same"


@pytest.mark.parametrize(
    ("before", "after", "verdict"), [(0, 0, "same"), (0, 3, "worse"), (3, 0, "better"), (3, 4, "changed")]
)
def test_the_exit_status_needs_no_spread(before: int, after: int, verdict: str) -> None:
    a, b = (subject(n, None, None, measured("exit_status", s), closed(s)) for n, s in (("A", before), ("B", after)))
    diff = explained(a, b)
    assert diff.metrics[0].verdict == verdict
    assert exit_status(diff) == int(verdict in ("worse", "better"))


def test_times_of_a_command_that_failed_are_not_compared_with_those_of_one_that_did_not() -> None:
    a = wall("A", 4.0)
    b = subject("B", None, None, measured("wall_time", 0.1), closed(1))
    assert explained(a, b, STEADY).metrics[0].verdict == "unassessed"


def test_a_metric_of_one_side_says_where_it_is_missing_and_why() -> None:
    diff = explained(wall("A", 4.0), subject("B"))
    assert (diff.metrics[0].b, diff.metrics[0].says) == (None, "not measured in B")


def test_metric_keeps_the_one_that_is_asked_for() -> None:
    a, b = (subject(n, None, None, measured("wall_time", 1), measured("cpu_time", 1)) for n in "AB")
    assert [metric.name for metric in explained(a, b, metric="cpu_time").metrics] == ["cpu_time"]


def samples(*values: float) -> Subject:
    return subject("A", None, None, measured("ttft", *values))


def test_the_values_that_a_median_is_of_are_told_in_the_order_measured() -> None:
    (metric,) = explained(samples(4.0, 3.0, 5.0), samples(9.0)).metrics
    assert metric.a is not None
    assert (metric.a.each, metric.a.n, metric.a.median) == ((4.0, 3.0, 5.0), 3, 4.0)


def test_of_very_many_values_as_many_are_told_as_a_picture_needs_evenly_by_rank() -> None:
    (metric,) = explained(samples(*map(float, range(1000, 0, -1))), samples(9.0)).metrics
    assert metric.a is not None
    assert metric.a.n == 1000
    assert len(metric.a.each) == MOST_VALUES
    assert (metric.a.each[0], metric.a.each[-1]) == (1.0, 1000.0)
    assert {round(b - a) for a, b in pairwise(metric.a.each)} == {5, 6}
