"""One thing changed between two runs of one command: it comes first, and nothing else is a rival.

Most kinds of it are left to `--all`: of each tests/probes/test_process_one_change.py shows the same without a run.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from probes.kit.paths import parse_glob, parse_path
from tests.e2e.conftest import Cli
from tests.turned import kept, standing, turning

LONG_ENOUGH = ("sleep", "0.4")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change this")


def the_suspect(diff: dict[str, Any]) -> str:
    """The one suspect's fact; fails where there is none or a rival."""
    suspects = diff["suspects"]
    assert len(suspects) == 1, [suspect["facts"] for suspect in suspects]
    fact: str = suspects[0]["facts"][0]
    return fact


def is_about(fact: str, pattern: str) -> bool:
    return fact == pattern or parse_glob(pattern).matches(parse_path(fact.replace("*", "%2A")))


@contextmanager
def written(path: Path, value: str) -> Iterator[None]:
    """A kernel setting, put back afterwards."""
    kept = path.read_text()
    if "[" in kept:
        kept = kept.partition("[")[2].partition("]")[0]
    try:
        path.write_text(value)
        yield
    finally:
        path.write_text(kept)


@pytest.mark.parametrize(
    "command",
    [("true",), *(pytest.param(one, marks=pytest.mark.long) for one in (LONG_ENOUGH, ("env", "X=1", "true")))],
    ids=" ".join,
)
def test_an_environment_variable(fingerprint: Cli, command: tuple[str, ...]) -> None:
    fingerprint("run", "--name", "a", "--", *command, env={"OMP_NUM_THREADS": "1"})
    fingerprint("run", "--name", "b", "--", *command, env={"OMP_NUM_THREADS": "8"})
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "process/main/env/OMP_NUM_THREADS"
    assert (diff["suspects"][0]["before"], diff["suspects"][0]["after"]) == ("1", "8")


@pytest.mark.long
def test_a_private_environment_variable_is_named_and_its_value_kept_back(fingerprint: Cli) -> None:
    fingerprint("run", "--name", "a", "--", *LONG_ENOUGH, env={"MY_SERVICE_PASSWORD": "hunter2-first"})
    fingerprint("run", "--name", "b", "--", *LONG_ENOUGH, env={"MY_SERVICE_PASSWORD": "hunter2-second"})
    text = fingerprint("diff", "a", "b", status=1).stdout
    assert the_suspect(fingerprint.diff("a", "b")) == "process/main/env/MY_SERVICE_PASSWORD"
    assert "hunter2" not in text
    assert b"hunter2" not in (fingerprint.home / "store.db").read_bytes()


@pytest.mark.parametrize(
    "command", [pytest.param(LONG_ENOUGH, marks=pytest.mark.long), ("true",)], ids=["long enough", "gone at once"]
)
def test_affinity(fingerprint: Cli, command: tuple[str, ...]) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("affinity needs two CPUs")
    fingerprint("run", "--name", "a", "--", *command)
    fingerprint("run", "--name", "b", "--", *command, before=("taskset", "-c", "0"))
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "process/main/affinity"


@pytest.mark.long
def test_nice(fingerprint: Cli) -> None:
    fingerprint("run", "--name", "a", "--", *LONG_ENOUGH)
    fingerprint("run", "--name", "b", "--", *LONG_ENOUGH, before=("nice", "-n", "5"))
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "process/main/nice"


@pytest.mark.long
def test_a_ulimit(fingerprint: Cli) -> None:
    fingerprint("run", "--name", "a", "--", *LONG_ENOUGH)
    fingerprint("run", "--name", "b", "--", *LONG_ENOUGH, before=("sh", "-c", 'ulimit -n 512; exec "$@"', "sh"))
    assert is_about(the_suspect(fingerprint.diff("a", "b", status=1)), "process/main/limits/*")


@pytest.mark.long
def test_the_program(fingerprint: Cli) -> None:
    program = fingerprint.home / "server"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    fingerprint("run", "--name", "a", "--", str(program), "0.4")
    with program.open("ab") as file:
        file.write(b"patched")  # an ELF file runs with a tail
    fingerprint("run", "--name", "b", "--", str(program), "0.4")
    assert the_suspect(fingerprint.diff("a", "b", status=1)).endswith("sha256")


def test_a_script_is_a_program_too(fingerprint: Cli) -> None:
    script = fingerprint.home / "serve.py"
    script.write_text("import time; time.sleep(0.4)\n")
    fingerprint("run", "--name", "a", "--", sys.executable, str(script))
    script.write_text("import time; time.sleep(0.4)  # patched\n")
    fingerprint("run", "--name", "b", "--", sys.executable, str(script))
    assert the_suspect(fingerprint.diff("a", "b", status=1)).endswith("sha256")


def git(tree: Path, *args: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *args], cwd=tree, check=True, capture_output=True)


@pytest.mark.parametrize("touched", [pytest.param("serve.py", marks=pytest.mark.long), "library.py"])
def test_a_git_commit(fingerprint: Cli, touched: str) -> None:
    tree = fingerprint.home / "tree"
    tree.mkdir()
    (tree / "serve.py").write_text("import time; time.sleep(0.4)\n")
    (tree / "library.py").write_text("")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    fingerprint("run", "--name", "a", "--", sys.executable, "serve.py", cwd=tree)
    (tree / touched).write_text("import time; time.sleep(0.4)  # changed\n")
    git(tree, "commit", "-q", "-a", "-m", "second")
    fingerprint("run", "--name", "b", "--", sys.executable, "serve.py", cwd=tree)
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "process/main/git/commit"


def test_a_git_commit_where_the_command_is_gone_at_once(fingerprint: Cli) -> None:
    tree = committed(fingerprint)
    fingerprint("run", "--name", "a", "--", "true", cwd=tree)
    git(tree, "commit", "-q", "--allow-empty", "-m", "second")
    fingerprint("run", "--name", "b", "--", "true", cwd=tree)
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "process/main/git/commit"


def committed(fingerprint: Cli, python: str = sys.executable) -> Path:
    """A tree with one commit of `serve.py` and `bench.sh`, which starts it."""
    tree = fingerprint.home / "tree"
    tree.mkdir()
    (tree / "serve.py").write_text("import time; time.sleep(1.2)\n")
    (tree / "bench.sh").write_text(f"{python} serve.py --threads $OMP_NUM_THREADS | cat\n")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    return tree


@pytest.mark.long
@pytest.mark.parametrize("uncommitted", [pytest.param(False, id="git/commit"), pytest.param(True, id="git/dirty")])
def test_an_edit_of_what_a_script_starts(fingerprint: Cli, uncommitted: bool) -> None:
    tree = committed(fingerprint)
    fingerprint("run", "--name", "a", "--", "bash", "bench.sh", cwd=tree)
    (tree / "serve.py").write_text("import time; time.sleep(1.2)  # changed\n")
    if not uncommitted:
        git(tree, "commit", "-q", "-a", "-m", "second")
    fingerprint("run", "--name", "b", "--", "bash", "bench.sh", cwd=tree)
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == f"process/main/git/{'dirty' if uncommitted else 'commit'}"
    assert "process/main.python.1/program/sha256" in diff["suspects"][0]["consequences"]


@pytest.mark.long
def test_a_variable_that_a_script_hands_on_as_an_argument(fingerprint: Cli) -> None:
    tree = committed(fingerprint)
    fingerprint("run", "--name", "a", "--", "bash", "bench.sh", cwd=tree, env={"OMP_NUM_THREADS": "1"})
    fingerprint("run", "--name", "b", "--", "bash", "bench.sh", cwd=tree, env={"OMP_NUM_THREADS": "8"})
    diff = fingerprint.diff("a", "b", status=1)
    assert is_about(the_suspect(diff), "process/*/env/OMP_NUM_THREADS")
    assert "process/main.python.1/flags/--threads" in diff["suspects"][0]["consequences"]


@pytest.mark.long
def test_the_interpreter_that_a_script_finds_in_path(fingerprint: Cli) -> None:
    tree = committed(fingerprint, "python3")
    for name in ("a", "b"):
        found = fingerprint.home / name / "bin" / "python3"
        found.parent.mkdir(parents=True)
        found.symlink_to(sys.executable)
        (found.parent.parent / "pyvenv.cfg").write_text("version = 3\n")
        path = f"{found.parent}:{os.environ['PATH']}"
        fingerprint("run", "--name", name, "--", "bash", "bench.sh", cwd=tree, env={"PATH": path})
    diff = fingerprint.diff("a", "b", status=1)
    assert is_about(the_suspect(diff), "process/*/activation/PATH")
    assert "process/main.python.1/interpreter/environment" in diff["suspects"][0]["consequences"]


@pytest.mark.long
def test_the_interpreter(fingerprint: Cli) -> None:
    script = fingerprint.home / "serve"
    interpreter = fingerprint.home / "interpreter"
    script.write_text(f"#!{interpreter}\nsleep 0.4\n")
    script.chmod(0o755)
    interpreter.symlink_to(shutil.which("dash") or "/bin/sh")
    fingerprint("run", "--name", "a", "--", str(script))
    interpreter.unlink()
    interpreter.symlink_to(shutil.which("bash") or "/bin/bash")
    fingerprint("run", "--name", "b", "--", str(script))
    assert "interpreter" in the_suspect(fingerprint.diff("a", "b", status=1))


@pytest.mark.root
@needs_root
def test_thp_mode(fingerprint: Cli) -> None:
    mode = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    with turning(), written(mode, "always"):
        fingerprint("run", "--name", "a", "--", *LONG_ENOUGH)
        mode.write_text("never")
        fingerprint("run", "--name", "b", "--", *LONG_ENOUGH)
    assert the_suspect(fingerprint.diff("a", "b", status=1)) == "memory/transparent_hugepage/enabled"


@pytest.mark.root
@needs_root
@pytest.mark.parametrize(
    "name",
    [
        "vm/swappiness",
        pytest.param("vm/dirty_bytes", marks=pytest.mark.long),
        pytest.param("kernel/sched_autogroup_enabled", marks=pytest.mark.long),
    ],
)
def test_a_sysctl(fingerprint: Cli, name: str) -> None:
    path = Path("/proc/sys") / name
    if not path.exists():
        pytest.skip(f"this kernel has no {name}")
    changed = str(int(path.read_text()) ^ 1) if name.startswith("kernel") else str(int(path.read_text()) + 8192 * 16)
    changed = "33" if name == "vm/swappiness" else changed
    with turning(), kept(str(path), "/proc/sys/vm/dirty_ratio"):
        fingerprint("run", "--name", "a", "--", *LONG_ENOUGH)
        path.write_text(changed)
        fingerprint("run", "--name", "b", "--", *LONG_ENOUGH)
    assert the_suspect(fingerprint.diff("a", "b", status=1)).endswith(name.rpartition("/")[2])


@contextmanager
def cpu_cgroup() -> Iterator[tuple[Path, str]]:
    """A cgroup with a CPU controller, and the file of its quota, v1 or v2."""
    for parent, quota in ((Path("/sys/fs/cgroup/cpu"), "cpu.cfs_quota_us"), (Path("/sys/fs/cgroup"), "cpu.max")):
        group = parent / f"fingerprint-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / quota).exists():
            break
        group.rmdir()
    else:
        pytest.skip("no cgroup with a CPU controller can be made here")
    try:
        yield group, quota
    finally:
        group.rmdir()


@pytest.mark.long
@pytest.mark.root
@needs_root
def test_a_cgroup_cpu_quota(fingerprint: Cli) -> None:
    with standing(), cpu_cgroup() as (group, quota):
        inside = ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
        fingerprint("run", "--name", "a", "--", *LONG_ENOUGH, before=inside)
        (group / quota).write_text("50000")
        fingerprint("run", "--name", "b", "--", *LONG_ENOUGH, before=inside)
        assert is_about(the_suspect(fingerprint.diff("a", "b", status=1)), "process/main/cgroup/cpu_max")
