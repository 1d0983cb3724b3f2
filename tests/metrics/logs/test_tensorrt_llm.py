"""TensorRT-LLM's log: a line for each step, where it is asked for."""

import pytest

from fingerprint.metrics.found import NothingRead
from tests.metrics.logs.texts import metrics, read, samples

START = [
    "[TensorRT-LLM] TensorRT LLM version: 1.2.0rc4",
    "model='org/model' tokenizer=None tensor_parallel_size=2 max_batch_size=32 backend='pytorch'",
    "INFO:     Application startup complete.",
]


def step(ms: float, scheduled: int = 8, prompts: int = 0, tokens: int = 8, device: str = "11.5ms") -> str:
    return (
        "[12/07/2025-00:21:01] [TRT-LLM] [I] iter = 5, global_rank = 0, rank = 0, currank_total_requests = 0/0, "
        f"host_step_time = {ms}ms, prev_device_step_time = {device}, timestamp = 2025-12-07 00:21:01, "
        f"num_scheduled_requests: {scheduled}, states = {{'num_ctx_requests': {prompts}, "
        f"'num_ctx_tokens': {100 * prompts}, 'num_generation_tokens': {tokens}}}"
    )


def test_steps_of_decoding_alone_are_read_by_column() -> None:
    found = read(*START, step(900.0, prompts=1, device="N/A"), step(12.6), step(12.5), step(12.25, device="11.25ms"))
    assert {name: metric.samples for name, metric in metrics(found).items()} == {
        "decode_step_ms": (12.5, 12.25),
        "device_step_ms": (11.5, 11.25),
        "running_requests": (8.0, 8.0),
    }
    assert found.workload == {"tensorrt-llm/model": "org/model", "tensorrt-llm/streams": 8}
    assert found.remarks[0].endswith("model org/model, backend pytorch, tensor_parallel_size 2, max_batch_size 32")


def test_steps_of_a_release_with_other_words_are_read_by_column() -> None:
    line = (
        "0: [08/04/2026-19:08:13] [TRT-LLM] [I] [_torch][RANK 0] iter = 7, global_rank = 0, rank = 0, "
        "num_scheduled_requests = 1, kv_cache_util = 0.125, currank_total_requests = 1/8, host_step_time = 30.5ms, "
        "prev_device_step_time = 29.5ms, timestamp = 2026-08-04 19:08:13, states = {'num_ctx_requests': 0, "
        "'num_ctx_tokens': 0, 'num_generation_tokens': 4}"
    )
    found = read(line, line)
    assert samples(found, "cycle_ms") == (30.5,)
    assert samples(found, "kv_cache_usage") == (0.125,)
    assert "decode_step_ms" not in metrics(found)


def test_seconds_of_an_early_release_are_milliseconds() -> None:
    line = step(0).replace("host_step_time = 0ms, prev_device_step_time = 11.5ms", "elapsed_time = 0.0125s")
    assert samples(read(line, line), "decode_step_ms") == pytest.approx((12.5,))


def test_what_runs_before_the_server_is_ready_is_left_out() -> None:
    assert samples(read(step(99.0), step(99.0), *START, step(12.0), step(12.5)), "decode_step_ms") == (12.5,)


def test_a_log_without_steps_says_how_to_get_them() -> None:
    with pytest.raises(NothingRead, match="print_iter_log: true"):
        read(*START)


def test_a_step_that_took_no_number_is_a_gap_and_the_other_columns_are_read() -> None:
    told = metrics(read(*START, *[step(float("nan"))] * 3))
    assert told["device_step_ms"].samples == (11.5, 11.5)
    assert "no number of 0 or more" in told["decode_step_ms"].gap
