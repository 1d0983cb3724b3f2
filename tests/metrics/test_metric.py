"""A metric as it is kept."""

import msgspec
import pytest

from fingerprint.metrics import Metric, Summary
from fingerprint.metrics.given import given_metric, workload_fact, workload_facts
from fingerprint.metrics.naming import better_of, unit_of
from fingerprint.trouble import Trouble


def test_a_metric_of_a_record_that_was_stored_before_still_loads() -> None:
    stored = b'{"name":"wall_time","unit":"s","better":"lower","samples":[1.5],"source":"monotonic clock"}'
    metric = msgspec.json.decode(stored, type=Metric)
    assert metric == Metric("wall_time", "s", "lower", (1.5,), "monotonic clock")
    assert (metric.kind, metric.peak, metric.summary) == ("repeats", False, None)
    assert msgspec.json.encode(metric) == stored


def test_what_was_dumped_loads() -> None:
    metric = Metric(
        "x", kind="summary", summary=Summary(count=3, mean=1.0, quantiles={"99": 2.0}), loops=4, peak=True, file="f"
    )
    assert msgspec.json.decode(msgspec.json.encode(metric), type=Metric) == metric


@pytest.mark.parametrize(
    ("metric", "typical"),
    [
        (Metric("x", samples=(3.0, 1.0, 2.0)), 2.0),
        (Metric("x", summary=Summary(mean=1.0, median=2.0)), 2.0),
        (Metric("x", summary=Summary(mean=1.0)), 1.0),
        (Metric("x", summary=Summary(max=9.0)), None),
        (Metric("x", gap="not measured"), None),
    ],
)
def test_the_typical_value_is_the_median_or_what_stands_for_it(metric: Metric, typical: float | None) -> None:
    assert metric.typical == typical


@pytest.mark.parametrize(
    ("name", "unit", "better"),
    [
        ("mean_ttft_ms", "ms", "lower"),
        ("verify.ms", "ms", "lower"),
        ("tokens_per_second", "tokens/s", "higher"),
        ("errors_per_second", "errors/s", "unknown"),
        ("tok_s", "tok/s", "higher"),
        ("output_throughput", "", "higher"),
        ("failed_request_throughput", "", "unknown"),
        ("accept_length", "", "unknown"),
        ("used_bytes", "B", "unknown"),
        ("s", "", "unknown"),
        ("runs", "", "unknown"),
    ],
)
def test_what_a_name_tells(name: str, unit: str, better: str) -> None:
    assert (unit_of(name), better_of(name, unit_of(name))) == (unit, better)


def test_a_given_metric_derives_what_was_not_said() -> None:
    assert given_metric("verify_ms", [29.4, 29.6]) == Metric("verify_ms", "ms", "lower", (29.4, 29.6), "given")
    told = given_metric("accept_length", [2.0], "tok", "higher", "series")
    assert (told.unit, told.better, told.kind) == ("tok", "higher", "series")


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("exit_status", [1.0], "'exit_status' is measured in each run by fingerprint itself"),
        (" ", [1.0], "no name for a metric"),
        ("x\n", [1.0], "no name for a metric"),
        ("t_ms", [1.0, float("nan")], r"t_ms\[1\] is nan, which is not a measured value"),
        ("t_ms", [-1.0], r"t_ms\[0\] is -1 ms, and no such quantity is below 0"),
    ],
)
def test_what_nothing_can_measure_is_refused(name: str, values: list[float], says: str) -> None:
    with pytest.raises(Trouble, match=says):
        given_metric(name, values)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("concurrency=8", ("concurrency", 8)),
        ("rate=0.5", ("rate", 0.5)),
        ("stream=true", ("stream", True)),
        ("model=Qwen/Qwen3-4B", ("model", "Qwen/Qwen3-4B")),
        ("prompt=a=b", ("prompt", "a=b")),
        ("note=", ("note", "")),
        ("version=1.10.0", ("version", "1.10.0")),
    ],
)
def test_a_workload_fact_is_a_number_or_a_text(text: str, fact: tuple[str, object]) -> None:
    assert workload_fact(text) == fact
    assert type(workload_fact(text)[1]) is type(fact[1])


@pytest.mark.parametrize("text", ["concurrency", "=8", "", "a\nb=3"])
def test_what_is_no_workload_fact_is_refused(text: str) -> None:
    with pytest.raises(Trouble, match="it takes KEY=VALUE"):
        workload_fact(text)


def test_one_workload_fact_has_one_value() -> None:
    assert workload_facts(["tp=8", "tp=8", "model=x"]) == {"tp": 8, "model": "x"}
    with pytest.raises(Trouble, match="tp is given twice, as 8 and as 4"):
        workload_facts(["tp=8", "model=x", "tp=4"])
