"""Arguments that a server was given and does not serve by."""

from collections.abc import Mapping
from typing import Any

import pytest

from fingerprint.findings import Finding
from probes.engine import Engine
from probes.kit.facts import Gap, Map, Redacted
from probes.process.sections import Process
from tests.findings.servers import found, told

Words = tuple[Any, ...]


def served(flags: Mapping[str, Words], arguments: Mapping[str, Words] | Gap, **facts: Any) -> dict[str, Any]:
    it: Any = arguments if isinstance(arguments, Gap) else Map(dict(arguments))
    return {
        "process/sglang-30000": Process(flags=Map(dict(flags))),
        "engine/sglang-30000": Engine(arguments=it, **facts),
    }


def the(sections: Mapping[str, Any]) -> Finding:
    [finding] = found(sections)
    return finding


def test_fewer_requests_at_once_than_were_asked_for() -> None:
    it = the(served({"--max-num-seqs": ("256",)}, {"--max-num-seqs": ("128",)}))
    assert it.identity == ("engine-argument-not-taken", "--max-num-seqs")
    assert it.says == "sglang-30000 was started with --max-num-seqs 256, and serves with 128."
    assert it.facts == (
        "process/sglang-30000/flags/--max-num-seqs",
        "engine/sglang-30000/arguments/--max-num-seqs",
    )
    assert it.values == {"sglang-30000": "128"}


@pytest.mark.parametrize(
    ("flag", "asked", "effective"),
    [
        ("--max-num-seqs", ("256",), ("256",)),
        ("--gpu-memory-utilization", (".90",), ("0.9",)),
        ("--max-model-len", ("8k",), ("8000",)),
        ("--max-model-len", ("32K",), ("32768",)),
        ("--max-model-len", ("auto",), ("4096",)),
        ("--chunked-prefill-size", ("-1",), ("8192",)),
        ("--dtype", ("half",), ("torch.float16",)),
        ("--speculative-algorithm", ("NEXTN",), ("EAGLE",)),
        ("--kv-cache-dtype", ("fp8",), ("fp8_e4m3",)),
        ("--served-model-name", ("a",), ("b",)),
        ("--model-path", ("org/model",), ("/models/org/model",)),
        ("--trust-remote-code", (), ()),
        ("--trust-remote-code", (), ("true",)),
        ("--enable-metrics", ("1",), ("true",)),
        ("--compilation-config", ('{"level": 3}',), ("3",)),
        ("--api-key", (Redacted("k", "d"),), ("x",)),
        ("--tp-size", ("4", "8"), ("8",)),
        ("--cuda-graph-bs", ("1", "2", "4"), ("1", "2", "4")),
        ("--lora", (), ("5",)),
    ],
)
def test_what_is_the_same_or_was_left_to_the_engine_is_none(flag: str, asked: Words, effective: Words) -> None:
    assert told(served({flag: asked}, {flag: effective})) == []


@pytest.mark.parametrize(
    ("flag", "asked", "effective", "says"),
    [
        ("--attention-backend", ("fa3",), ("triton",), "--attention-backend fa3, and serves with triton"),
        ("--disable-cuda-graph", (), ("false",), "--disable-cuda-graph, and serves with it off"),
        ("--chunked-prefill-size", ("8192",), ("1024",), "--chunked-prefill-size 8192, and serves with 1024"),
        ("--cuda-graph-bs", ("1", "2", "4"), ("1", "2", "8"), "1 2 4, and serves with 1 2 8"),
        ("--mem-fraction-static", ("0.9",), ("0.88",), "0.9, and serves with 0.88"),
    ],
)
def test_another_value_is_one(flag: str, asked: Words, effective: Words, says: str) -> None:
    assert says in the(served({flag: asked}, {flag: effective})).says


def test_an_argument_goes_by_all_of_its_names() -> None:
    it = the(served({"-tp": ("8",)}, {"--tensor-parallel-size": ("4",)}))
    assert it.about == "-tp"
    assert it.facts[1] == "engine/sglang-30000/arguments/--tensor-parallel-size"


def test_a_switch_that_was_turned_off_and_is_on() -> None:
    it = the(served({"--no-enable-prefix-caching": ()}, {"--enable-prefix-caching": ()}))
    assert it.says.endswith("was started with --no-enable-prefix-caching, and serves with it on.")
    assert told(served({"--no-enable-prefix-caching": ()}, {"--enable-prefix-caching": ("false",)})) == []


def test_what_nobody_asked_for_is_the_engines_to_choose() -> None:
    assert told(served({}, {"--max-num-seqs": ("128",), "--attention-backend": ("fa3",)})) == []


def test_schedulers_that_hold_fewer_requests_than_their_arguments_say() -> None:
    asked, arguments = {"--max-running-requests": ("256",)}, {"--max-running-requests": ("256",)}
    it = the(served(asked, arguments, max_running_requests=52))
    assert it.says.endswith("--max-running-requests 256, and serves with 52.")
    assert it.facts[1] == "engine/sglang-30000/max_running_requests"
    assert told(served(asked, {**arguments, "--dp-size": ("3",)}, max_running_requests=255)) == []


def test_slots_of_llama_cpp_that_have_less_context_than_was_asked_for() -> None:
    asked = {"-c": ("100000",), "-np": ("2",)}
    it = the(served(asked, {"--parallel": ("2",)}, context_length=512, max_running_requests=2))
    assert it.says.endswith("was started with -c 100000, and serves with 512 for each of 2 slots.")
    assert told(served({"-c": ("1000",)}, {}, context_length=512, max_running_requests=2)) == []


def test_a_server_that_did_not_answer_shows_none() -> None:
    assert told(served({"--max-num-seqs": ("256",)}, Gap("denied"))) == []
