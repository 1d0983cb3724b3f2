"""The slow requests, which a median does not know."""

import json
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from fingerprint.explain import Subject, exit_status
from fingerprint.explain.contract import Diff, MetricChange
from fingerprint.explain.reach import subject_of
from fingerprint.metrics import Metric, Summary
from fingerprint.report.phrases import with_tails
from fingerprint.runs.record import Measured
from tests.e2e.conftest import Cli
from tests.explain.subjects import explained, subject

requests = random.Random(5)


def series(count: int, slow: float = 0.0, middle: float = 1.0) -> Metric:
    """Latencies of which a share is three times as long."""
    values = [requests.lognormvariate(3, 0.2) * middle * (3 if requests.random() < slow else 1) for _ in range(count)]
    return Metric("ttft", "ms", "lower", tuple(values), "client, ttft", kind="series")


def summary(median: float, count: int = 500, **quantiles: float) -> Metric:
    told = Summary(count=count, median=median, quantiles={name[1:]: value for name, value in quantiles.items()})
    return Metric("ttft", "ms", "lower", source="client, ttft", kind="summary", summary=told)


def told(a: Metric, b: Metric) -> Diff:
    one, other = (subject(name, None, None, Measured(2, it)) for name, it in (("A", a), ("B", b)))
    return explained(one, other)


def tail(a: Metric, b: Metric) -> MetricChange | None:
    return next(metric for metric in told(a, b).metrics if metric.name == "ttft").tail


def test_a_tail_that_grew_while_the_middle_stood_still_is_judged_by_the_samples() -> None:
    diff = told(series(2000), series(2000, slow=0.05))
    metric, slow = with_tails(it for it in diff.metrics if it.name == "ttft")
    assert (metric.verdict, slow.name, slow.verdict) == ("same", "ttft p99", "worse")
    assert slow.a
    assert slow.a.n == 10
    assert diff.headline.startswith("ttft p99 is worse (+")
    target = subject_of(diff.metrics)
    assert target
    assert target.name == "ttft p99"
    assert exit_status(diff) == 1


def test_of_two_summaries_a_tail_is_told_and_unassessed() -> None:
    diff = told(summary(20.0, p99=41.0, p95=33.0), summary(20.4, p99=95.0, p95=34.0))
    _, slow = with_tails(it for it in diff.metrics if it.name == "ttft")
    assert (slow.name, slow.ratio, slow.verdict) == ("ttft p99", pytest.approx(95 / 41), "unassessed")
    assert "one number each" in slow.says
    assert "ttft p99 +132 %, unassessed" in diff.headline
    assert exit_status(diff) == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (summary(20.0, p99=41.0), summary(40.0, p99=82.0)),
        (summary(20.0, p99=41.0), summary(20.0, p99=43.0)),
        (series(2000), series(2000)),
        (series(2000), series(2000, middle=1.5)),
    ],
)
def test_a_tail_that_went_with_the_middle_needs_no_words(a: Metric, b: Metric) -> None:
    metric = next(it for it in told(a, b).metrics if it.name == "ttft")
    assert metric.tail
    assert not metric.tail_is_odd


@pytest.mark.parametrize(
    ("a", "b", "name"),
    [
        (summary(20.0, 60, p99=41.0, p95=33.0), summary(20.0, 60, p99=41.0, p95=39.0), "ttft p95"),
        (summary(20.0, 0, p99=41.0), summary(20.0, 0, p99=41.0), "ttft p99"),
        (series(150), series(150), "ttft p95"),
        (series(45), series(45), "ttft p90"),
        (series(150), summary(20.0, p99=41.0), "ttft p99"),
    ],
)
def test_it_is_the_highest_that_both_can_tell(a: Metric, b: Metric, name: str) -> None:
    found = tail(a, b)
    assert found
    assert found.name == name


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (summary(20.0, p75=30.0), summary(20.0, p75=90.0)),
        (series(8), series(8)),
        (Metric("ttft", "ms", "lower", (20.0,) * 50, "c"), Metric("ttft", "ms", "lower", (20.0, 90.0) * 25, "c")),
        (Metric("ttft", "ms", "lower", (20.0,) * 50, "c", peak=True), Metric("ttft", "ms", "lower", (20.0,) * 50, "c")),
        (summary(20.0, p99=30.0), Metric("ttft", "ms", "lower", (9.0,), "another client, ttft")),
    ],
)
def test_what_has_no_tail_tells_none(a: Metric, b: Metric) -> None:
    assert tail(a, b) is None


def test_of_a_throughput_the_low_end_is_the_worse_one() -> None:
    def speeds(slow: float) -> Metric:
        values = tuple(requests.gauss(90, 1) * (0.3 if requests.random() < slow else 1) for _ in range(1000))
        return Metric("gen_throughput", "tok/s", "higher", values, "log", kind="series")

    metric = next(it for it in told(speeds(0), speeds(0.05)).metrics if it.name == "gen_throughput")
    assert metric.tail
    assert metric.tail_is_odd
    assert (metric.tail.name, metric.tail.verdict) == ("gen_throughput p1", "worse")


def test_three_starts_on_each_side_judge_a_client_s_p99() -> None:
    def starts(name: str, *tails: float) -> Subject:
        each = [subject(name, None, None, Measured(2, summary(20.0, p99=it))) for it in tails]
        return replace(each[-1], attempts=tuple(run for one in each for run in one.attempts))

    diff = explained(starts("A", 41.0, 42.0, 40.5), starts("B", 95.0, 97.0, 93.0))
    slow = next(it for it in diff.metrics if it.name == "ttft").tail
    assert slow
    assert slow.verdict == "worse"


def test_two_results_of_a_client_show_it_in_a_line(tmp_path: Path) -> None:
    fingerprint = Cli(tmp_path)
    for name, p99 in (("thursday", 41.0), ("friday", 95.0)):
        result = {"backend": "sglang", "completed": 500, "duration": 60.0, "output_throughput": 94.0}
        result |= {"median_e2e_latency_ms": 800.0, "median_ttft_ms": 20.0, "p99_ttft_ms": p99}
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
        fingerprint("import", f"{name}.json", "--name", name, "--host", "gpu-07")
    shown = fingerprint("diff", "thursday", "friday").stdout
    (line,) = (line.split() for line in shown.splitlines() if line.strip().startswith("ttft p99 "))
    assert line[:7] == ["ttft", "p99", "41", "->", "95", "ms", "x"]
    assert line[-1] == "unassessed"
    metrics = {metric["name"]: metric for metric in fingerprint.diff("thursday", "friday")["metrics"]}
    assert metrics["ttft"]["tail"]["name"] == "ttft p99"
