"""Which file is the program, which the interpreter, and what is left of the arguments."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from fingerprint.sections import leaves
from probes.kit.facts import NOT_READ, Gap, Map, Redacted
from probes.kit.filepaths import found, real
from probes.kit.host import Host
from probes.kit.interpreters import module_in, named, script_at
from probes.kit.redact import Redactor
from probes.process import Process, given
from probes.process.variables import in_clear
from tests.probes.children import KEY, changes, read, running
from tests.probes.environments import titled
from tests.probes.test_process_git import git
from tests.waiting import until


@pytest.fixture
def host() -> Host:
    return Host(redactor=Redactor(KEY))


@pytest.mark.parametrize(
    ("executable", "family", "version"),
    [
        ("/usr/bin/python3.11", "python", "3.11"),
        ("python", "python", ""),
        ("/opt/python3.13t", "python", "3.13"),
        ("pypy3.10", "python", "3.10"),
        ("/bin/dash", "sh", ""),
        ("perl5.36.0", "perl", "5.36.0"),
        ("nodejs", "node", ""),
    ],
)
def test_interpreters_are_known_by_their_file_name(executable: str, family: str, version: str) -> None:
    assert named(executable) == (family, version)


@pytest.mark.parametrize(
    "executable", ["/usr/bin/sleep", "pythonista", "ssh", "python3-config", "shell", "nodemon", ""]
)
def test_other_programs_are_none(executable: str) -> None:
    assert named(executable) is None


@pytest.mark.parametrize(
    ("family", "line", "script"),
    [
        ("python", "python x.py -m y", "x.py"),
        ("python", "python -O -X dev -W ignore x.py", "x.py"),
        ("python", "python -Xdev -Wignore -uB x.py", "x.py"),
        ("python", "python -OOW ignore x.py", "x.py"),
        ("python", "python --check-hash-based-pycs always x.py", "x.py"),
        ("python", "python -m sglang.launch_server --tp 8", None),
        ("python", "python -Om sglang x.py", None),
        ("python", "python -c pass x.py", None),
        ("python", "python - x.py", None),
        ("python", "python", None),
        ("sh", "bash -e -o pipefail x.sh", "x.sh"),
        ("sh", "bash --rcfile f x.sh", "x.sh"),
        ("sh", "sh -ec command x.sh", None),
        ("sh", "sh -- x.sh", "x.sh"),
        ("perl", "perl -I lib -Mstrict -w x.pl", "x.pl"),
        ("perl", "perl -ne print x.txt", None),
        ("node", "node --require hook --max-old-space-size=4096 x.js", "x.js"),
        ("node", "node --eval code x.js", None),
    ],
)
def test_the_script_is_found_behind_the_options(family: str, line: str, script: str | None) -> None:
    argv = line.split()
    at = script_at(family, argv)
    assert (None if at is None else argv[at]) == script


def test_a_redacted_word_in_front_of_the_script_leaves_it_untold() -> None:
    assert script_at("python", ("python", "-W", Redacted("k", "d"), "x.py")) == 3
    assert script_at("python", ("python", Redacted("k", "d"), "x.py")) is None


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("python -m a.b -x", ("a.b", 3)),
        ("python -O -ma.b -x", ("a.b", 3)),
        ("python -Xdev -W ignore -X tracemalloc -m a.b", ("a.b", 8)),
        ("python --check-hash-based-pycs always -um a.b", ("a.b", 5)),
        ("python -m", None),
        ("python x.py -m a", None),
        ("python -- -m a", None),
        ("python -c m", None),
        ("python -Ecm", None),
    ],
)
def test_the_module_of_a_python_command_line(line: str, module: tuple[str, int] | None) -> None:
    assert module_in(line.split()) == module


def test_links_are_followed_part_by_part_and_loops_end(host: Host, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").touch()
    (tmp_path / "to-a").symlink_to("a")
    (tmp_path / "a/to-file").symlink_to("../to-a/b/file")
    assert real(host, f"{tmp_path}/to-a/to-file") == f"{tmp_path}/a/b/file"
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert real(host, f"{tmp_path}/one") == Gap("failed")
    assert real(host, "/bin/sh") == os.path.realpath("/bin/sh")


def test_a_program_is_found_as_execvp_finds_it(host: Host, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("not executable")
    (tmp_path / "bin").mkdir()
    shutil.copy("/bin/sh", tmp_path / "bin/tool")
    assert found(host, "tool", f"{tmp_path}:{tmp_path}/bin", "/") == f"{tmp_path}/bin/tool"
    assert found(host, "./tool", "", str(tmp_path)) == f"{tmp_path}/tool"
    assert found(host, "no-such-tool", "/bin", "/") == Gap("absent")


@pytest.mark.parametrize("places", ["{tmp}", ":{tmp}", ".."])
def test_a_module_is_found_where_python_looks_first(places: str, host: Host, tmp_path: Path) -> None:
    package = tmp_path / "engine/launch"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text("import time; time.sleep(60)\n")
    env = {**os.environ, "PYTHONPATH": places.format(tmp=tmp_path)}
    (tmp_path / "here").mkdir()
    words = (sys.executable, "-m", "engine.launch", "--tp", "8")
    with running(words, env=env, cwd=tmp_path / "here") as pid:
        seen = read(host, pid)
    assert seen.program.path == str(package / "__main__.py")
    assert seen.flags == Map({"-m": ("engine.launch",), "--tp": ("8",)})


def test_a_module_may_lie_in_a_folder_that_is_not_told(host: Host, tmp_path: Path) -> None:
    (tmp_path / "caf\udce9").mkdir()
    (tmp_path / "caf\udce9/engine.py").write_text("import time; time.sleep(60)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "caf\udce9")}
    with running((sys.executable, "-m", "engine"), env=env, cwd="/") as pid:
        seen = read(host, pid)
    assert isinstance(seen.program.path, Gap)
    assert (seen.program.path.code, seen.program.path.detail) == ("not_observable", "PYTHONPATH is no UTF-8")


def test_of_a_folder_that_is_run_the_program_is_its_main_file(host: Host, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("import time; time.sleep(60)\n")
    with running((sys.executable, str(tmp_path), "--tp", "8")) as pid:
        seen = read(host, pid)
    assert seen.program.path == str(tmp_path / "__main__.py")
    assert seen.program.sha256 == hashlib.sha256((tmp_path / "__main__.py").read_bytes()).hexdigest()


def test_of_a_worker_its_title_is_told_and_no_program_or_operands(host: Host) -> None:
    with titled(Path(sys.executable)) as pid:
        seen = read(host, pid)
    assert (seen.argv0, seen.operands, seen.flags) == ("VLLM::Worker_TP0", (), Map({}))
    assert seen.program.path == Gap("not_observable")
    assert seen.interpreter.environment == sys.prefix


def test_of_a_title_that_covers_the_arguments_in_part_the_rest_is_none(host: Host) -> None:
    code = """\
import ctypes, sys, time
begin, end = map(int, open("/proc/self/stat").read().rpartition(")")[2].split()[45:47])  # arg_start, arg_end
place = ctypes.string_at(begin, end - begin).rindex(b"api-key") + 2
ctypes.memmove(begin, b"sglang::scheduler_TP0".ljust(place, b"-") + b"\\0", place + 1)
time.sleep(60)
"""
    with running((sys.executable, "-c", code, "--api-key", "hunter2-secret")) as pid:
        until(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sglang::"))
        seen = read(host, pid)
        assert Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"-key\0hunter2-secret\0")
    assert str(seen.argv0).startswith("sglang::scheduler_TP0")
    assert (seen.operands, seen.flags) == ((), Map({}))


def test_code_in_the_arguments_is_no_script(host: Host) -> None:
    with running((sys.executable, "-c", "import time; time.sleep(60)")) as pid:
        seen = read(host, pid)
    assert seen.program.path == Gap("absent")
    assert seen.interpreter.path == os.path.realpath(sys.executable)
    assert seen.flags == Map({"-c": ("import time; time.sleep(60)",)})


def test_a_program_that_was_replaced_while_it_runs_is_told_by_what_runs(host: Host, tmp_path: Path) -> None:
    program = tmp_path / "server"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    before = host.sha256(str(program))
    with running((str(program), "60")) as pid:
        program.unlink()
        program.write_text("another")
        seen = read(host, pid)
    assert (seen.program.path, seen.program.sha256) == (str(program), before)


def test_a_secret_among_the_arguments_and_in_the_environment_stays_private(host: Host) -> None:
    argv = ("sh", "-c", "sleep 60; :", "serve", "--api-key=hunter2-secret")
    with running(argv, env={**os.environ, "MY_PASSWORD": "hunter2-secret"}) as pid:
        seen = read(host, pid)
    assert "hunter2" not in repr(seen)
    assert isinstance(seen.flags, Map)
    assert seen.flags.items["--api-key"] == (host.redactor.redacted("hunter2-secret"),)


def test_a_process_that_ended_is_said_so(host: Host) -> None:
    child = subprocess.Popen(["true"])
    deadline = time.monotonic() + 10
    while "Z" not in Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2] and time.monotonic() < deadline:
        time.sleep(0.01)
    zombie = read(host, child.pid)
    child.wait()
    gone = read(host, child.pid)
    for seen in (zombie, gone):
        assert (seen.env, seen.flags, seen.operands, seen.program.path, seen.cwd) == (Gap("absent"),) * 5
        assert isinstance(seen.env, Gap)
        assert seen.env.detail == "the process ended"
    assert {leaf.value for leaf in leaves(gone)} <= {Gap("absent"), Gap("unsupported")}


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_a_plain_user_may_not_read_of_another_is_denied(host: Host) -> None:
    with running(("sleep", "60")) as pid:
        seen = as_nobody(lambda: read(host, pid))
    denied = {seen.program.path, seen.program.sha256, seen.interpreter.path, seen.cwd, seen.env, seen.git.commit}
    assert denied == {Gap("denied")}
    assert (seen.flags, seen.operands) == (Map({}), ("60",))
    assert isinstance(seen.affinity, str)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_of_a_script_a_plain_user_is_told_the_arguments_that_root_is_told(host: Host, tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text("import time; time.sleep(60)")
    with running((sys.executable, "-u", str(script), "serve", "/m", "--tp", "8")) as pid:
        plain, root = as_nobody(lambda: read(host, pid)), read(host, pid)
    assert plain.program.path == Gap("denied")
    assert (plain.flags, plain.operands) == (root.flags, root.operands) == (Map({"--tp": ("8",)}), ("serve", "/m"))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("git"), reason="needs git, and root to make a namespace")
def test_program_and_commit_are_those_of_the_processs_own_file_system(host: Host, tmp_path: Path) -> None:
    ours, theirs = (committed(tmp_path / name, f"# {name}\nsleep 60; :\n") for name in ("ours", "theirs"))
    mounting = 'mount --bind "$0" "$1" && cd "$1" && exec sh serve.sh'
    with running(("unshare", "-m", "sh", "-c", mounting, str(tmp_path / "theirs"), str(tmp_path / "ours"))) as pid:
        seen = read(host, pid)
    assert seen.program.path == f"{tmp_path}/ours/serve.sh"
    assert seen.program.sha256 == sha256((tmp_path / "theirs/serve.sh").read_bytes()).hexdigest()
    assert (seen.git.root, seen.git.commit) == (f"{tmp_path}/ours", theirs)
    assert theirs != ours
    assert seen.git.dirty == Gap("not_observable"), "git is not run on what others control"
    assert isinstance(seen.interpreter.sha256, str)  # read through /proc/PID/exe


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root")
def test_the_paths_of_a_process_in_a_chroot_are_those_that_it_knows(host: Host, tmp_path: Path) -> None:
    """The kernel tells them from our root."""
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/serve.py").write_text("another's")
    entering = f"import os, time; os.chroot({str(tmp_path)!r}); os.chdir('/srv'); time.sleep(60)"
    with running((sys.executable, "-c", entering)) as pid:
        until(lambda: Path(f"/proc/{pid}/root").readlink() == tmp_path)
        seen = read(host, pid)
    assert seen.cwd == "/srv"
    assert seen.interpreter.path == str(Path(sys.executable).resolve()), "what lies outside of it has no other name"


def committed(folder: Path, script: str) -> str:
    """The commit of a new tree that holds the script."""
    folder.mkdir()
    (folder / "serve.sh").write_text(script)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD")


def as_nobody(ask: Callable[[], Process]) -> Process:
    """The answer of a forked process that gave up root."""
    out, into = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os.write(into, msgspec.json.encode(ask()))
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as answer:
        section = msgspec.json.decode(answer.read(), type=Process)
    os.waitpid(pid, 0)
    return section


def started_as_given(host: Host, argv: Sequence[str], cwd: Path, env: dict[str, str]) -> tuple[Process, Process]:
    passed = given(host, os.getpid(), argv, env, str(cwd))
    with running(argv, cwd=cwd, env=env) as pid:
        return passed, read(host, pid)


PASSED_ON = ["./script", "sleep 60", "python serve.py 1", "./with-env", "/bin/sh -c :;sleep\t60"]


@pytest.mark.parametrize("line", PASSED_ON)
def test_what_was_given_is_what_the_child_has(host: Host, tmp_path: Path, line: str) -> None:
    (tmp_path / "script").write_text("#!/bin/sh -e\nsleep 60; :\n")
    (tmp_path / "with-env").write_text("#!/usr/bin/env python3\nimport time; time.sleep(60)\n")
    (tmp_path / "serve.py").write_text("import time; time.sleep(60)\n")
    for name in ("script", "with-env"):
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "NOT_UTF8": "caf\udce9"}
    passed, lived = started_as_given(host, line.split(" "), tmp_path, env)
    assert {path: values for path, values in changes(passed, lived).items() if values[0] is not None} == {}
    assert passed.program.sha256 == lived.program.sha256
    assert passed.env == lived.env
    assert passed.affinity == lived.affinity


@pytest.mark.parametrize("line", ["taskset -c 0 sleep 1", "env -i sleep 1", "nice sleep 1", "sudo sleep 1"])
def test_of_a_wrapper_what_it_was_given_is_told_and_nothing_of_the_program(
    host: Host, tmp_path: Path, line: str
) -> None:
    passed = given(host, os.getpid(), line.split(), {"OMP_NUM_THREADS": "3", **os.environ}, str(tmp_path))
    assert (passed.cwd, in_clear(passed.env, "OMP_NUM_THREADS")) == (str(tmp_path), "3")
    assert passed.affinity == read(host, os.getpid()).affinity
    assert (passed.program.path, passed.flags, passed.operands, passed.git.root) == (NOT_READ,) * 4


def test_what_cannot_be_found_is_not_given(host: Host, tmp_path: Path) -> None:
    assert given(host, os.getpid(), ["no-such-program"], dict(os.environ), str(tmp_path)).program.path == NOT_READ
    assert given(host, os.getpid(), [], {}, "/").program.path == NOT_READ
