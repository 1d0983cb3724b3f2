"""What is told of each engine's own words, and what of those that it does not have."""

from collections.abc import Mapping
from typing import Any

import pytest

from probes.engine import Engine
from probes.engine.asking import METRICS
from probes.kit.facts import Gap, Map
from tests.probes.engine.answers import (
    ELSEWHERE,
    LLAMA_CPP,
    PORT,
    SGLANG,
    VLLM,
    VLLM_CONFIG,
    listener,
    listens,
    sglang,
    told,
    vllm,
)

LLAMA_SERVER = ("llama-server", "--port", str(PORT), "-m", "m.gguf")


def arguments(engine: Engine) -> Mapping[str, Any]:
    assert isinstance(engine.arguments, Map)
    return engine.arguments.items


# SGLang.


def test_sglang_tells_what_it_serves_with() -> None:
    it = sglang({"/server_info": SGLANG, "/metrics": ELSEWHERE})
    assert (it.version, it.model, it.revision) == ("0.5.9", "/models/m", Gap("absent"))
    assert (it.kv_tokens, it.max_running_requests) == (20480, 128)
    assert (it.attention_backend, it.graphs) == ("fa3", (1, 2, 4, 8))
    assert (it.speculation.algorithm, it.speculation.steps, it.speculation.draft_tokens) == ("EAGLE", 3, 4)
    assert it.metrics == Gap("unsupported")


def test_its_arguments_are_flags_without_those_of_one_start_and_without_secrets() -> None:
    info = {**SGLANG, "api_key": {"$": "hmac", "key": "k", "digest": "d"}}
    found = arguments(sglang({"/server_info": info}))
    assert found["--max-running-requests"] == ("256",)
    assert found["--mem-fraction-static"] == ("0.907",)
    assert found["--enable-metrics"] == ()
    assert found["--disable-cuda-graph"] == ("false",)
    assert found["--cuda-graph-bs"] == ("1", "2", "4", "8")
    assert not found.keys() & {"--api-key", "--random-seed", "--port", "--nccl-port", "--host", "--lora-paths"}


def test_the_rest_of_its_answer_is_a_document_without_what_stands_elsewhere() -> None:
    it = sglang({"/server_info": SGLANG})
    assert it.told.value["max_req_input_len"] == 20474  # type: ignore[union-attr]
    assert it.told.value["internal_states"] == [  # type: ignore[union-attr]
        {"last_gen_throughput": 129.3, "effective_max_running_requests_per_dp": 128}
    ]


def test_an_older_sglang_is_asked_by_the_older_name() -> None:
    it = sglang({"/server_info": ELSEWHERE, "/get_server_info": {**SGLANG, "version": "0.4.6"}})
    assert it.version == "0.4.6"


def test_requests_of_several_schedulers_add_up() -> None:
    states = [{"effective_max_running_requests_per_dp": 64}, {"effective_max_running_requests_per_dp": 64}]
    assert sglang({"/server_info": {**SGLANG, "internal_states": states}}).max_running_requests == 128


def test_graphs_that_are_off_are_none_and_no_draft_is_none() -> None:
    it = sglang({"/server_info": {**SGLANG, "disable_cuda_graph": True, "speculative_algorithm": None}})
    assert it.graphs == ()
    assert it.speculation.algorithm == "none"


@pytest.mark.parametrize(
    "other",
    [
        {"internal_states": "many", "cuda_graph_bs": ["x"], "max_total_num_tokens": "20480", "version": 5},
        {"internal_states": [None, 3, []], "cuda_graph_bs": {}, "max_total_num_tokens": True, "version": None},
    ],
)
def test_values_of_another_type_are_gaps(other: Mapping[str, Any]) -> None:
    it = sglang({"/server_info": {**SGLANG, **other}})
    for value in (it.version, it.kv_tokens, it.graphs, it.max_running_requests):
        assert value == Gap("not_observable")


@pytest.mark.parametrize("version", [7, ["0.5.9"], {"$": "hmac", "key": "k", "digest": "d"}])
def test_what_it_tells_in_another_form_is_not_said_to_be_untold(version: Any) -> None:
    told, untold = (sglang({"/server_info": {**SGLANG, "version": value}}).version for value in (version, None))
    assert isinstance(told, Gap)
    assert isinstance(untold, Gap)
    assert "in a form that is not known here" in told.detail
    assert "in its log alone" in untold.detail


@pytest.mark.parametrize("answer", [[], "ready", 3, None])
def test_json_of_another_form_is_a_gap_of_each_fact(answer: Any) -> None:
    it = sglang({"/server_info": answer})
    assert it.version == it.arguments == it.speculation.steps == Gap("failed")


# vLLM.


def test_vllm_tells_its_cache_and_its_model_to_everybody() -> None:
    it = vllm({**VLLM, "/server_info?config_format=json": ELSEWHERE})
    assert (it.version, it.model, it.context_length) == ("0.11.0", "/models/m", 32768)
    assert (it.kv_blocks, it.kv_tokens) == (27000, 432000)
    assert arguments(it) == {
        "--block-size": ("16",),
        "--kv-cache-dtype": ("auto",),
        "--gpu-memory-utilization": ("0.9",),
        "--enable-prefix-caching": (),
        "--max-model-len": ("32768",),
    }
    assert it.attention_backend == it.max_running_requests == it.graphs == Gap("unsupported")
    assert it.metrics == tuple(VLLM["/metrics"])


def test_vllm_tells_all_of_its_configuration_in_its_mode_for_developers() -> None:
    it = vllm({**VLLM, "/server_info?config_format=json": VLLM_CONFIG})
    assert arguments(it)["--max-num-seqs"] == ("128",)
    assert arguments(it)["--kv-cache-dtype"] == ("fp8",)
    assert arguments(it)["--gpu-memory-utilization"] == ("0.9",)
    assert (it.max_running_requests, it.revision, it.graphs) == (128, "abc123", (1, 2, 4, 8, 16))
    assert (it.speculation.algorithm, it.speculation.draft_tokens) == ("eagle3", 5)
    assert "VLLM_SERVER_DEV_MODE" not in repr(it.told)


def test_a_vllm_without_graphs_and_drafts() -> None:
    config = {"vllm_config": {"model_config": {"enforce_eager": True}, "speculative_config": None}}
    it = vllm({**VLLM, "/server_info?config_format=json": config})
    assert (it.graphs, it.speculation.algorithm) == ((), "none")


# The others.


def test_llama_cpp_tells_its_slots() -> None:
    it = told(listens(LLAMA_SERVER, {"/props": LLAMA_CPP, "/metrics": ELSEWHERE}))
    assert (it.version, it.model) == ("b10434-7e4c0a9", "/models/m.gguf")
    assert (it.context_length, it.max_running_requests, it.speculation.algorithm) == (512, 2, "none")
    assert arguments(it) == {"--parallel": ("2",)}
    assert "chat_template" not in it.told.value  # type: ignore[union-attr]


def test_a_llama_cpp_that_loads_is_told_as_one() -> None:
    it = told(listens(LLAMA_SERVER, {"/props": Gap("settling"), "/metrics": Gap("settling")}))
    assert it.model == it.context_length == Gap("settling")


def test_tensorrt_llm_and_triton_tell_what_they_are() -> None:
    models = {"data": [{"id": "m"}]}
    trt = told(
        listens(("trtllm-serve", "m", "--port", str(PORT)), {"/version": {"version": "1.2.0"}, "/v1/models": models})
    )
    assert (trt.version, trt.model, trt.arguments) == ("1.2.0", "m", Gap("not_observable"))
    triton = told(listens(("tritonserver", "--http-port", str(PORT)), {"/v2": {"name": "triton", "version": "2.60"}}))
    assert triton.version == "2.60"


# Whom, and where.


def test_after_a_question_that_was_not_answered_in_time_no_other_is_asked() -> None:
    it = vllm({**VLLM, "/version": Gap("timed_out")})
    assert it.version == it.model == it.kv_blocks == it.metrics == Gap("timed_out")


def test_a_server_that_wants_a_key_is_denied() -> None:
    it = sglang(dict.fromkeys(("/server_info", "/metrics"), Gap("denied", "it wants a key, and none is sent")))
    assert it.model == it.metrics == Gap("denied")


@pytest.mark.parametrize(
    ("tables", "at"),
    [
        ({"tcp": listener("0100007F")}, "127.0.0.1"),
        ({"tcp": listener("0500000A")}, "10.0.0.5"),
        ({"tcp6": listener("0" * 32)}, "::1"),
        ({"tcp6": listener("0" * 24 + "01000000")}, "::1"),
        ({"tcp6": listener("0000000000000000FFFF00000100007F")}, "127.0.0.1"),
        ({"tcp6": listener("000080FE00000000FF0042020200FEFF")}, "fe80:0000:0000:0000:0242:00ff:fffe:0002"),
        ({"tcp": listener("0100007F"), "tcp6": listener("0" * 32)}, "127.0.0.1"),
    ],
)
def test_it_is_asked_where_it_listens_and_on_every_address_by_the_loopback(tables: Mapping[str, str], at: str) -> None:
    tables = {f"/proc/42/net/{name}": table for name, table in tables.items()}
    host = listens(LLAMA_SERVER, {"/props": LLAMA_CPP}, at=f"{at}:{PORT}", tables=tables)
    assert told(host).max_running_requests == 2


def test_a_socket_of_somebody_else_on_its_port_is_not_asked() -> None:
    it = told(listens(LLAMA_SERVER, {"/props": LLAMA_CPP}, held=("778",)))
    assert it.model == Gap("absent")
    assert "does not listen on port 30000" in it.model.detail  # type: ignore[union-attr]


def test_a_port_that_no_argument_tells_is_the_only_one_that_it_listens_on() -> None:
    argv = ("vllm", "serve", "m", "--config", "/nowhere.yaml")
    assert told(listens(argv, VLLM)).version == "0.11.0"
    two = {"/proc/42/net/tcp": listener() + listener(port=30001, inode="778")}
    it = told(listens(argv, VLLM, tables=two, held=("777", "778")))
    assert it.version == Gap("not_observable")
    assert "on 2 ports" in it.version.detail  # type: ignore[union-attr]


def test_a_port_that_a_variable_tells() -> None:
    host = listens(("llama-server", "-m", "m.gguf"), {"/props": LLAMA_CPP}, env={"LLAMA_ARG_PORT": str(PORT)})
    assert told(host).max_running_requests == 2


@pytest.mark.parametrize(
    ("argv", "gap", "words"),
    [
        (("python", "train.py"), "absent", "no server"),
        (("sglang::scheduler_TP0",), "unsupported", "sglang scheduler"),
        (("sglang-router", "--port", "30000"), "unsupported", "sglang router"),
        (("ollama", "serve"), "unsupported", "ollama"),
    ],
)
def test_others_are_asked_nothing(argv: tuple[str, ...], gap: str, words: str) -> None:
    it = told(listens(argv, {}))
    assert isinstance(it.version, Gap)
    assert (it.version.code, words in it.version.detail) == (gap, True)
    assert {it.model, it.told, it.metrics, it.speculation.steps} == {it.version}


def test_what_may_not_be_seen_of_a_process_is_denied() -> None:
    host = listens(LLAMA_SERVER, {"/props": LLAMA_CPP})
    host._answers = {key: Gap("denied") if key[0] == "opened" else it for key, it in host._answers.items()}
    assert told(host).model == Gap("denied")


# Its counts.


def test_every_count_that_is_reckoned_with_is_kept() -> None:
    import re

    from fingerprint.metrics.logs import prometheus

    counts = {f"{above}_total" for _, above, below in prometheus._RATIOS for above in (above, below)}
    histograms = {f"{name}_{part}" for name in prometheus._HISTOGRAMS for part in ("bucket", "sum", "count")}
    gauges = {*prometheus._AMOUNTS, *prometheus._SHARES}
    more = {"spec_decode_num_drafts_total", "spec_decode_num_accepted_tokens_total"}
    for name in counts | histograms | gauges | more | prometheus._COUNTERS.keys():
        assert re.match(METRICS, f'vllm:{name}{{le="1"}} 2'), name
        assert re.match(METRICS, f"# TYPE vllm:{name} counter"), name
    assert not re.match(METRICS, "python_gc_objects_collected_total 1")
