"""Each signal reaches the command once, whoever it was sent to."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import pytest

from fingerprint.runs.record import Closed
from fingerprint.runs.relay import MOMENT, Relay
from tests.runs.conftest import CHECKOUT, Running, Starter, Terminal
from tests.waiting import until

# These write past Python's buffers: a signal that comes within a print makes a print in its handler raise.
COUNT = """
import os, signal, sys, time
def got(number, _):
    global end
    os.write(1, f"got {signal.Signals(number).name}\\n".encode())
    end = time.monotonic() + float(sys.argv[1])
for number in map(int, sys.argv[2:]):
    signal.signal(number, got)
end = time.monotonic() + 20
os.write(1, b"up\\n")
while time.monotonic() < end:
    time.sleep(0.02)
"""
TIDY_AND_STOP = """
import os, signal, time
signal.signal(signal.SIGTSTP, lambda *_: (os.write(1, b"tidy\\n"), os.kill(os.getpid(), signal.SIGSTOP)))
os.write(1, b"up\\n")
time.sleep(1)
"""
TELL_TALE = [int(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)]
QUIET = 8 * MOMENT  # no second one comes any more


def counting(quiet: float = QUIET) -> list[str]:
    """A command that tells of each signal, until none has come for so many seconds since the last."""
    return [sys.executable, "-c", COUNT, str(quiet), *map(str, TELL_TALE)]


def started(start: Starter, quiet: float = QUIET) -> Running:
    run = start.popen(*counting(quiet), start_new_session=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    return run


def rest(run: Running) -> list[str]:
    return run.communicate(timeout=30)[0].splitlines()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_to_fingerprint_alone_is_passed_on_once(start: Starter, number: signal.Signals) -> None:
    run = started(start)
    os.kill(run.pid, number)
    assert rest(run) == [f"got {number.name}"]
    [closed] = start.records(Closed)
    assert (closed.how, closed.status) == ("exited", 0)
    assert closed.interrupted == (number != signal.SIGUSR1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_process_group_is_not_sent_twice(start: Starter, number: signal.Signals) -> None:
    run = started(start)
    os.killpg(run.pid, number)
    assert rest(run) == [f"got {number.name}"]
    assert start.records(Closed)[0].interrupted


def test_several_signals_each_go_their_own_way(start: Starter) -> None:
    run = started(start, 0.3 + QUIET)
    os.kill(run.pid, signal.SIGUSR1)
    os.killpg(run.pid, signal.SIGINT)
    time.sleep(0.3)
    os.kill(run.pid, signal.SIGINT)
    assert sorted(rest(run)) == ["got SIGINT", "got SIGINT", "got SIGUSR1"]


def test_timeout_which_signals_us_and_then_its_group_is_heard_once(start: Starter) -> None:
    """What it does when its time is over it does when it is told to end, too."""
    argv = ["timeout", "60", *start.argv(*counting())]
    with subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as timeout:
        assert timeout.stdout is not None
        assert timeout.stdout.readline() == "up\n"
        timeout.terminate()
        assert rest(timeout) == ["got SIGTERM"]
    assert timeout.returncode == 0


def test_a_command_in_another_group_gets_what_the_group_got(start: Starter) -> None:
    run = start.popen("setsid", *counting(), start_new_session=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    os.killpg(run.pid, signal.SIGTERM)
    assert rest(run) == ["got SIGTERM"]


def test_a_command_that_does_not_catch_it_dies_of_it_and_so_do_we(start: Starter) -> None:
    run = start.popen("sleep", "60")
    until(lambda: len(start.records()) > 2)
    os.kill(run.pid, signal.SIGTERM)
    assert run.wait(30) == -signal.SIGTERM
    run.communicate()
    [closed] = start.records(Closed)
    assert (closed.how, closed.status, closed.interrupted) == ("killed", signal.SIGTERM, True)


def test_a_signal_before_the_start_keeps_the_command_from_starting(start: Starter) -> None:
    run = start.popen("sh", "-c", "echo ran", options={"--before": "0.5"})
    until(start.records)
    os.kill(run.pid, signal.SIGTERM)
    assert run.communicate(timeout=30)[0] == ""
    assert run.returncode == -signal.SIGTERM
    [closed] = start.records(Closed)
    assert (closed.how, closed.status, closed.interrupted) == ("not started", signal.SIGTERM, True)
    assert closed.detail == "SIGTERM came before the command was started"


def test_control_c_reaches_the_command_once(start: Starter, terminal: Callable[[Sequence[str]], Terminal]) -> None:
    on = terminal(["bash", "-c", shlex.join(start.argv(*counting())) + "; echo status $?"])
    on.expect("up")
    on.type("\x03")
    assert on.expect("status 0").count("got SIGINT") == 1


def test_control_c_ends_a_plain_command_as_the_shell_expects(
    start: Starter, terminal: Callable[[Sequence[str]], Terminal]
) -> None:
    on = terminal(["bash", "--norc", "-i"])
    on.expect("ready$ ")
    on.type(start.script(sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)") + "\n")
    on.expect("up\r\n")
    on.type("\x03")
    on.expect("ready$ ")
    on.type("echo status $?\n")
    on.expect("status 130")


def test_a_job_is_stopped_and_continued_with_the_terminal(
    start: Starter, terminal: Callable[[Sequence[str]], Terminal]
) -> None:
    on = terminal(["bash", "--norc", "-i"])
    on.expect("ready$ ")
    twice = "echo up; read line; echo read $line; read line; echo read $line"
    on.type(start.script("sh", "-c", twice) + "\n")
    on.expect("up\r\n")
    on.type("one\n")
    on.expect("read one\r\n")
    on.type("\x1a")
    on.expect("Stopped")
    on.expect("ready$ ")
    on.type("fg\n")
    time.sleep(0.3)
    on.type("two\n")
    on.expect("read two\r\n")
    on.expect("ready$ ")


def test_a_job_stops_when_the_command_does_not_when_it_catches_control_z(
    start: Starter, terminal: Callable[[Sequence[str]], Terminal]
) -> None:
    go = start.script(sys.executable, "-c", TIDY_AND_STOP)
    on = terminal(["bash", "--norc", "-i"])
    on.expect("ready$ ")
    on.type(go + "\n")
    on.expect("up\r\n")
    on.type("\x1a")
    on.expect("tidy\r\n")
    on.expect("Stopped")
    on.expect("ready$ ")
    on.type("fg; echo status $?\n")
    on.expect("status 0")


@pytest.mark.parametrize(("answered", "passed_on"), [(False, (signal.SIGTSTP,)), (True, ())])
def test_a_stop_that_the_command_has_answered_is_not_passed_on_to_it(
    answered: bool, passed_on: tuple[int, ...]
) -> None:
    with Relay() as relay:
        os.kill(os.getpid(), signal.SIGTSTP)
        assert relay.step(time.monotonic()) == ()
        if answered:
            relay.stop_answered()
        assert relay.step(time.monotonic() + MOMENT) == passed_on


def test_a_command_stopped_by_others_does_not_stop_us(start: Starter) -> None:
    run = start.popen("sh", "-c", "echo $$; exec sleep 0.6")
    assert run.stdout is not None
    command = int(run.stdout.readline())
    os.kill(command, signal.SIGSTOP)
    time.sleep(0.4)
    with open(f"/proc/{run.pid}/stat") as file:
        assert file.read().rpartition(")")[2].split()[0] in "SR"
    os.kill(command, signal.SIGCONT)
    assert run.communicate(timeout=30) is not None
    assert run.returncode == 0


def test_the_witness_ends_with_us_even_when_we_are_killed(start: Starter) -> None:
    run = start.popen("sh", "-c", "echo up; sleep 0.3; echo end", start_new_session=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    os.kill(run.pid, signal.SIGKILL)
    assert run.stdout.read() == "end\n", "the command ends normally, and nothing of ours holds its output open"
    run.wait(10)
    run.communicate()
    until(lambda: not _group(run.pid))


def _group(group: int) -> list[int]:
    def group_of(pid: int) -> int:
        try:
            return os.getpgid(pid)
        except ProcessLookupError:
            return 0

    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if group_of(pid) == group]
