"""Each client's result file is told by its content, and gives its metrics and what was asked for."""

from typing import Any

import pytest

from fingerprint.metrics import formats
from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.logs import LOGS
from fingerprint.metrics.results import FORMATS
from fingerprint.metrics.source import Source
from tests.metrics.results import FILES, by_name, content, read, read_content

CLIENTS = {
    "pyperf": "pyperf", "hyperfine": "hyperfine", "google": "google-benchmark", "pytest": "pytest-benchmark"
}  # fmt: skip


@pytest.mark.parametrize("file", sorted(path.name for path in FILES.glob("*.json*")))
def test_every_file_is_recognised_as_its_own_client_s_and_no_other_s(file: str) -> None:
    client = CLIENTS[file.partition("-")[0].partition(".")[0]]
    assert read(file, client) == read(file)
    for other in set(CLIENTS.values()) - {client}:
        with pytest.raises(NothingRead, match=f"is a result of {client}, not of {other}; say {client}:"):
            read(file, other)


@pytest.mark.parametrize("file", sorted(path.name for path in FILES.glob("*.json*")))
def test_every_metric_has_samples_a_summary_or_a_gap_and_the_file_it_stands_in(file: str) -> None:
    metrics = read(file).metrics
    assert metrics
    for metric in metrics:
        assert bool(metric.samples) + (metric.summary is not None) + bool(metric.gap) == 1, metric
        assert (metric.kind == "summary") == (metric.summary is not None)
        assert metric.file.endswith(file)
        assert file not in metric.source
        assert sum(metric.processes) in (0, len(metric.samples))


@pytest.mark.parametrize(
    "document",
    [{}, [], 3, None, {"benchmarks": []}, {"results": []}, {"results": [{"mean": 1}]}, {"context": {}}, {"version": 1}],
)
def test_other_json_is_not_recognised_in_one_sentence(document: Any) -> None:
    with pytest.raises(NothingRead) as caught:
        read_content(document)
    assert str(caught.value) == (
        f"out.json was not recognised as a result of {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, "
        f"nor as a log for {', '.join(LOGS[:-1])} or {LOGS[-1]}; to read "
        + (
            "a value of other JSON, say json:out.json#PATH"
            if isinstance(document, dict)
            else "other text, regex:PATTERN"
        )
    )


def test_lines_of_json_and_text_are_not_recognised() -> None:
    for data in (b'{"a": 1}\n{"a": 2}\n', b"throughput: 3\n"):
        with pytest.raises(NothingRead, match="not recognised"):
            formats.read(Source("out.log", data))


@pytest.mark.parametrize("reader", ["auto", "sglang-log", "nccl-tests"])
def test_a_file_that_is_empty_says_so(reader: str) -> None:
    with pytest.raises(NothingRead, match=r"^out\.log is empty: "):
        formats.read(Source("out.log", b" \n"), reader)


def test_a_file_whose_writer_was_killed_says_so() -> None:
    half = (FILES / "hyperfine.json").read_bytes()[:300]
    with pytest.raises(NothingRead, match="is no JSON: .*; its writer may not have finished, so it was not recognised"):
        formats.read(Source("out.json", half))


def test_a_member_of_another_type_is_named() -> None:
    document = content("hyperfine.json")
    document["results"][1]["times"][2] = "soon"
    with pytest.raises(NothingRead, match=r"out.json is not what hyperfine writes: .* at `\$.results\[1\].times\[2\]`"):
        read_content(document)


# pyperf


def test_pyperf_values_keep_their_processes_apart_and_calibration_and_warmups_are_none() -> None:
    metric = by_name(read("pyperf-suite-before.json"))["sum"]
    runs = content("pyperf-suite-before.json")["benchmarks"][1]["runs"]
    assert metric.samples == tuple(value for run in runs for value in run.get("values", ()))
    assert (metric.unit, metric.better, metric.kind) == ("s", "lower", "repeats")
    assert metric.processes == (2,) * 10
    assert metric.loops == 262144
    assert len(runs) == 11


def test_pyperf_workload_is_what_was_asked_and_not_what_the_calibration_found() -> None:
    assert read("pyperf-suite.json").workload == {
        "pyperf/version": "2.11.0",
        "pyperf/benchmarks": ("sort", "sum"),
        "pyperf/sort/timeit_stmt": "'sorted(range(100))'",
        "pyperf/sum/timeit_stmt": "'sum(range(100))'",
        "pyperf/warmups": 1,
    }


def test_pyperf_loops_that_were_asked_for_are_workload() -> None:
    document = content("pyperf-timeit.json")
    document["benchmarks"][0]["runs"] = document["benchmarks"][0]["runs"][1:]
    assert read_content(document).workload["pyperf/loops"] == 131072


def test_pyperf_memory_is_in_bytes() -> None:
    metric = by_name(read("pyperf-command.json"))["command"]
    assert (metric.unit, metric.better, metric.samples[0]) == ("B", "lower", 12865536.0)


def test_pyperf_packed_with_gzip_is_read_alike() -> None:
    metric = by_name(read("pyperf-command.json.gz"))["command"]
    assert metric.unit == "s"
    assert len(metric.samples) == 20


def test_what_pyperf_appended_to_is_of_an_earlier_run() -> None:
    before, after = ((FILES / f"pyperf-suite{name}.json").read_bytes() for name in ("-before", ""))
    found = formats.read(Source("suite.json", after, before))
    whole = by_name(formats.read(Source("suite.json", after)))
    assert list(by_name(found)) == ["sum"]
    assert by_name(found)["sum"].samples == whole["sum"].samples[20:]
    assert found.workload["pyperf/benchmarks"] == ("sum",)


def test_pyperf_s_unchanged_benchmarks_are_no_result() -> None:
    data = (FILES / "pyperf-suite.json").read_bytes()
    with pytest.raises(NothingRead, match="holds no benchmark of pyperf that was run now"):
        formats.read(Source("suite.json", data, data))


def test_pyperf_calibration_alone_is_a_gap() -> None:
    document = content("pyperf-timeit.json")
    document["benchmarks"][0]["runs"] = document["benchmarks"][0]["runs"][:1]
    assert read_content(document).metrics[0].gap == "pyperf wrote no values of it, only calibrations"


@pytest.mark.parametrize(("value", "word"), [("NaN", "nan"), ("Infinity", "inf"), ("-1.0", "-1 s")])
def test_values_that_no_clock_gives_are_refused_by_name(value: str, word: str) -> None:
    data = (FILES / "pyperf-timeit.json").read_text().replace("1.4011040115335938e-06", value)
    with pytest.raises(NothingRead, match=rf"^out.json: timeit: values\[0\] is {word}"):
        formats.read(Source("out.json", data.encode()))


# hyperfine


def test_hyperfine_times_are_starts_of_their_own() -> None:
    metrics = by_name(read("hyperfine.json"))
    result = content("hyperfine.json")["results"][1]
    assert metrics["sleep 0.01"].samples == tuple(result["times"])
    assert metrics["sleep 0.01"].processes == (1,) * 5
    user = metrics["sleep 0.01/user"]
    assert user.summary is not None
    assert (user.summary.count, user.summary.mean, user.typical) == (5, result["user"], result["user"])
    assert metrics["nothing/failed"].samples == (0.0,)


def test_hyperfine_parameters_are_workload_and_failed_starts_are_told() -> None:
    found = read("hyperfine-parameters.json")
    assert found.workload == {
        "hyperfine/benchmarks": ("exit 0", "exit 3"),
        "hyperfine/exit 0/parameter/n": "0",
        "hyperfine/exit 3/parameter/n": "3",
    }
    assert by_name(found)["exit 3/failed"].samples == (4.0,)
    assert found.remarks == ("4 of 4 starts of 'exit 3' did not exit with 0",)


def test_hyperfine_without_single_times_has_their_summary() -> None:
    document = content("hyperfine.json")
    for result in document["results"]:
        result["times"] = None
    metric = by_name(read_content(document))["sleep 0.01"]
    assert metric.summary is not None
    assert metric.summary.median == metric.typical == document["results"][1]["median"]
    assert metric.samples == ()


def test_a_command_that_hyperfine_measured_twice_is_two_metrics() -> None:
    document = content("hyperfine.json")
    document["results"][0]["command"] = "sleep 0.01"
    assert [metric.name for metric in read_content(document).metrics if "/" not in metric.name] == [
        "sleep 0.01", "sleep 0.01#2"
    ]  # fmt: skip


def test_hyperfine_memory_is_a_peak() -> None:
    document = content("hyperfine.json")
    document["results"][0]["memory_usage_byte"] = [1 << 20, 2 << 20]
    metric = by_name(read_content(document))["nothing/peak_memory"]
    assert (metric.samples, metric.unit, metric.peak) == ((1 << 20, 2 << 20), "B", True)


# Google Benchmark


def test_google_repetitions_are_samples_of_one_process() -> None:
    found = read("google-repetitions.json")
    rows = [row for row in content("google-repetitions.json")["benchmarks"] if row["name"] == "BM_Fill/64"]
    metric = by_name(found)["BM_Fill/64/real_time"]
    assert metric.samples == tuple(row["real_time"] for row in rows)
    assert (metric.unit, metric.better, metric.processes, metric.loops) == ("us", "lower", (3,), 748979)
    rate = by_name(found)["BM_Fill/64/bytes_per_second"]
    assert (rate.unit, rate.better) == ("B/s", "higher")
    assert by_name(found)["BM_Fill/64/kept"].samples == (3.0, 3.0, 3.0)


def test_google_aggregates_alone_are_a_summary() -> None:
    metric = by_name(read("google-aggregates.json"))["BM_Fill/64/cpu_time"]
    assert metric.summary is not None
    assert metric.summary.count == 3
    assert metric.summary.mean == 0.024730995391814534
    assert metric.typical == metric.summary.median == 0.02462575179933015


@pytest.mark.parametrize("file", ["google-repetitions.json", "google-aggregates.json"])
def test_google_fits_are_no_metrics_and_a_skipped_benchmark_is_a_gap(file: str) -> None:
    metrics = by_name(read(file))
    assert metrics["BM_Refuses/real_time"].gap == "skipped: no device"
    assert not any("BigO" in name or "RMS" in name or "_mean" in name for name in metrics)
    assert "BM_Scale/real_time" not in metrics


def test_google_workload_has_the_library_the_threads_and_what_the_user_added() -> None:
    document = content("google-python.json")
    document["context"]["dataset"] = "small"
    assert read_content(document).workload == {
        "google-benchmark/version": "1.9.5",
        "google-benchmark/library_build_type": "release",
        "google-benchmark/dataset": "small",
        "google-benchmark/benchmarks": ("sorts/100",),
        "google-benchmark/threads": 1,
    }


def test_a_debug_build_of_the_library_is_told() -> None:
    assert "built as debug" in read("google-repetitions.json").remarks[0]
    assert read("google-python.json").remarks == ()


# pytest-benchmark


def test_pytest_rounds_are_a_series() -> None:
    found = read("pytest-data.json")
    metric = by_name(found)["test_speed.py::test_sort[10]"]
    stats = content("pytest-data.json")["benchmarks"][0]["stats"]
    assert metric.samples == tuple(stats["data"])
    assert (metric.kind, metric.unit, metric.loops, metric.processes) == ("series", "s", 5, (20,))


def test_pytest_workload_has_options_and_parameters() -> None:
    workload = read("pytest-data.json").workload
    assert workload["pytest-benchmark/version"] == "5.3.1"
    assert workload["pytest-benchmark/timer"] == "perf_counter"
    assert workload["pytest-benchmark/test_speed.py::test_sort[10]/parameter/n"] == 10
    assert not any("rounds" in key and "min" not in key for key in workload)


def test_pytest_parameters_that_are_addresses_are_no_workload() -> None:
    document = content("pytest-data.json")
    document["benchmarks"][0]["params"] = {"n": "UNSERIALIZABLE[<object object at 0x7f50>]"}
    assert "pytest-benchmark/test_speed.py::test_sort[10]/parameter/n" not in read_content(document).workload


def test_pytest_without_rounds_has_their_summary() -> None:
    metric = by_name(read("pytest-saved.json"))["test_speed.py::test_sum"]
    assert metric.kind == "summary"
    assert metric.summary is not None
    assert metric.summary.count == 5
    assert metric.summary.quantiles["25"] == 4.5775499756928184e-07


def test_a_test_of_pytest_that_failed_is_a_gap() -> None:
    document = content("pytest-data.json")
    document["benchmarks"][0]["stats"] = None
    assert "no statistics" in read_content(document).metrics[0].gap
