"""A wrapped command cannot tell, and its shell cannot tell, that it is wrapped."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fingerprint.runs import wrap
from fingerprint.runs.record import Closed, Measured, Trouble
from tests.runs.conftest import CHECKOUT, Starter
from tests.runs.started import held
from tests.waiting import until

PYTHON = sys.executable
READ_SIGNALS = ["grep", "-E", "^(SigBlk|SigIgn|SigCgt|ShdPnd)", "/proc/self/status"]


def shell_status(start: Starter, command: str) -> str:
    """$? as a shell that started the run sees it."""
    script = shlex.join(start.argv("sh", "-c", command)) + "; echo $?"
    return subprocess.run(
        ["bash", "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("status", [0, 3, 125, 255])
def test_the_commands_own_exit_status_is_ours(start: Starter, status: int) -> None:
    assert start("sh", "-c", f"exit {status}").returncode == status
    [closed] = start.records(Closed)
    assert (closed.how, closed.status, closed.interrupted) == ("exited", status, False)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGRTMIN + 3]
)
def test_death_by_a_signal_is_ours_by_the_same_signal(start: Starter, number: int) -> None:
    assert start("sh", "-c", f"kill -{int(number)} $$").returncode == -number
    [closed] = start.records(Closed)
    assert (closed.how, closed.status) == ("killed", number)


def test_a_shell_sees_128_and_the_signal(start: Starter) -> None:
    assert shell_status(start, "kill -9 $$") == "137"
    assert shell_status(start, "kill -11 $$") == "139"


def test_a_command_killed_with_a_core_leaves_no_core_of_ours(start: Starter) -> None:
    run = shlex.join(start.argv("sh", "-c", "ulimit -c 0; kill -SEGV $$"))
    script = f"ulimit -S -c $(ulimit -H -c); {run}; true"
    told = subprocess.run(["bash", "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True).stderr
    assert "Segmentation fault" in told
    assert "core dumped" not in told


def test_what_is_not_found_is_127_and_what_cannot_run_126(start: Starter, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program\n")
    for command, status, how in [
        ("no-such-program", 127, "not found"),
        ("/no/such/program", 127, "not found"),
        (str(plain), 126, "not executable"),
        (str(tmp_path), 126, "not executable"),
    ]:
        assert subprocess.run(["env", command], capture_output=True, check=False).returncode == status
        assert start(command).returncode == status
        closed = start.records(Closed)[-1]
        assert closed.how == how
        assert closed.detail.startswith(f"{command}: ")
    measured = [record.metric for record in start.records(Measured)]
    assert [(metric.name, metric.samples) for metric in measured] == [
        ("exit_status", (status,)) for status in (127.0, 127.0, 126.0, 126.0)
    ]


def test_a_script_without_an_interpreter_line_is_run_by_sh(start: Starter, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$0 got $1"\n')
    script.chmod(0o755)
    assert start(str(script), "it").stdout == f"{script} got it\n"
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert start("script", "it", env={**os.environ, "PATH": path}).stdout == f"{script} got it\n"


def test_standard_input_and_other_descriptors_pass_through(start: Starter, tmp_path: Path) -> None:
    assert start("cat", input="a\0b\n").stdout == "a\0b\n"
    (tmp_path / "seven").write_text("by descriptor")
    with open(tmp_path / "seven") as file:
        os.dup2(file.fileno(), 77)
        assert start("bash", "-c", "cat <&77", pass_fds=[77]).stdout == "by descriptor"
        os.close(77)


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD)])
@pytest.mark.parametrize("blocked", [(), (signal.SIGUSR2, signal.SIGCHLD, signal.SIGTERM)])
def test_mask_and_ignored_signals_are_those_of_a_direct_start(
    start: Starter, ignored: tuple[int, ...], blocked: tuple[int, ...]
) -> None:
    def as_given() -> None:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    direct = subprocess.run(READ_SIGNALS, capture_output=True, text=True, check=True, preexec_fn=as_given)
    assert start(*READ_SIGNALS, preexec_fn=as_given).stdout == direct.stdout


@pytest.mark.parametrize(
    "locale", [{}, {"LC_ALL": "C"}, {"LC_CTYPE": "C.UTF-8"}, {"LANG": "C", "EMPTY": "", "ODD": "\udcff"}]
)
def test_the_environment_is_that_of_a_direct_start(start: Starter, locale: dict[str, str]) -> None:
    env = {"PATH": os.environ["PATH"], **locale}
    direct = subprocess.run(["env"], env=env, capture_output=True, check=True)
    wrapped = subprocess.run(start.argv("env"), env=env, cwd=CHECKOUT, capture_output=True, check=True)
    assert wrapped.stdout == direct.stdout
    assert not start.records(Trouble)


def test_the_command_is_in_our_process_group_and_session(start: Starter) -> None:
    show = "import os; print(os.getpgrp(), os.getsid(0), os.getppid())"
    run = start.popen(PYTHON, "-c", show, start_new_session=True)
    out, _ = run.communicate(timeout=30)
    assert out.split() == [str(run.pid)] * 3


def test_the_command_holds_no_descriptor_of_ours(start: Starter) -> None:
    listing = start("ls", "/proc/self/fd", stdin=subprocess.DEVNULL).stdout.split()
    assert listing == ["0", "1", "2", "3"], "3 is the folder that ls reads"


def test_a_daemonised_grandchild_holds_nothing_up(start: Starter, tmp_path: Path) -> None:
    ready = tmp_path / "pid"
    assert start("sh", "-c", f"setsid sleep 60 >/dev/null 2>&1 & echo $! > {ready}").returncode == 0
    [closed] = start.records(Closed)
    assert closed.how == "exited"
    os.kill(int(ready.read_text()), signal.SIGKILL)


@pytest.mark.long
def test_short_commands_leave_no_descriptor_and_no_zombie() -> None:
    before = held()
    for _ in range(200):
        command = wrap.start(wrap.Start(["true"], os.environ))
        assert isinstance(command, wrap.Command)
        ended = until(command.poll)
        assert ended
        assert ended.how == "exited"
    assert held() == before


def test_a_signal_to_a_command_that_has_ended_goes_nowhere() -> None:
    command = wrap.start(wrap.Start(["true"], os.environ))
    assert isinstance(command, wrap.Command)
    until(command.poll)
    command.send(signal.SIGKILL)
    assert command.poll() == command.poll()


def test_memory_below_the_starters_own_is_not_told_by_the_child() -> None:
    command = wrap.start(wrap.Start(["true"], os.environ))
    assert isinstance(command, wrap.Command)
    ended = until(command.poll)
    assert ended
    assert ended.max_rss > 10 << 20, "true needs 1 MiB: exec carries ours over"
