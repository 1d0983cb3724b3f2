"""What llama.cpp prints of its timings. The figures are those of logs that others published."""

from collections.abc import Callable

import pytest

from fingerprint.metrics.found import NothingRead
from tests.metrics.logs.texts import metrics, read, samples, size_of

START = [
    "build: 8173 (2e7e63852) with Clang 20.0.0 for Linux x86_64",
    "srv    load_model: loading model '/m/model.gguf'",
]


def rate(ms: float, tokens: int) -> str:
    return f"({ms / tokens:8.2f} ms per token, {1000 * tokens / ms if ms else 1e6:8.2f} tokens per second)"


def timings(task: int, prompt: tuple[float, int], made: tuple[float, int]) -> list[str]:
    slot = f"0.04.579.842 I slot print_timing: id  0 | task {task} | "
    return [
        f"{slot}prompt eval time = {prompt[0]:10.2f} ms / {prompt[1]:5} tokens {rate(*prompt)}",
        f"{slot}       eval time = {made[0]:10.2f} ms / {made[1]:5} tokens {rate(*made)}",
        f"{slot}      total time = {prompt[0] + made[0]:10.2f} ms / {prompt[1] + made[1]:5} tokens",
    ]


def launched(task: int) -> str:
    return f"slot launch_slot_: id  0 | task {task} | processing task"


def released(task: int) -> str:
    return f"slot      release: id  0 | task {task} | stop processing: n_tokens = 153, truncated = 0"


def test_each_request_of_a_server_is_a_sample() -> None:
    first, second = timings(3, (204.20, 25), (2120.60, 128)), timings(9, (714.79, 1091), (3133.20, 353))
    found = read(*START, launched(3), *first, released(3), launched(9), *second, released(9))
    assert samples(found, "generation_throughput") == pytest.approx((60.36, 112.66), abs=0.01)
    assert samples(found, "prompt_throughput") == pytest.approx((122.43, 1526.33), abs=0.01)
    assert samples(found, "decode_step_ms") == pytest.approx((16.57, 8.88), abs=0.01)
    assert samples(found, "prompt_tokens") == (25, 1091)
    assert found.workload == {"llama.cpp/model": "/m/model.gguf", "llama.cpp/streams": 1}
    assert found.remarks == (
        "server.log: llama.cpp says that it runs with build 8173 (2e7e63852), model /m/model.gguf",
    )


def test_a_release_that_leaves_out_the_first_token_is_read_as_it_says() -> None:
    found = read(
        "prompt eval time =       0.63 ms /     4 tokens (    0.16 ms per token,  6359.30 tokens per second)",
        "       eval time =      46.73 ms /   200 tokens (    0.23 ms per token,  4258.51 tokens per second)",
        "slot      release: id  1 | task 1 | stop processing: n_tokens = 203, truncated = 0",
    )
    assert samples(found, "generation_throughput") == pytest.approx((4258.51,), abs=0.01)
    assert samples(found, "decode_step_ms") == pytest.approx((46.73 / 199,))
    assert samples(found, "tokens") == (200,)


def test_the_end_of_a_program_of_2023_is_one_sample() -> None:
    found = read(
        "main: build = 3000 (0abc123)",
        "llama_print_timings: prompt eval time =   925.78 ms /    24 tokens (   38.57 ms per token)",
        "llama_print_timings:        eval time =  4178.32 ms /    31 runs   (  134.78 ms per token)",
        "llama_print_timings:       total time =  5211.06 ms",
    )
    assert samples(found, "decode_step_ms") == pytest.approx((134.78,), abs=0.01)
    assert samples(found, "prompt_throughput") == pytest.approx((25.92,), abs=0.01)
    assert found.workload == {}


@pytest.mark.parametrize(
    ("line", "length"),
    [
        ("draft acceptance rate = 0.66237 (  257 accepted /   388 generated)", 353 / 96),
        ("draft acceptance = 0.66237 (  257 accepted /   388 generated), mean acceptance length =  3.68", 3.68),
        ("draft acceptance = 0.66237 ( 257 accepted / 388 generated), mean len = 2.17", 2.17),
    ],
)  # fmt: skip
def test_what_was_drafted_gives_accept_length_and_cycle(line: str, length: float) -> None:
    found = read(*timings(9, (714.79, 1091), (3133.20, 353)), line)
    assert samples(found, "acceptance_length") == pytest.approx((length,))
    assert samples(found, "draft_acceptance_rate") == pytest.approx((257 / 388,))
    assert samples(found, "cycle_ms") == pytest.approx((3133.20 / 353 * length,))
    assert "decode_step_ms" not in metrics(found)


def on_lines_of_their_own(lines: list[str]) -> list[str]:
    """As a release writes them that names the slot once."""
    slot = lines[0].rpartition(" | ")[0]
    return [f"{slot} | ", *(line.rpartition(" | ")[2] for line in lines)]


@pytest.mark.parametrize("written", [list, on_lines_of_their_own])
def test_of_requests_that_ran_beside_each_other_the_speed_is_that_of_each(
    written: Callable[[list[str]], list[str]],
) -> None:
    both = [launched(2), launched(3)]
    both += [*written(timings(2, (10, 5), (200, 10))), *written(timings(3, (10, 5), (400, 10)))]
    found = read(*START, *both)
    assert found.workload["llama.cpp/streams"] == 2
    assert samples(found, "throughput_per_stream") == samples(found, "generation_throughput")


def test_requests_that_ran_beside_each_other_are_no_samples_of_one_alone() -> None:
    alone = [launched(1), *timings(1, (10, 5), (100, 10)), released(1)]
    both = [
        launched(2),
        launched(3),
        *timings(2, (10, 5), (200, 10)),
        released(2),
        *timings(3, (10, 5), (300, 10)),
        released(3),
    ]
    found = read(*alone, *both, launched(4), *timings(4, (10, 5), (100, 20)), released(4), *alone)
    assert samples(found, "generation_throughput") == (100.0, 200.0, 100.0)
    assert found.workload == {"llama.cpp/streams": 1}


def test_a_request_of_one_token_tells_no_speed() -> None:
    found = read(*timings(1, (6188.84, 14221), (0.0, 1)))
    assert "generation_throughput" not in metrics(found)
    assert samples(found, "prompt_throughput") == pytest.approx((2297.85,), abs=0.01)


def test_the_last_start_counts_and_only_what_was_added() -> None:
    before = [*START, *timings(1, (10, 5), (100, 10))]
    found = read(*before, *timings(2, (10, 5), (200, 10)), *timings(3, (10, 5), (400, 10)), begin=size_of(before))
    assert samples(found, "generation_throughput") == (50.0, 25.0)
    again = read(*before, *START, *timings(2, (10, 5), (200, 10)))
    assert samples(again, "generation_throughput") == (50.0,)
    assert "server.log holds 2 starts of the server; what the last one wrote counts" in again.remarks


def test_a_server_that_answered_nothing_is_refused() -> None:
    with pytest.raises(NothingRead, match="the timings of no request"):
        read(*START, "llama_model_loader: loaded meta data")


def test_a_time_that_is_no_number_is_a_gap_and_thousands_are_read() -> None:
    prompt, made, total = timings(3, (1204.2, 25), (2120.60, 128))
    lines = [prompt.replace("1204.20 ms", "1,204.20 ms"), made.replace("2120.60 ms", "nan ms"), total]
    told = metrics(read(*START, *lines))
    assert told["prompt_throughput"].samples == pytest.approx((20.76,), abs=0.01)
    assert "no number of 0 or more" in told["generation_throughput"].gap
    assert told["tokens"].samples == (128,)
