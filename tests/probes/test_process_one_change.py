"""One thing changed between two starts of one command: exactly one lasting fact leads, whatever follows it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from probes.kit.host import Host
from probes.kit.redact import Redactor
from probes.process import Process
from tests.probes.children import KEY, changes, read, running, suspects

SLEEP = ("sleep", "60")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change this")


@pytest.fixture
def host() -> Host:
    return Host(redactor=Redactor(KEY))


def of(host: Host, argv: tuple[str, ...] = SLEEP, **start: Any) -> Process:
    """Started in a folder of no git tree: that of the tests may be edited meanwhile."""
    with running(argv, **{"cwd": "/", **start}) as pid:
        return read(host, pid)


def test_nothing_changed(host: Host) -> None:
    assert changes(of(host), of(host)) == {}


def test_an_environment_variable(host: Host) -> None:
    a, b = (of(host, env={**os.environ, "OMP_NUM_THREADS": value}) for value in ("1", "8"))
    assert changes(a, b) == {"env/OMP_NUM_THREADS": ("1", "8")}


def test_a_variable_that_was_not_there(host: Host) -> None:
    a, b = of(host), of(host, env={**os.environ, "NCCL_PROTO": "LL"})
    assert suspects(a, b) == {"env", "env/NCCL_PROTO"}  # the collection's keys, and the key


def test_affinity(host: Host) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("affinity needs two CPUs")
    one = str(min(os.sched_getaffinity(0)))
    a, b = of(host), of(host, ("taskset", "-c", one, *SLEEP))
    assert set(changes(a, b)) == {"affinity"}
    assert b.affinity == one


def test_nice(host: Host) -> None:
    a, b = of(host), of(host, ("nice", "-n", "5", *SLEEP))
    assert suspects(a, b) == {"nice"}


def test_the_scheduling_policy(host: Host) -> None:
    a, b = of(host), of(host, ("chrt", "--batch", "0", *SLEEP))
    assert suspects(a, b) == {"policy"}
    assert (a.policy, b.policy) == ("other", "batch")


@pytest.mark.root
@needs_root
def test_a_real_time_policy_with_its_priority(host: Host) -> None:
    a, b = of(host), of(host, ("chrt", "--fifo", "7", *SLEEP))
    if b.policy != "fifo":
        pytest.skip("this kernel grants no real-time policy here")
    assert suspects(a, b) == {"policy"}
    assert b.rt_priority == 7


def test_io_priority(host: Host) -> None:
    a, b = of(host), of(host, ("ionice", "-c", "3", *SLEEP))
    assert suspects(a, b) == {"io_priority"}


@pytest.mark.parametrize("option", ["-n 512", "-l 64", "-s 1024"])
def test_a_ulimit(host: Host, option: str) -> None:
    a, b = of(host), of(host, ("sh", "-c", f"ulimit {option}; exec sleep 60"))
    assert len(suspects(a, b)) == 1
    assert next(iter(suspects(a, b))).startswith("limits/")


def test_the_program_was_rebuilt_in_place(host: Host, tmp_path: Path) -> None:
    program = tmp_path / "server"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    a = of(host, (str(program), "60"))
    program.unlink()
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with program.open("ab") as file:
        file.write(b"patched")
    assert set(changes(a, of(host, (str(program), "60")))) == {"program/sha256"}


def test_another_program(host: Host, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(Path(shutil.which("sleep") or "/bin/sleep").read_bytes() + name.encode())
        (tmp_path / name).chmod(0o755)
    a, b = (of(host, (str(tmp_path / name), "60")) for name in ("one", "two"))
    assert suspects(a, b) == {"program/path"}


def test_a_script_was_edited(host: Host, tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text("import time; time.sleep(60)\n")
    a = of(host, (sys.executable, str(script)))
    script.write_text("import time; time.sleep(60)  # patched\n")
    b = of(host, (sys.executable, str(script)))
    assert set(changes(a, b)) == {"program/sha256"}


@pytest.fixture
def script(tmp_path: Path) -> tuple[Path, Path]:
    """A script and the link to its interpreter."""
    script, interpreter = tmp_path / "serve", tmp_path / "interpreter"
    script.write_text(f"#!{interpreter}\nwhile :; do sleep 60; done\n")
    script.chmod(0o755)
    return script, interpreter


@pytest.mark.parametrize("how", ["by its path", "by a link", "by its command line"])
def test_the_interpreter(host: Host, script: tuple[Path, Path], how: str) -> None:
    sides = []
    for shell in ("dash", "bash"):
        path = shutil.which(shell)
        if path is None:
            pytest.skip(f"no {shell} here")
        script[1].unlink(missing_ok=True)
        script[1].symlink_to(path)
        argv = {"by its path": (str(script[0]),), "by a link": (str(script[1]), str(script[0]))}.get(how)
        sides.append(of(host, argv or (path, str(script[0]))))
    assert suspects(*sides) == {"interpreter/path"}
    assert sides[0].operands == sides[1].operands == ()
    assert sides[0].program.path == sides[1].program.path == str(script[0])


def test_another_python_environment(host: Host, tmp_path: Path) -> None:
    """Activated as a user does it: PATH and VIRTUAL_ENV change along with the interpreter."""
    script = tmp_path / "serve.py"
    script.write_text("import time; time.sleep(60)\n")
    sides = []
    for name in ("one", "two"):
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        (home / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
        (home / "bin/python").symlink_to(os.path.realpath(sys.executable))
        env = {**os.environ, "VIRTUAL_ENV": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}"}
        sides.append(of(host, ("env", "python", str(script)), env=env))
    assert "activation/PATH" in changes(*sides)
    assert suspects(*sides) == {"interpreter/environment"}
    assert [side.interpreter.version for side in sides] == ["3.11.7", "3.11.7"]


def test_an_environment_that_a_link_leads_to(host: Host, tmp_path: Path) -> None:
    """As releases are switched: `current` leads to another folder, and the command is the same."""
    (tmp_path / "serve.py").write_text("import time; time.sleep(60)\n")
    sides = []
    for name in ("one", "two"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
        (tmp_path / name / "bin/python").symlink_to(os.path.realpath(sys.executable))
        (tmp_path / "current").unlink(missing_ok=True)
        (tmp_path / "current").symlink_to(name)
        sides.append(of(host, (str(tmp_path / "current/bin/python"), str(tmp_path / "serve.py"))))
    assert suspects(*sides) == {"interpreter/environment"}


def test_the_working_directory(host: Host, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    a, b = (of(host, cwd=tmp_path / name, env={**os.environ, "PWD": str(tmp_path / name)}) for name in ("one", "two"))
    assert suspects(a, b) == {"cwd"}


def test_an_operand(host: Host) -> None:
    a, b = of(host, ("sleep", "60")), of(host, ("sleep", "61"))
    assert changes(a, b) == {"operands": (("60",), ("61",))}


def test_a_flag(host: Host) -> None:
    """The two others stay as they are, wherever they stand."""
    code = (sys.executable, "-c", "import time; time.sleep(60)")
    a, b = of(host, (*code, "--threads", "4", "--eager")), of(host, (*code, "--eager", "--threads=8"))
    assert changes(a, b) == {"flags/--threads": (("4",), ("8",))}


@pytest.mark.parametrize("touched", ["serve.py", "library.py"])
def test_a_git_commit(host: Host, tmp_path: Path, touched: str) -> None:
    commit(tmp_path, "serve.py", "import time; time.sleep(60)\n")
    a = of(host, (sys.executable, "serve.py"), cwd=tmp_path)
    commit(tmp_path, touched, "import time; time.sleep(60)  # changed\n")
    b = of(host, (sys.executable, "serve.py"), cwd=tmp_path)
    assert suspects(a, b) == {"git/commit"}
    assert (a.git.dirty, b.git.dirty) == ("clean", "clean")


def test_an_edit_that_was_not_committed(host: Host, tmp_path: Path) -> None:
    commit(tmp_path, "serve.py", "import time; time.sleep(60)\n")
    commit(tmp_path, "library.py", "")
    a = of(host, (sys.executable, "serve.py"), cwd=tmp_path)
    (tmp_path / "library.py").write_text("changed")
    b = of(host, (sys.executable, "serve.py"), cwd=tmp_path)
    (tmp_path / "serve.py").write_text("import time; time.sleep(60)  # changed\n")
    c = of(host, (sys.executable, "serve.py"), cwd=tmp_path)
    assert suspects(a, b) == {"git/dirty"}
    assert suspects(b, c) == {"program/sha256"}


def test_another_terminal_is_no_change(host: Host) -> None:
    first = {**os.environ, "TERM": "xterm", "SSH_TTY": "/dev/pts/1", "SHLVL": "1", "_": "/bin/a", "WINDOWID": "4"}
    second = {**os.environ, "TERM": "screen", "TMUX": "/tmp/tmux", "SHLVL": "3", "_": "/bin/b"}
    assert changes(of(host, env=first), of(host, env=second)) == {}


@pytest.mark.root
@needs_root
def test_a_cgroup_cpu_quota(host: Host, cpu_group: Path) -> None:
    inside = ("sh", "-c", f"echo $$ > {cpu_group}/cgroup.procs; exec sleep 60")
    a = of(host, inside)
    (cpu_group / "cpu.cfs_quota_us").write_text("50000")
    b = of(host, inside)
    assert changes(a, b) == {"cgroup/cpu_max": ("max", "50000 100000")}
    assert set(changes(of(host), b)) == {"cgroup/cpu_max"}


@pytest.fixture
def cpu_group() -> Iterator[Path]:
    group = Path(f"/sys/fs/cgroup/cpu/fingerprint-process-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no v1 cgroup with a CPU controller can be made here")
    yield group
    group.rmdir()


def commit(tree: Path, name: str, content: str) -> None:
    if not (tree / ".git").exists():
        git(tree, "init", "-q")
    (tree / name).write_text(content)
    git(tree, "add", name)
    git(tree, "commit", "-q", "-m", "a change")


def git(tree: Path, *args: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *args], cwd=tree, check=True, capture_output=True)
