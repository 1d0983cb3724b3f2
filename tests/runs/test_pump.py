"""Output that is kept for a reader arrives as if nobody kept it."""

import fcntl
import os
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.runs.pump import Tail
from fingerprint.runs.record import Closed, Trouble
from tests.runs.conftest import CHECKOUT, Starter, Terminal
from tests.waiting import until

SIZE = """\
import os, signal, sys, time
show = lambda *_: os.write(1, b'size %d %d\\n' % tuple(os.get_terminal_size(1)))
"""
"""Written past any buffer: a signal may come while one is flushed."""


@given(st.lists(st.binary(max_size=40)), st.integers(min_value=1, max_value=24))
def test_the_tail_is_the_last_bytes(chunks: list[bytes], size: int) -> None:
    tail = Tail(size)
    for chunk in chunks:
        tail.add(chunk)
    assert tail.content() == b"".join(chunks)[-size:]
    os.close(tail.fd)


def test_output_is_copied_byte_for_byte_and_kept(start: Starter, tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "data").write_bytes(data)
    argv = start.argv("cat", str(tmp_path / "data"), options={"--streams": "1", "--output": str(tmp_path / "kept")})
    assert subprocess.check_output(argv, cwd=CHECKOUT) == data
    assert (tmp_path / "kept").read_bytes() == data
    assert not start.records(Trouble)


def test_streams_to_one_place_keep_their_order(start: Starter, tmp_path: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do echo out $i; echo err $i >&2; done"
    kept = tmp_path / "kept"
    options = {"--streams": "1,2", "--output": str(kept)}
    argv = start.argv("sh", "-c", script, options=options)
    both = subprocess.run(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout
    assert both == b"".join(b"out %d\nerr %d\n" % (i, i) for i in range(1, 9)) == kept.read_bytes()
    apart = start("sh", "-c", "echo out; echo err >&2", options=options)
    assert (apart.stdout, apart.stderr) == ("out\n", "err\n")
    assert sorted(kept.read_text().split()) == ["err", "out"]


def test_killing_fingerprint_leaves_the_command_and_its_output_alone(start: Starter) -> None:
    count = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done; echo $? >> " + shlex.quote(
        str(start.folder / "status")
    )
    run = start.popen("sh", "-c", count, options={"--streams": "1"}, start_new_session=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "1\n"
    os.kill(run.pid, signal.SIGKILL)
    assert run.stdout.read().split() == [str(i) for i in range(2, 11)]
    assert (start.folder / "status").read_text() == "0\n"


def test_a_reader_that_goes_away_ends_the_command_by_sigpipe(start: Starter) -> None:
    run = shlex.join(start.argv("yes", options={"--streams": "1"}))
    done = subprocess.run(
        ["bash", "-c", f"{run} | head -1; echo ${{PIPESTATUS[0]}}"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["y", "141"]
    assert start.records(Closed)[0].status == signal.SIGPIPE


def test_a_daemon_that_keeps_the_output_open_does_not_hold_fingerprint_up(start: Starter, tmp_path: Path) -> None:
    kept, waiting = tmp_path / "kept", tmp_path / "pid"
    daemon = f"setsid sh -c 'echo $$ > {waiting}; sleep 30'"
    script = f"{daemon} & echo first; while ! [ -s {waiting} ]; do sleep 0.05; done"
    run = start.popen("sh", "-c", script, options={"--streams": "1", "--output": str(kept)})
    assert run.wait(20) == 0
    assert kept.read_text() == "first\n"
    os.killpg(int(waiting.read_text()), signal.SIGKILL)
    assert run.stdout is not None
    assert run.stdout.read() == "first\n"


def test_a_terminal_stays_a_terminal_with_its_size(
    start: Starter, terminal: Callable[[Sequence[str]], Terminal]
) -> None:
    program = SIZE + "signal.signal(signal.SIGWINCH, show)\nshow()\nend = time.monotonic() + 3\n"
    program += "while time.monotonic() < end: time.sleep(0.05)"
    path = start.folder / "program.py"
    path.write_text(program)
    on = terminal(start.argv(sys.executable, str(path), options={"--streams": "1"}))
    fcntl.ioctl(on.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    on.expect("size ")
    fcntl.ioctl(on.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    on.expect("size 100 30\r\n")


def test_lines_on_a_terminal_end_as_without_a_pump(
    start: Starter, terminal: Callable[[Sequence[str]], Terminal]
) -> None:
    kept = start.folder / "kept"
    on = terminal(
        start.argv("sh", "-c", "test -t 1 && echo yes; echo end", options={"--streams": "1", "--output": str(kept)})
    )
    assert on.expect("end\r\n") == "yes\r\nend\r\n"
    until(lambda: start.records(Closed))
    until(kept.exists)
    time.sleep(0.05)
    assert kept.read_text() == "yes\nend\n"


@pytest.mark.parametrize("streams", ["1", "1,2"])
def test_a_command_that_is_not_found_leaves_no_pump_behind(start: Starter, streams: str) -> None:
    done = start("no-such-program", options={"--streams": streams})
    assert done.returncode == 127
    assert done.stdout == ""
