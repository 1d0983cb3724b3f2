"""SGLang's log: lines of decoding and of prompts. The figures are those of logs that others published."""

import pytest

from fingerprint.metrics.found import NothingRead
from tests.metrics.logs.texts import (
    ACCESS,
    READY,
    decode,
    metrics,
    prefill,
    read,
    samples,
    sglang_log,
    sglang_start,
    size_of,
)


def test_lines_of_two_requests_at_once_are_read_by_column() -> None:
    """A speculating server of 2026, whose model has two pools of tokens."""
    line = (
        "[2026-08-02 00:03:{:02}] Decode batch, #running-req: 2, #full token: {}, full token usage: 0.01, "
        "#swa token: 464, swa token usage: 0.02, accept len: {}, accept rate: {}, cuda graph: True, "
        "gen throughput (token/s): {}, #queue-req: 0"
    )
    found = read(line.format(5, 276, 2.63, 0.11, 28.93), line.format(12, 464, 2.3, 0.09, 25.84))
    assert {name: metric.samples for name, metric in metrics(found).items()} == {
        "gen_throughput": (25.84,),
        "throughput_per_stream": (12.92,),
        "accept_length": (2.3,),
        "accept_rate": (0.09,),
        "cycle_ms": (pytest.approx(1000 * 2 * 2.3 / 25.84),),
        "cuda_graph": (1.0,),
        "token_usage": (0.01,),
        "running_requests": (2.0,),
        "queued_requests": (0.0,),
        "retracted_requests": (0.0,),
    }
    assert found.workload == {"sglang/streams": 2}


def test_lines_of_an_early_server_are_read_by_column() -> None:
    """One of 2025 that does not speculate, behind a container's own time."""
    line = (
        "[2025-03-11 16:44:2{0}] [2025-03-11 01:44:2{0} TP0] Decode batch. #running-req: 5, #token: 266623, "
        "token usage: 0.61, gen throughput (token/s): {1}, #queue-req: 0"
    )
    found = read(line.format(7, "136.00"), line.format(8, "136.01"), line.format(9, "135.96"))
    assert samples(found, "gen_throughput") == (136.01, 135.96)
    assert samples(found, "decode_step_ms") == pytest.approx((36.762, 36.776), abs=0.001)
    assert samples(found, "token_usage") == (0.61, 0.61)
    assert "cycle_ms" not in metrics(found)


def test_lines_that_number_their_batches_are_read_by_column() -> None:
    line = (
        "[2026-08-27 08:30:09] Decode batch [{}], #running-req: {}, #token: 256, token usage: 0.00, npu graph: True, "
        "gen throughput (token/s): {}, #queue-req: 1"
    )
    steps = [(242, 1, 87.4), (282, 1, 91.04), (282, 2, 120.0), (322, 2, 150.0), (362, 2, 151.0)]
    found = read(*(line.format(*step) for step in steps))
    assert samples(found, "gen_throughput") == (150.0, 151.0)
    assert samples(found, "cuda_graph") == (1.0, 1.0)


def test_a_server_that_prefills_alone_tells_no_running_requests() -> None:
    line = (
        "[2025-06-27 21:19:46 DP0 TP0] Prefill batch. #new-seq: 1, #new-token: 8192, #cached-token: 0, "
        "token usage: 0.02, #unbootstrapped-req: 0, #queue-req: {}, #transferring-req: 0, "
        "input throughput (token/s): {} "
    )
    found = read(line.format(3, 0.1), line.format(2, 22000.5), line.format(0, 21000.5), line.format(0, 4.5))
    assert samples(found, "prefill_throughput") == (22000.5, 21000.5)
    assert samples(found, "prefix_cache_hit_rate") == (0.0,)


def test_units_and_which_way_is_better_are_told() -> None:
    told = metrics(read(decode(90.0, 2.0), decode(94.0, 2.0)))
    assert {(it.unit, it.better) for name, it in told.items() if name in ("gen_throughput", "cycle_ms")} == {
        ("tok/s", "higher"),
        ("ms", "lower"),
    }
    assert told["accept_length"].better == "higher"
    assert {metric.kind for name, metric in told.items() if name != "retracted_requests"} == {"series"}


def test_what_the_server_asks_itself_before_it_is_ready_is_left_out() -> None:
    found = read(sglang_start(), prefill(), decode(5.0), decode(6.0), READY, decode(70.0), decode(71.0))
    assert samples(found, "gen_throughput") == (71.0,)


def test_a_line_of_a_time_in_which_the_server_had_nothing_to_do_is_no_sample() -> None:
    found = read(decode(70.0), decode(71.0), ACCESS, prefill(running=0), decode(0.1), decode(72.0))
    assert samples(found, "gen_throughput") == (71.0, 72.0)


def test_a_prompt_beside_running_requests_belongs_to_the_load() -> None:
    lines = [decode(70.0, running=4), prefill(running=3), decode(60.0, running=4)]
    assert samples(read(*lines), "gen_throughput") == (60.0,)


def test_only_lines_of_the_most_common_number_of_requests_are_samples() -> None:
    lines = [decode(50.0), decode(51.0), decode(90.0, running=2), decode(91.0, running=2), decode(92.0, running=2)]
    found = read(*lines)
    assert samples(found, "gen_throughput") == (91.0, 92.0)
    assert found.workload == {"sglang/streams": 2}
    assert found.remarks == (
        "server.log: 2 of 5 decode lines count, those of a time in which 2 requests ran throughout",
    )


def test_about_as_many_requests_are_as_many() -> None:
    found = read(*(decode(3600.0, running=running) for running in (155, 156, 154, 160)))
    assert samples(found, "running_requests") == (156.0, 154.0, 160.0)
    assert found.workload == {"sglang/streams": 192}


def test_ranks_that_write_by_turns_are_told_apart() -> None:
    lines = [
        decode(10.0 * rank + turn, running=rank + 1, rank=f" DP{rank} TP{rank} EP0")
        for turn in (1, 2)
        for rank in (0, 1)
    ]
    assert samples(read(*lines), "running_requests") == (1.0,)


def test_the_gpu_is_the_rank_in_the_first_releases() -> None:
    line = "[gpu={}] Decode batch. #running-req: {}, #token: 99, gen throughput (token/s): {}, #queue-req: 0"
    found = read(*(line.format(gpu, gpu + 1, 10 + gpu) for gpu in (0, 1, 0, 1, 1)))
    assert samples(found, "gen_throughput") == (11.0, 11.0)


def test_prompts_that_follow_each_other_tell_the_speed_of_prefill() -> None:
    lines = [
        prefill(0, speed=0.04),
        prefill(1, speed=5100.0),
        prefill(2, speed=5200.0),
        decode(9.0, running=3),
        prefill(3, speed=7.0),
    ]
    assert samples(read(*lines), "prefill_throughput") == (5100.0, 5200.0)


def test_cached_tokens_are_a_share_of_all_prompts() -> None:
    assert samples(read(prefill(new=25, cached=75), prefill(new=75, cached=25)), "prefix_cache_hit_rate") == (0.5,)


def test_decoding_without_a_graph_is_seen() -> None:
    assert samples(read(decode(1.0, graph="False"), decode(1.0, graph="False")), "cuda_graph") == (0.0,)


def test_retracted_requests_are_counted() -> None:
    line = "[2025-01-07 20:16:26 TP0] Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.63 -> 0.78"
    assert samples(read(decode(1.0), line, line), "retracted_requests") == (2.0,)


def test_the_last_of_several_starts_counts() -> None:
    found = read(*sglang_log([70.0], [None]), *sglang_log([80.0, 81.0], [None, None], sglang_start("org/other")))
    assert samples(found, "gen_throughput") == (80.0, 81.0)
    assert found.workload["sglang/model"] == "org/other"
    assert "server.log holds 2 starts of the server; what the last one wrote counts" in found.remarks


def test_a_start_that_served_nothing_is_none() -> None:
    found = read(sglang_start("org/first"), *sglang_log([80.0], [None]))
    assert not any("starts" in remark for remark in found.remarks)


def test_of_a_log_that_was_added_to_only_the_added_lines_count() -> None:
    before = [*sglang_log([70.0, 71.0], [None, None])]
    found = read(*before, decode(80.0), decode(81.0), begin=size_of(before))
    assert samples(found, "gen_throughput") == (80.0, 81.0)
    assert found.workload == {"sglang/model": "org/model", "sglang/streams": 1}


def test_the_arguments_are_told_without_secrets() -> None:
    start = sglang_start(speculative="'EAGLE'", more=", speculative_num_steps=3, cuda_graph_config=Graph(tp_size=99)")
    found = read(*sglang_log([80.0], [2.0], start))
    assert found.remarks[0] == (
        "server.log: sglang says that it runs with model_path org/model, tp_size 8, attention_backend triton, "
        "speculative_algorithm EAGLE, speculative_num_steps 3, mem_fraction_static 0.85"
    )
    assert "sk-" not in str(found)


def test_a_log_with_too_few_lines_of_decoding_is_a_gap_that_says_why() -> None:
    assert metrics(read(prefill(), decode(2.08, running=19)))["gen_throughput"].gap == (
        "none of the log's 1 decode lines is of a time in which equally many requests ran throughout; run longer"
    )
    assert "--decode-log-interval" in metrics(read(prefill()))["gen_throughput"].gap


def test_a_log_without_any_batch_is_refused() -> None:
    with pytest.raises(NothingRead, match="tells of no batch that ran"):
        read(sglang_start())


@pytest.mark.parametrize(
    "broken", ["Decode batch, #running-req: , gen", "Decode batch", "Decode batch, #running-req: x,"]
)
def test_a_line_that_is_cut_is_no_sample(broken: str) -> None:
    assert samples(read(decode(1.0), broken, decode(2.0)), "gen_throughput") == (2.0,)


@pytest.mark.parametrize("number", ["nan", "inf", "-1.00", "None", "1.234,5"])
def test_a_column_without_a_number_is_a_gap_that_says_why(number: str) -> None:
    line = decode(2.0, 2.5).replace("(token/s): 2.00", f"(token/s): {number}")
    told = metrics(read(decode(1.0), line, line))
    assert told["accept_length"].samples == (2.5, 2.5)
    assert told["gen_throughput"].gap == told["cycle_ms"].gap
    assert "no number of 0 or more" in told["gen_throughput"].gap


def test_lines_without_a_number_leave_those_that_have_one() -> None:
    line = decode(2.0, 2.5).replace("accept len: 2.50", "accept len: nan")
    assert samples(read(decode(1.0), line, decode(2.0, 2.25)), "accept_length") == (2.25,)


def test_thousands_that_are_set_apart_are_read() -> None:
    line = decode(1.0).replace("(token/s): 1.00", "(token/s): 1,234.5").replace("#running-req: 1,", "#running-req: {},")
    found = read(*(line.format(requests) for requests in ("1,025", "1,026", "1,500")))
    assert samples(found, "gen_throughput") == (1234.5, 1234.5)
    assert samples(found, "running_requests") == (1026.0, 1500.0)


def test_an_accept_length_of_0_is_none_and_no_step_without_speculation() -> None:
    told = metrics(read(sglang_start(), *(decode(90.0, accept) for accept in (2.0, 2.0, 0.0))))
    assert (told["accept_length"].samples, told["gen_throughput"].samples) == ((2.0,), (90.0, 90.0))
    assert "decode_step_ms" not in told
    only = metrics(read(sglang_start(), *(decode(90.0, 0.0) for _ in range(3))))
    assert "decode_step_ms" not in only
    assert (only["accept_length"].gap, only["cycle_ms"].gap) != ("", "")
