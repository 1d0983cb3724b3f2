"""What a server counted while it was recorded."""

from collections.abc import Sequence

import pytest

from fingerprint.metrics import Metric
from fingerprint.runs.counts import Counts

TTFT = "vllm:time_to_first_token_seconds"


def scrape(tokens: Sequence[int], running: int, preempted: int, *first_tokens: tuple[int, float]) -> tuple[str, ...]:
    """Of a server with an engine for each number of tokens. first_tokens: how many requests, and their seconds."""
    histograms = (
        (
            f'{TTFT}_bucket{{engine="{at}",le="0.5"}} {count}.0',
            f'{TTFT}_bucket{{engine="{at}",le="+Inf"}} {count}.0',
            f'{TTFT}_count{{engine="{at}"}} {count}.0',
            f'{TTFT}_sum{{engine="{at}"}} {seconds}',
        )
        for at, (count, seconds) in enumerate(first_tokens)
    )
    return (
        "# TYPE process_start_time_seconds gauge",
        "process_start_time_seconds 1760000000.0",
        "# TYPE vllm:num_requests_running gauge",
        f'vllm:num_requests_running{{engine="0"}} {running}.0',
        "# TYPE vllm:generation_tokens_total counter",
        *(f'vllm:generation_tokens_total{{engine="{at}"}} {count}.0' for at, count in enumerate(tokens)),
        f"# TYPE {TTFT} histogram",
        *(line for lines in histograms for line in lines),
        "# TYPE vllm:num_preemptions_total counter",
        f"vllm:num_preemptions_total {preempted}.0",
    )


FIRST = scrape((1000, 500), 3, 2, (10, 4.0), (0, 0.0))
LAST = scrape((2000, 1500), 0, 7, (30, 8.0), (20, 6.0))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Its last value is the time."""
    times = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: times[-1])
    return times


def counted(clock: list[float], *scrapes: Sequence[str], target: str = "main") -> dict[str, Metric]:
    """Asked each ten seconds."""
    counts = Counts()
    for lines in scrapes:
        counts.take(target, lines)
        clock.append(clock[-1] + 10)
    return {metric.name: metric for metric in counts.metrics()}


def test_the_difference_of_first_and_last_is_the_runs(clock: list[float]) -> None:
    found = counted(clock, FIRST, LAST)
    assert found["generation_tokens"].samples == (2000.0,)
    assert found["preemptions"].samples == (5.0,)
    summary = found["ttft"].summary
    assert summary is not None
    assert (summary.count, summary.mean) == (40, 0.25)
    assert found["ttft"].source == "prometheus, time_to_first_token_seconds, of the server"


def test_a_count_by_the_time_between_is_its_rate(clock: list[float]) -> None:
    rate = counted(clock, FIRST, LAST)["generation_rate"]
    assert (rate.samples, rate.unit, rate.better) == ((200.0,), "tok/s", "unknown")


def test_what_was_asked_in_between_does_not_matter(clock: list[float]) -> None:
    assert counted(clock, FIRST, FIRST, LAST)["generation_rate"].samples == (100.0,)


def test_a_gauge_of_the_last_moment_is_none_of_the_runs(clock: list[float]) -> None:
    assert "running_requests" not in counted(clock, FIRST, LAST)


def test_the_accept_length_that_a_server_means_over_a_while_is(clock: list[float]) -> None:
    lines = ('sglang:spec_accept_length{tp_rank="0"} 2.5',)
    assert counted(clock, lines, lines)["accept_length"].samples == (2.5,)


@pytest.mark.parametrize("scrapes", [(FIRST,), (FIRST, ()), ((), LAST), (LAST, FIRST), (FIRST, ("no text { of it",))])
def test_of_one_answer_alone_and_of_a_server_started_anew_nothing_is_told(
    clock: list[float], scrapes: tuple[Sequence[str], ...]
) -> None:
    assert counted(clock, *scrapes) == {}


def test_of_several_servers_each_goes_by_its_name(clock: list[float]) -> None:
    counts = Counts()
    for lines in (FIRST, LAST):
        counts.take("vllm-8000", lines)
        counts.take("vllm-8001", lines)
        clock.append(clock[-1] + 10)
    names = {metric.name for metric in counts.metrics()}
    assert {"vllm-8000/generation_tokens", "vllm-8001/generation_tokens"} <= names
