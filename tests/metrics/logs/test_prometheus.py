"""What an engine answers to /metrics: of two scrapes the difference is the run's."""

import time
from pathlib import Path

import pytest

from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.logs import prometheus
from fingerprint.metrics.source import Source
from fingerprint.metrics.written import before
from fingerprint.metrics.written import written as ours
from tests.metrics.logs.texts import metrics, read, samples, size_of, written


def vllm(drafts: float, accepted: float, requests: int, seconds: float, running: int = 1) -> list[str]:
    labels = 'engine="0",model_name="org/model"'
    name = "vllm:time_to_first_token_seconds"
    return [
        "# HELP vllm:num_requests_running How many run.",
        "# TYPE vllm:num_requests_running gauge",
        f"vllm:num_requests_running{{{labels}}} {running}.0",
        "# TYPE vllm:spec_decode_num_drafts_total counter",
        f"vllm:spec_decode_num_drafts_total{{{labels}}} {drafts}",
        f"vllm:spec_decode_num_drafts_created{{{labels}}} 1.787625626e+09",
        "# TYPE vllm:spec_decode_num_accepted_tokens_total counter",
        f"vllm:spec_decode_num_accepted_tokens_total{{{labels}}} {accepted}",
        f"# TYPE {name} histogram",
        *(f'{name}_bucket{{{labels},le="{end}"}} {count}' for end, count in _buckets(requests)),
        f"{name}_count{{{labels}}} {requests}",
        f"{name}_sum{{{labels}}} {seconds}",
    ]


def _buckets(requests: int) -> list[tuple[str, float]]:
    """Half of the requests took at most 0.1 s, and all of them 0.5 s."""
    return [("0.1", requests / 2), ("0.5", requests), ("+Inf", requests)]


def test_of_two_scrapes_the_difference_counts() -> None:
    found = read(*vllm(100, 150, 20, 3.0, running=1), *vllm(200, 270, 40, 7.0, running=2))
    ttft = metrics(found)["ttft"]
    assert samples(found, "acceptance_length") == pytest.approx((2.2,))
    assert samples(found, "running_requests") == (1.0, 2.0)
    assert ttft.summary is not None
    assert (ttft.unit, ttft.better, ttft.kind, ttft.summary.count) == ("s", "lower", "summary", 20)
    assert ttft.summary.mean == pytest.approx(0.2)
    assert ttft.summary.quantiles == pytest.approx({"50": 0.1, "90": 0.42, "99": 0.492})
    assert found.workload == {"prometheus/model_name": "org/model"}
    assert found.remarks == ()


def test_one_scrape_is_since_the_start_of_the_server_and_says_so() -> None:
    found = read(*vllm(100, 150, 20, 3.0))
    assert samples(found, "acceptance_length") == (2.5,)
    assert found.remarks[0].endswith("since the server's start; scrape it before the run too")


def test_a_scrape_that_the_file_held_before_the_run_is_where_it_begins() -> None:
    before = vllm(100, 150, 20, 3.0)
    found = read(*before, *vllm(200, 270, 40, 7.0), begin=size_of(before))
    assert samples(found, "acceptance_length") == pytest.approx((2.2,))
    assert samples(found, "running_requests") == (1.0,)
    told = Source("m.prom", "\n".join([*vllm(200, 270, 40, 7.0), ""]).encode(), "\n".join([*before, ""]).encode())
    assert metrics(prometheus.read(told))["acceptance_length"].samples == pytest.approx((2.2,))


def test_a_server_that_was_started_again_counts_from_its_start() -> None:
    found = read(*vllm(1000, 9000, 20, 3.0), *vllm(100, 150, 4, 1.0))
    assert samples(found, "acceptance_length") == (2.5,)
    (remark,) = found.remarks
    assert "the server was started anew between two scrapes" in remark
    assert "before the run too" not in remark


def test_a_server_that_says_that_it_was_started_again_counts_from_its_start() -> None:
    first = ["process_start_time_seconds 1.0", *vllm(10, 20, 20, 3.0)]
    found = read(*first, "process_start_time_seconds 2.0", *vllm(100, 150, 40, 7.0))
    assert samples(found, "acceptance_length") == (2.5,)


def test_a_file_that_is_written_anew_is_compared_with_what_it_held(tmp_path: Path) -> None:
    path = str(written(tmp_path / "metrics.prom", vllm(100, 150, 20, 3.0)))
    known = before(path, time.time_ns())
    written(tmp_path / "metrics.prom", vllm(200, 270, 40, 7.0))
    assert samples(prometheus.read(ours(known)), "acceptance_length") == pytest.approx((2.2,))


def test_ranks_of_one_scheduler_tell_the_same_and_schedulers_add_up() -> None:
    gauge = '{name}{{dp_rank="{dp}",engine_type="unified",model_name="m",tp_rank="{tp}"}} {value}'
    ranks = [(dp, tp) for dp in (0, 1) for tp in (0, 1)]
    found = read(
        "# TYPE sglang:gen_throughput gauge",
        *(gauge.format(name="sglang:gen_throughput", dp=dp, tp=tp, value=40.0 + dp) for dp, tp in ranks),
        "# TYPE sglang:spec_accept_length gauge",
        *(gauge.format(name="sglang:spec_accept_length", dp=dp, tp=tp, value=2.0 + dp) for dp, tp in ranks),
        "# TYPE sglang:spec_accept_rate gauge",
        *(gauge.format(name="sglang:spec_accept_rate", dp=dp, tp=tp, value=0.0) for dp, tp in ranks),
    )
    assert samples(found, "gen_throughput") == (81.0,)
    assert samples(found, "accept_length") == (2.5,)
    assert "accept_rate" not in metrics(found)


def test_llama_cpp_s_speeds_are_tokens_over_the_time_that_they_took() -> None:
    lines = [
        "# TYPE llamacpp:tokens_predicted_total counter",
        "llamacpp:tokens_predicted_total {}",
        "# TYPE llamacpp:tokens_predicted_seconds_total counter",
        "llamacpp:tokens_predicted_seconds_total {}",
    ]
    scrapes = [
        line.format(value)
        for tokens, seconds in ((100, 10), (400, 15))
        for line, value in zip(lines, ("", tokens, "", seconds), strict=True)
    ]
    assert samples(read(*scrapes), "generation_throughput") == (60.0,)


def test_a_last_line_without_an_end_is_none_for_it_may_be_cut_within_a_number() -> None:
    scrape = "".join(f"{line}\n" for line in vllm(100, 150, 20, 3.0)) + "vllm:generation_tokens_total 12"
    assert "generation_tokens" not in metrics(prometheus.read(Source("log", scrape.encode())))


def test_text_that_is_none_of_prometheus_is_refused() -> None:
    with pytest.raises(NothingRead, match="no text of Prometheus"):
        read(*vllm(100, 150, 20, 3.0), "vllm:broken{ 1.0")


def test_a_server_that_was_started_again_and_counted_further_than_before_counts_from_its_start() -> None:
    found = read(*vllm(100, 150, 20, 3.0), *vllm(1, 1, 1, 1.0), *vllm(200, 300, 40, 7.0))
    assert samples(found, "acceptance_length") == (2.5,)
    assert "started anew" in found.remarks[0]


@pytest.mark.parametrize("number", ["NaN", "+Inf", "-1"])
def test_what_is_told_without_a_number_is_a_gap_and_the_rest_is_read(number: str) -> None:
    lines = [*vllm(100, 150, 20, 3.0), *vllm(200, 270, 40, 7.0)]
    gone = ("num_requests_running{", "accepted_tokens_total{")
    told = metrics(read(*(f"{line.split()[0]} {number}" if any(it in line for it in gone) else line for line in lines)))
    assert told["ttft"].summary is not None
    assert {name for name, metric in told.items() if "no number of 0 or more" in metric.gap} == {
        "running_requests",
        "acceptance_length",
    }
