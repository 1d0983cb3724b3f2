"""Who belongs to a run's tree, and by which name."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.kit.facts import Redacted, Seen
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.process import tree as tree_of
from tests.probes.children import running
from tests.standin import StandIn
from tests.waiting import until

NEST = "import subprocess, sys, time; [subprocess.Popen(['sleep', '60']) for _ in range(2)]; time.sleep(60)"


@pytest.fixture
def nest() -> Iterator[int]:
    """A shell with a Python below it and two sleeps below that."""
    child = subprocess.Popen(["sh", "-c", f'"{sys.executable}" -c "{NEST}"; :'], start_new_session=True)
    try:
        until(lambda: len(tree(Host(), child.pid)) == 4)
        yield child.pid
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def tree(host: Host, pid: int) -> tuple[Target, ...]:
    return tree_of(host, Target("main", pid))


def names(targets: tuple[Target, ...]) -> list[str]:
    return [target.name for target in targets]


def test_the_root_is_main_and_descendants_are_numbered_per_program_in_start_order(nest: int) -> None:
    until(lambda: names(tree(Host(), nest)) == ["main", "main.python.1", "main.sleep.1", "main.sleep.2"])
    assert tree(Host(), nest)[0] == Target("main", nest)


def test_a_process_keeps_its_name_when_an_elder_ends_and_no_number_is_given_twice(nest: int) -> None:
    host = Host()
    until(lambda: names(tree(host, nest))[2:] == ["main.sleep.1", "main.sleep.2"])
    known = tree(host, nest)
    os.kill(known[2].pid, signal.SIGKILL)
    until(lambda: len(tree(host, nest)) == 3)
    assert tree(host, nest)[2] == known[3]
    assert names(tree(Host(), nest)) == ["main", "main.python.1", "main.sleep.1"]


def test_ranks_that_mpi_starts_beside_a_server_are_its_own(tmp_path: Path) -> None:
    """What mpirun starts, as trtllm-llmapi-launch does."""
    modules = tmp_path / "tensorrt_llm/llmapi"
    modules.mkdir(parents=True)
    for file in (tmp_path / "trtllm-serve", modules / "mgmn_leader_node.py", modules / "mgmn_worker_node.py"):
        file.write_text("import time; time.sleep(60)")
    below = f"exec {sys.executable} -m tensorrt_llm.llmapi.mgmn"
    (tmp_path / "rank0").write_text(
        f"env -u OMPI_COMM_WORLD_RANK {sys.executable} trtllm-serve /m --port 8008 & {below}_leader_node"
    )
    (tmp_path / "rank1").write_text(f"{below}_worker_node")
    (tmp_path / "mpirun").write_text("for rank in 0 1; do OMPI_COMM_WORLD_RANK=$rank sh rank$rank & done; wait")
    child = subprocess.Popen(["sh", "mpirun"], cwd=tmp_path, start_new_session=True)
    server = "tensorrt-llm-8008"
    try:
        until(lambda: set(names(tree(Host(), child.pid))) == {"main", server, f"{server}.rank0", f"{server}.rank1"})
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_a_newcomer_is_seen_by_a_host_that_looked_before() -> None:
    host = Host()
    with running(("sleep", "60")) as one:
        assert names(tree(host, os.getpid())).count("main.sleep.1") == 1
        with running(("sleep", "60")) as two:
            assert {one, two} <= {target.pid for target in tree(host, os.getpid())}
        assert two not in {target.pid for target in tree(host, os.getpid())}


def test_a_child_of_a_thread_belongs_to_the_tree() -> None:
    code = (
        "import subprocess, threading, time\n"
        "def work():\n    subprocess.Popen(['sleep', '60']); time.sleep(60)\n"
        "threading.Thread(target=work).start()"
    )
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        until(lambda: names(tree(Host(), child.pid)) == ["main", "main.sleep.1"])
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_an_interpreter_keeps_its_name_over_versions_and_other_programs_their_digits(tmp_path: Path) -> None:
    for name in ("python3.99", "cc1"):
        shutil.copy(shutil.which("sleep") or "/bin/sleep", tmp_path / name)
        with running((str(tmp_path / name), "60")) as pid:
            named = {target.pid: target.name for target in tree(Host(), os.getpid())}
        assert named[pid] == {"python3.99": "main.python.1", "cc1": "main.cc1.1"}[name]


def test_nobody_is_left_of_a_process_that_ended() -> None:
    child = subprocess.Popen(["true"])
    until(lambda: tree(Host(), child.pid) == ())  # a zombie is no member
    child.wait()
    assert tree(Host(), child.pid) == ()


def test_a_server_and_its_parts_go_by_what_their_engine_calls_them(tmp_path: Path) -> None:
    server = StandIn(tmp_path, "vllm", size=2)
    name = f"vllm-{server.port}"
    parts = [f"{name}.engine-core", f"{name}.tp0", f"{name}.tp1"]
    with server.serving() as launcher:
        assert sorted(names(tree(Host(), launcher.pid))) == ["main", *parts]
        below = {target.pid: target.name for target in tree(Host(), os.getpid())}
        assert below[launcher.pid] == name
        assert set(parts) <= set(below.values())
        called = names(tree_of(Host(), Target("replica", launcher.pid)))
        assert sorted(called) == ["replica", "replica.engine-core", "replica.tp0", "replica.tp1"]


def test_a_part_that_gets_its_title_later_goes_by_its_number_until_then(tmp_path: Path) -> None:
    server, host = StandIn(tmp_path, "sglang"), Host()
    server.differ(sglang__scheduler_TP0={"titled_after": 1.5})
    rank = f"sglang-{server.port}.tp0"
    with server.serving() as launcher:
        assert "main.python.1" in names(tree(host, launcher.pid))
        until(lambda: rank in names(tree(host, launcher.pid)))
        assert "main.python.1" not in names(tree(host, launcher.pid))


def test_arguments_are_not_read_again_of_who_is_known_nor_for_ever_of_who_tells_nothing(tmp_path: Path) -> None:
    class Counting(Host):
        """Which counts for whom it was asked."""

        asked: list[int] = []

        def arguments(self, pid: int) -> Seen[tuple[str | Redacted, ...]]:
            self.asked.append(pid)
            return super().arguments(pid)

    server, host = StandIn(tmp_path, "sglang"), Counting()
    rank = f"sglang-{server.port}.tp0"
    silent = (sys.executable, "-c", "import time; time.sleep(60)")
    with server.serving() as launcher, running(silent) as unknown:
        for _ in range(20):
            named = {target.name: target.pid for target in tree(host, os.getpid())}
        assert host.asked.count(launcher.pid) == host.asked.count(named[rank]) == 1
        assert host.asked.count(unknown) == 10
