"""vLLM's log: lines of the engine and of drafts. The figures are those of logs that others published."""

import pytest

from fingerprint.metrics import formats
from fingerprint.metrics.found import NothingRead
from tests.metrics.logs.texts import drafts, engine, metrics, read, samples, size_of, source

_V1 = (
    "INFO 10-14 19:{} [loggers.py:127] Engine 000: Avg prompt throughput: {} tokens/s, Avg generation throughput: "
    "{} tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {}%, Prefix cache hit rate: {}%"
)
_V0 = (
    "INFO 07-19 16:18:{} metrics.py:295] Avg prompt throughput: {} tokens/s, Avg generation throughput: {} tokens/s, "
    "Running: {} reqs, Swapped: 0 reqs, Pending: {} reqs, GPU KV cache usage: {}%, CPU KV cache usage: 0.0%."
)


def start(model: str = "org/model") -> str:
    return (
        "(EngineCore_DP0 pid=9) INFO 03-02 10:00:00 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: "
        f"model='{model}', speculative_config=SpeculativeConfig(method='mtp', num_spec_tokens=3), "
        "dtype=torch.bfloat16, tensor_parallel_size=4, quantization=None"
    )


def test_lines_of_an_engine_are_read_by_column() -> None:
    found = read(
        _V1.format("28:10", 7199.3, 239.5, 26, 0, 36.7, 83.3),
        _V1.format("28:20", 838.3, 247.2, 29, 2, 98.7, 52.8),
        _V1.format("28:30", 207.4, 289.8, 26, 1, 99.1, 53.0),
    )
    assert {name: metric.samples for name, metric in metrics(found).items()} == {
        "generation_throughput": (247.2, 289.8),
        "throughput_per_stream": (247.2 / 29, 289.8 / 26),
        "prompt_throughput": (838.3, 207.4),
        "running_requests": (29.0, 26.0),
        "waiting_requests": (2.0, 1.0),
        "kv_cache_usage": (98.7, 99.1),
        "prefix_cache_hit_rate": (52.8, 53.0),
    }
    assert found.workload == {"vllm/streams": 32}
    assert found.remarks == (
        "server.log: 2 of 3 lines of a busy engine count, those of a time that began and ended with up to 32 requests",
    )


def test_lines_of_the_first_engine_are_read_by_column() -> None:
    found = read(
        _V0.format(29, 5.2, 3.2, 1, 7, 0.0),
        _V0.format(34, "0.0", 31.4, 1, 9, 0.1),
        _V0.format(39, "0.0", 31.1, 1, 8, 0.2),
    )
    told = metrics(found)
    assert told["generation_throughput"].samples == (31.4, 31.1)
    assert told["waiting_requests"].samples == (9.0, 8.0)
    assert told["kv_cache_usage"].samples == (0.1, 0.2)
    assert told["decode_step_ms"].samples == pytest.approx((1000 / 31.4,))
    assert "prompt_throughput" not in told


def test_a_time_in_which_the_engine_was_idle_at_an_end_is_no_sample() -> None:
    lines = [engine(0.0, running=0), engine(5.0), engine(18.0), engine(2.0, running=0), engine(4.0)]
    assert samples(read(*lines), "generation_throughput") == (18.0,)


def test_drafts_are_read_by_column() -> None:
    positions = "0.747, 0.467, 0.253"
    found = read(engine(5.6), drafts(2.67, 97, 174), engine(18.6, prompts=7.7), drafts(2.47, 110, 225, positions))
    told = metrics(found)
    assert told["acceptance_length"].samples == (2.67, 2.47)
    assert told["draft_acceptance_rate"].samples == pytest.approx((97 / 174, 110 / 225))
    assert told["acceptance_rate/position_1"].samples == (0.8, 0.747)
    assert told["acceptance_rate/position_3"].samples == (0.253,)


def test_a_cycle_is_of_a_time_without_prompts_between_such_times() -> None:
    """Tokens of a prompt are counted when it ends, so a long one may fill the time before."""
    steady = [engine(20.0), drafts(2.5, 150, 225)]
    found = read(*steady, *steady, *steady, engine(4.0), drafts(3.0, 2, 3), engine(18.0, prompts=3000.0), *steady)
    assert samples(found, "cycle_ms") == pytest.approx((125.0, 125.0))
    assert "decode_step_ms" not in metrics(found)


def test_a_time_in_which_nothing_was_drafted_tells_no_length() -> None:
    line = (
        "INFO [metrics.py:53] SpecDecoding metrics: Draft acceptance rate: nan%, Accepted: 0 tokens, Drafted: 0 tokens"
    )
    with pytest.raises(NothingRead, match="tells of no request that ran"):
        read(engine(0.0, running=0), line)


def test_what_the_first_engine_drafted_is_the_difference_of_its_sums() -> None:
    line = (
        "INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, "
        "System efficiency: 0.598, Number of speculative tokens: 3, Number of accepted tokens: {}, "
        "Number of draft tokens: {}, Number of emitted tokens: {}."
    )
    before = ["INFO 10-16 19:00:00 llm_engine.py:249] Initializing an LLM engine (v0.6.3) with config: model='m'"]
    before.append(line.format(8547, 13311, 10616))
    found = read(*before, line.format(8607, 13431, 10701), begin=size_of(before))
    assert samples(found, "acceptance_length") == pytest.approx((85 / 40,))
    assert samples(found, "draft_acceptance_rate") == (0.5,)


def test_the_stages_of_the_first_engine_are_draft_and_verify() -> None:
    line = (
        "SpecDecodeWorker stage times: average_time_per_proposal_tok_ms=3.57 scoring_time_ms=94.42 "
        "verification_time_ms=1.32"
    )
    found = read(start().replace("V1 LLM", "LLM"), line)
    assert samples(found, "draft_ms") == pytest.approx((10.71,))
    assert samples(found, "verify_ms") == pytest.approx((95.74,))


def test_engines_of_one_server_are_told_apart() -> None:
    lines = [
        engine(speed, running=running, engine=f"Engine 00{it}: ")
        for speed in (9.0, 8.0)
        for it, running in ((0, 1), (1, 5))
    ]
    assert samples(read(*lines), "running_requests") == (1.0,)


def test_preemptions_are_those_of_the_run() -> None:
    line = "WARNING scheduler.py:1] Sequence group 5 is preempted by mode. total_num_cumulative_preemption={}"
    before = [engine(9.0), line.format(1)]
    found = read(*before, engine(9.0), line.format(51), begin=size_of(before))
    assert samples(found, "preemptions") == (50.0,)


def test_preemptions_that_a_line_tells_add_up() -> None:
    line = engine(9.0).replace("Waiting: 2 reqs", "Waiting: 2 reqs, Deferred: 1 reqs, Preemptions: 3")
    found = read(line, engine(9.0), line)
    assert samples(found, "preemptions") == (6.0,)
    assert samples(found, "kv_cache_usage") == (0.7, 0.7)


def test_all_engines_in_one_line_are_one() -> None:
    lines = [
        engine(80.0, running=8, engine="4 Engines Aggregated: "),
        engine(81.0, running=8, engine="4 Engines Aggregated: "),
    ]
    assert samples(read(*lines), "generation_throughput") == (81.0,)


def test_several_lines_of_one_start_are_one_start() -> None:
    arguments = "(APIServer pid=7) INFO [utils.py:233] non-default args: {'model': 'org/model', 'max_num_seqs': 128}"
    found = read(arguments, start(), start(), engine(9.0), engine(9.0), arguments, start(), engine(7.0), engine(7.5))
    assert samples(found, "generation_throughput") == (7.5,)
    assert found.workload == {"vllm/model": "org/model", "vllm/streams": 1}
    assert found.remarks[:2] == (
        "server.log holds 2 starts of the server; what the last one wrote counts",
        (
            "server.log: vllm says that it runs with model org/model, tensor_parallel_size 4, dtype torch.bfloat16, "
            "method mtp, num_spec_tokens 3, max_num_seqs 128"
        ),
    )


def test_too_few_lines_of_a_busy_engine_are_a_gap_that_says_why() -> None:
    assert metrics(read(engine(3.0)))["generation_throughput"].gap.startswith("none of the 1 lines in which the engine")


@pytest.mark.parametrize("reader", ["auto", "vllm-log"])
def test_lmdeploy_has_its_words_and_is_refused(reader: str) -> None:
    line = (
        "2026-03-02 10:11:12,345 - lmdeploy - INFO - loggers.py:70 - DP: 0, Avg prompt throughput: 1.0 tokens/s, "
        "Avg generation throughput: 88.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, "
    )
    with pytest.raises(NothingRead, match=r"server\.log: it is LMDeploy's log"):
        formats.read(source(line, line), reader)


@pytest.mark.parametrize("number", ["nan", "inf", "-1.0"])
def test_a_throughput_that_is_no_number_is_a_gap_and_the_other_columns_are_read(number: str) -> None:
    line = engine(9.0).replace("generation throughput: 9.0", f"generation throughput: {number}")
    told = metrics(read(line, line, line))
    assert told["running_requests"].samples == (1.0, 1.0)
    assert "no number of 0 or more" in told["generation_throughput"].gap


def test_thousands_that_are_set_apart_are_read() -> None:
    line = (
        engine(9.0, 1.0)
        .replace("throughput: 9.0", "throughput: 1,234.5")
        .replace("throughput: 1.0", "throughput: 12,000.0")
    )
    found = read(line, line)
    assert samples(found, "generation_throughput") == (1234.5,)
    assert samples(found, "prompt_throughput") == (12000.0,)


def test_a_share_that_is_no_number_moves_none_of_the_others() -> None:
    told = metrics(read(engine(9.0), engine(9.0), drafts(2.0, 5, 10, "nan, 0.600")))
    assert told["acceptance_rate/position_1"].gap
    assert told["acceptance_rate/position_2"].samples == (0.6,)
