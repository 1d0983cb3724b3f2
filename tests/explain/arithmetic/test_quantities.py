"""Which metrics are which quantities: by a name and a unit that tell it surely."""

import pytest

from fingerprint.explain.arithmetic.crowd import crowd
from fingerprint.explain.arithmetic.quantities import known


@pytest.mark.parametrize(
    ("name", "unit", "quantity", "size"),
    [
        ("throughput", "tok/s", "throughput", 1),
        ("throughput", "", "throughput", 1),
        ("output_throughput", "tokens/s", "throughput", 1),
        ("tokens_per_second", "", "throughput", 1),
        ("tok_s", "", "throughput", 1),
        ("baseline_throughput", "tok/s", "plain throughput", 1),
        ("accept_length", "", "accept length", 1),
        ("Mean Acceptance Length", "tokens", "accept length", 1),
        ("verify_ms", "", "verify", 1e-3),
        ("verify_ms", "ms", "verify", 1e-3),
        ("verify", "us", "verify", 1e-6),
        ("draft_s", "s", "draft", 1),
        ("cycle_time_ms", "ms", "cycle", 1e-3),
        ("overhead_ms", "ms", "overhead", 1e-3),
        ("decode_ms", "ms", "decode", 1e-3),
        ("bench/mean_tpot_ms", "ms", "token", 1e-3),
        ("runs[0].median_ttft_ms", "ms", "ttft", 1e-3),
    ],
)
def test_a_known_name_and_unit_tell_the_quantity(name: str, unit: str, quantity: str, size: float) -> None:
    found = known(name, unit)
    assert found is not None
    assert (found.quantity, found.size) == (quantity, size)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("wall_time", "s"),
        ("verify", ""),  # of which unit?
        ("throughput", "req/s"),
        ("request_throughput", "req/s"),
        ("total_token_throughput", "tok/s"),  # the prompt's included
        ("p99_tpot_ms", "ms"),  # no identity holds of quantiles
        ("max_verify_ms", "ms"),
        ("accept_length", "ms"),
        ("decode_ms_per_layer", "ms"),
    ],
)
def test_another_name_or_unit_tells_none(name: str, unit: str) -> None:
    assert known(name, unit) is None


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ({"concurrency": 8}, "concurrency is 8"),
        ({"bench/max-concurrency": "16"}, "bench/max-concurrency is 16"),
        ({"batch_size": 2.0}, "batch_size is 2.0"),
        ({"concurrency": 1}, ""),
        ({"concurrency": "unlimited"}, ""),
        ({"prompts": 8}, ""),
        ({}, ""),
    ],
)
def test_more_than_one_stream_is_told_by_the_workload(workload: dict[str, object], said: str) -> None:
    assert crowd(workload) == said
