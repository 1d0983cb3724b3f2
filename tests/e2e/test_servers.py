"""Runs of servers that run already: what they are recorded as, how they end, and one thing changed between two."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fingerprint.cli.serving import Duration
from fingerprint.runs.run import fold
from fingerprint.store import Store, StoreError
from tests.e2e.conftest import Cli
from tests.e2e.test_one_change import the_suspect
from tests.standin import Engine, StandIn
from tests.waiting import until

needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs to be moved between")
AREAS = ("container", "mapped", "model", "nccl", "process")
PARTS = {
    "sglang": ("sglang-{}.tp0", "sglang-{}.tp1", "sglang-{}.detokenizer"),
    "vllm": ("vllm-{}.engine-core", "vllm-{}.tp0", "vllm-{}.tp1"),
    "llama.cpp": (),
}


def parts(server: StandIn) -> tuple[str, ...]:
    return tuple(part.format(server.port) for part in PARTS[server.engine])


def read(fingerprint: Cli, name: str) -> set[tuple[str, str]]:
    """The sections of processes that the run has so far, by area and target. Not asked for all the time: the sampler
    needs a CPU, too."""
    time.sleep(0.1)
    try:
        with Store.open(Path(fingerprint.env["FINGERPRINT_STORE"]), readonly=True) as store:
            ids = [row.id for row in store.runs(name=name)]
            return set(fold(ids[-1], store.records(ids[-1])).processes) if ids else set()
    except StoreError:
        return set()


def wait_for(fingerprint: Cli, name: str, targets: Sequence[str]) -> None:
    """Until all areas of these processes are recorded."""
    wanted = {(area, target) for area in AREAS for target in targets}
    until(lambda: wanted <= read(fingerprint, name), 40)


def shown(fingerprint: Cli, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(fingerprint("show", name, "--format", "json").stdout)
    return answer


def targets_of(run: dict[str, Any]) -> set[str]:
    """Whose process was read."""
    return {section.partition("/")[2] for section in run["sections"] if section.startswith("process/")}


@contextmanager
def begun(fingerprint: Cli, name: str, *words: str) -> Iterator[None]:
    """A run in the background, over when the context is left."""
    fingerprint("begin", "--name", name, *words)
    try:
        yield
    finally:
        fingerprint("end", name, status=None)


def record(fingerprint: Cli, name: str, server: StandIn, targets: Sequence[str], **env: str) -> None:
    """A run of the server, started for it, until all these processes are read."""
    with server.serving(env) as launcher, begun(fingerprint, name, "--pid", str(launcher.pid)):
        wait_for(fingerprint, name, ("main", *targets))


@contextmanager
def attached(fingerprint: Cli, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """`attach` in the foreground of its own."""
    child = subprocess.Popen(
        fingerprint.argv("attach", *words), env=fingerprint.env, cwd=fingerprint.home, stderr=subprocess.PIPE, text=True
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.parametrize(
    "engine", ["sglang", *(pytest.param(one, marks=pytest.mark.long) for one in ("vllm", "llama.cpp"))]
)
def test_a_server_is_main_and_what_it_is_made_of_goes_by_its_part(fingerprint: Cli, engine: Engine) -> None:
    server = StandIn(fingerprint.home, engine, size=2)
    with server.serving() as launcher, begun(fingerprint, "a", "--pid", str(launcher.pid)):
        wait_for(fingerprint, "a", ("main", *parts(server)))
    run = shown(fingerprint, "a")
    assert targets_of(run) == {"main", *parts(server)}
    assert run["sections"]["process/main"]["facts"]["flags"]["items"]["--port"] == [str(server.port)]
    [told] = run["attached"]
    assert (told["target"], told["pid"], told["engine"], told["port"]) == ("main", launcher.pid, engine, server.port)
    assert run["detached"]
    assert set(run["snapshots"]) == {"before", "after"}


def test_a_server_is_found_by_its_port_and_gives_its_run_a_name(fingerprint: Cli) -> None:
    server = StandIn(fingerprint.home, "llama.cpp")
    with server.serving():
        told = fingerprint("attach", "--port", str(server.port), "--for", "0.2s").stderr
    assert f"recorded llama-cpp-{server.port} (see: fingerprint show llama-cpp-{server.port})" in told
    assert shown(fingerprint, f"llama-cpp-{server.port}")["ended"] == "server ran on"


@pytest.mark.long
def test_all_servers_of_known_engines_are_one_run(fingerprint: Cli) -> None:
    one, other = (StandIn(fingerprint.home / engine, engine) for engine in ("vllm", "llama.cpp"))
    with one.serving(), other.serving():
        fingerprint("attach", "--auto", "--name", "a", "--for", "0.2s")
    found = {told["port"] for told in shown(fingerprint, "a")["attached"]}
    assert found >= {one.port, other.port}


@pytest.mark.long
def test_several_servers_go_by_their_own_names_and_each_is_sampled(fingerprint: Cli) -> None:
    one, other = (StandIn(fingerprint.home / engine, engine, size=2) for engine in ("sglang", "vllm"))
    named = f"sglang-{one.port}", f"vllm-{other.port}"
    with one.serving(), other.serving():
        ports = ("--port", str(one.port), "--port", str(other.port))
        with begun(fingerprint, "a", *ports):
            wait_for(fingerprint, "a", (*named, *parts(one), *parts(other)))
    run = shown(fingerprint, "a")
    assert targets_of(run) == {*named, *parts(one), *parts(other)}
    assert {f"usage/{name}/rss" for name in named} <= set(run["samples"])


@pytest.mark.parametrize(
    "shell",
    [
        pytest.param((), id="itself"),
        pytest.param(("sh", "-c", '"$@"; :', "sh"), id="below a shell", marks=pytest.mark.long),
    ],
)
def test_a_run_that_starts_a_server_names_what_it_is_made_of(fingerprint: Cli, shell: tuple[str, ...]) -> None:
    server = StandIn(fingerprint.home, "vllm", size=2)
    below = (f"vllm-{server.port}",) if shell else ()

    def stop() -> None:
        wait_for(fingerprint, "a", ("main", *below, *parts(server)))
        server.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    fingerprint("run", "--name", "a", "--", *shell, *server.command)
    stopping.join()
    assert targets_of(shown(fingerprint, "a")) == {"main", *below, *parts(server)}


@pytest.mark.long
def test_a_run_of_a_start_script_compares_with_one_of_the_server_itself(fingerprint: Cli) -> None:
    server = StandIn(fingerprint.home, "sglang", size=2)
    launcher = f"sglang-{server.port}"

    def stop() -> None:
        wait_for(fingerprint, "a", ("main", launcher, *parts(server)))
        server.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    command = ("sh", "-c", '"$@"; :', "sh", *server.command)
    fingerprint("run", "--name", "a", "--", *command, env={"NCCL_ALGO": "Ring"})
    stopping.join()
    record(fingerprint, "b", server, parts(server), NCCL_ALGO="Tree")
    diff = fingerprint.diff("a", "b", status=1)
    assert {"a": launcher, "b": "main", "how": "same engine, below a start script"} in diff["pairing"]
    [suspect] = [it for it in diff["suspects"] if it["facts"][0].endswith("/NCCL_ALGO")]
    assert (suspect["facts"], suspect["on"]) == (["process/*/env/NCCL_ALGO"], "4/4")
    assert [it["fact"] for it in diff["changes"] if "/program/" in it["fact"] or "/flags/" in it["fact"]] == []


@pytest.mark.long
def test_a_server_of_one_process_that_a_script_starts_compares_with_one_that_is_attached_to(fingerprint: Cli) -> None:
    server = StandIn(fingerprint.home, "llama.cpp")
    launcher = f"llama-cpp-{server.port}"

    def stop() -> None:
        wait_for(fingerprint, "a", ("main", launcher))
        server.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    fingerprint("run", "--name", "a", "--", "sh", "-c", '"$@"; :', "sh", *server.command)
    stopping.join()
    record(fingerprint, "b", server, (), GGML_NUMA="distribute")
    diff = fingerprint.diff("a", "b", status=1)
    assert {"a": launcher, "b": "main", "how": "same engine, below a start script"} in diff["pairing"]
    told = [it["fact"] for it in diff["changes"]]
    assert "process/main/env/GGML_NUMA" in told
    assert [fact for fact in told if "/program/" in fact or "/flags/" in fact or "/operands" in fact] == []


@pytest.mark.long
@needs_two_cpus
def test_a_server_is_read_again_once_it_serves(fingerprint: Cli) -> None:
    """Between one second and five nothing else makes it be."""
    server, cpu = StandIn(fingerprint.home, "llama.cpp"), min(os.sched_getaffinity(0))
    server.differ(launcher={"loads": 1.5, "affinity": [cpu]})

    def stop() -> None:
        until(server.serves)
        time.sleep(1.5)  # it is looked for each second
        server.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    fingerprint("run", "--name", "a", "--", *server.command)
    stopping.join()
    assert shown(fingerprint, "a")["sections"]["process/main"]["facts"]["affinity"] == str(cpu)


@pytest.mark.long
def test_a_worker_that_gets_its_title_late_is_one_process(fingerprint: Cli) -> None:
    server = StandIn(fingerprint.home, "sglang")
    server.differ(sglang__scheduler_TP0={"titled_after": 1.5})
    worker = f"sglang-{server.port}.tp0"
    with server.serving() as launcher, begun(fingerprint, "a", "--pid", str(launcher.pid)):
        wait_for(fingerprint, "a", ("main.python.1",))
        wait_for(fingerprint, "a", (worker,))
    assert targets_of(shown(fingerprint, "a")) == {"main", worker, f"sglang-{server.port}.detokenizer"}


@pytest.mark.parametrize(
    ("number", "state"),
    [
        pytest.param(signal.SIGINT, "closed", id="Ctrl-C"),
        pytest.param(signal.SIGTERM, "closed", id="kill", marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, "interrupted", id="a terminal that went away"),
    ],
)
def test_a_signal_ends_the_run_and_not_the_server(fingerprint: Cli, number: signal.Signals, state: str) -> None:
    server = StandIn(fingerprint.home, "llama.cpp")
    with server.serving() as launcher:
        with attached(fingerprint, "--pid", str(launcher.pid), "--name", "a") as child:
            wait_for(fingerprint, "a", ("main",))
            child.send_signal(number)
            assert child.wait(30) == 0
        assert launcher.poll() is None
    run = shown(fingerprint, "a")
    assert (run["state"], set(run["snapshots"])) == (state, {"before", "after"})
    assert run["ended"].startswith("server ran on")


def test_a_server_that_ends_ends_the_run(fingerprint: Cli) -> None:
    server = StandIn(fingerprint.home, "sglang")
    with server.serving() as launcher, attached(fingerprint, "--pid", str(launcher.pid), "--name", "a") as child:
        wait_for(fingerprint, "a", ("main",))
        server.stop()
        launcher.wait(10)
        assert child.wait(30) == 0
        assert child.stderr is not None
        assert "the server ended; recorded a" in child.stderr.read()
    assert shown(fingerprint, "a")["ended"] == "server ended"


def test_metrics_and_notes_are_taken_while_a_run_goes_on(fingerprint: Cli) -> None:
    server = StandIn(fingerprint.home, "llama.cpp")
    with server.serving() as launcher:
        fingerprint("begin", "--pid", str(launcher.pid), "--name", "a")
        fingerprint("metric", "a", "ttft_ms", "4.5")
        fingerprint("note", "a", "cache cold")
        assert shown(fingerprint, "a")["state"] == "open"
        assert "recorded a" in fingerprint("end").stderr
    run = shown(fingerprint, "a")
    assert (run["state"], run["metrics"]["ttft_ms"]["samples"], run["notes"]) == ("closed", [4.5], ["cache cold"])


def test_a_sampler_that_is_killed_leaves_an_interrupted_run(fingerprint: Cli) -> None:
    server = StandIn(fingerprint.home, "llama.cpp")
    with server.serving() as launcher:
        fingerprint("begin", "--pid", str(launcher.pid), "--name", "a")
        wait_for(fingerprint, "a", ("main",))
        with Store.open(Path(fingerprint.env["FINGERPRINT_STORE"]), readonly=True) as store:
            sampler = store.runs(name="a")[0].opener.pid
        os.kill(sampler, signal.SIGKILL)
        until(lambda: shown(fingerprint, "a")["state"] == "interrupted")
        told = fingerprint("end", "a", status=2).stderr
    assert f"a is interrupted: its sampler, process {sampler}, is gone; what it had is kept" in told
    assert targets_of(shown(fingerprint, "a")) == {"main"}


def test_what_cannot_be_attached_to_or_ended_is_said_in_one_sentence(fingerprint: Cli) -> None:
    def told(*words: str) -> str:
        lines = fingerprint(*words, status=2).stderr.splitlines()
        assert len(lines) == 1
        return lines[0].removeprefix("fingerprint: ")

    free = StandIn(fingerprint.home, "vllm").port
    assert told("attach") == (
        "say which server is meant: --pid PID, --port PORT, or --auto for every one that runs here"
    )
    assert told("attach", "--auto", "--pid", "1").startswith("say which server is meant")
    assert told("begin", "--pid", "99999999").startswith("there is no process 99999999")
    assert told("attach", "--port", str(free)).startswith(f"nothing listens on port {free} here")
    assert "is no duration: write e.g. 90s" in told("attach", "--auto", "--for", "soon")
    assert "cannot name a run" in told("attach", "--pid", str(os.getpid()), "--name", "a b")
    fingerprint("run", "--name", "a", "--", "true")
    assert told("end") == "no run goes on that `begin` or `attach` began"
    assert told("end", "a") == "a is over: it exited 0"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("0.5s", 0.5), ("10m", 600), ("1h30m", 5400), ("1h1m1s", 3661)]
)
def test_durations_are_seconds_or_have_units(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


def test_one_that_goes_on_beside_another_has_to_be_named(fingerprint: Cli) -> None:
    with ExitStack() as both:
        for name in ("a", "b"):
            both.enter_context(begun(fingerprint, name, "--pid", str(os.getpid())))
        assert "a#1 and b#1 go on: say which to end" in fingerprint("end", status=2).stderr


@pytest.fixture
def server(fingerprint: Cli) -> StandIn:
    return StandIn(fingerprint.home, "sglang", size=6)


def ranks(server: StandIn) -> tuple[str, ...]:
    return tuple(f"sglang-{server.port}.tp{rank}" for rank in range(server.size))


def test_a_variable_that_differs_on_one_rank(fingerprint: Cli, server: StandIn) -> None:
    record(fingerprint, "a", server, ranks(server), OMP_NUM_THREADS="8")
    server.differ(sglang__scheduler_TP5={"env": {"OMP_NUM_THREADS": "1"}})
    record(fingerprint, "b", server, ranks(server), OMP_NUM_THREADS="8")
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == f"process/sglang-{server.port}.tp5/env/OMP_NUM_THREADS"
    assert (diff["suspects"][0]["before"], diff["suspects"][0]["after"]) == ("8", "1")


@pytest.mark.long
def test_a_variable_that_the_launcher_has_and_one_rank_lacks(fingerprint: Cli, server: StandIn) -> None:
    record(fingerprint, "a", server, ranks(server), NCCL_P2P_LEVEL="SYS")
    server.differ(sglang__scheduler_TP3={"unset": ["NCCL_P2P_LEVEL"]})
    record(fingerprint, "b", server, ranks(server), NCCL_P2P_LEVEL="SYS")
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == f"process/sglang-{server.port}.tp3/env/NCCL_P2P_LEVEL"
    assert diff["suspects"][0]["after"] == {"gap": "absent"}


@pytest.mark.long
@needs_two_cpus
def test_affinity_that_moved_on_one_rank(fingerprint: Cli, server: StandIn) -> None:
    record(fingerprint, "a", server, ranks(server))
    server.differ(sglang__scheduler_TP2={"affinity": [min(os.sched_getaffinity(0))]})
    record(fingerprint, "b", server, ranks(server))
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == f"process/sglang-{server.port}.tp2/affinity"


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel places no memory")
@pytest.mark.long
def test_memory_that_is_bound_on_one_rank(fingerprint: Cli, server: StandIn) -> None:
    record(fingerprint, "a", server, ranks(server))
    server.differ(sglang__scheduler_TP4={"bound": True})
    record(fingerprint, "b", server, ranks(server))
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == f"mapped/sglang-{server.port}.tp4/memory/policies"
    assert diff["suspects"][0]["after"] == ["bind:0"]


@pytest.mark.long
def test_a_variable_of_the_whole_server_is_one_change(fingerprint: Cli, server: StandIn) -> None:
    record(fingerprint, "a", server, ranks(server))
    record(fingerprint, "b", server, ranks(server), NCCL_ALGO="Ring")
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "process/*/env/NCCL_ALGO"


@pytest.mark.long
def test_a_server_on_another_port_is_compared_part_by_part(fingerprint: Cli, server: StandIn) -> None:
    record(fingerprint, "a", server, ranks(server))
    other = StandIn(fingerprint.home, "sglang", size=6)
    other.differ(sglang__scheduler_TP5={"env": {"OMP_NUM_THREADS": "1"}})
    record(fingerprint, "b", other, ranks(other))
    diff = fingerprint.diff("a", "b", status=1)
    pair = {"a": f"sglang-{server.port}", "b": f"sglang-{other.port}", "how": "same engine, another port"}
    assert pair in diff["pairing"]
    changed = {change["fact"] for change in diff["changes"] if not change["follows"]}
    assert {fact for fact in changed if fact.startswith("process/")} == {
        "process/main/flags/--port",
        f"process/sglang-{other.port}.tp5/env/OMP_NUM_THREADS",
    }
