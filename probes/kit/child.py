"""Child processes that can be given up.

`subprocess.run(timeout=)` kills and then waits without limit (CPython 3.11, subprocess.py:552): a child
in state D never dies and the caller hangs with it. Here a child is started, polled and, past its
budget, killed and left behind.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from probes.kit.facts import Gap, Seen

REAP_SECONDS = 0.1
OUTPUT_CAP = 4 << 20
MOMENT = 0.1
_PLAIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}


def output_of(argv: Sequence[str], cwd: str = "/", budget: float = 2.0) -> Seen[str]:
    """Standard output of `argv`; a Gap for a program that is missing, fails, floods or outlives its budget."""
    try:
        child = subprocess.Popen(
            argv, cwd=cwd, env=_PLAIN, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return _not_started(argv[0], cwd, error)
    try:
        return _output(child, argv[0], budget)
    finally:
        for pipe in (child.stdout, child.stderr):
            if pipe:
                pipe.close()


def _not_started(program: str, cwd: str, error: OSError) -> Gap:
    if error.filename == cwd:  # subprocess names the folder where entering it failed, the program elsewhere
        return (
            Gap("denied", f"{cwd} may not be entered")
            if isinstance(error, PermissionError)
            else Gap("absent", f"no folder {cwd}")
        )
    if isinstance(error, FileNotFoundError):
        return Gap("absent", f"{program} is not installed")
    if isinstance(error, PermissionError):
        return Gap("denied", f"{program} may not be executed")
    return Gap("failed", f"{program}: {error.strerror}")


def _output(child: "subprocess.Popen[bytes]", program: str, budget: float) -> Seen[str]:
    deadline = time.monotonic() + budget
    streams = _drain(child, deadline)
    if isinstance(streams, Gap):
        give_up(child)
        return Gap(streams.code, f"{program}: {streams.detail}")
    if streams is None or not reap(child, deadline - time.monotonic()):
        give_up(child)
        return Gap("timed_out", f"{program}: no end within {budget:g} s")
    out, err = streams
    if child.returncode != 0:
        return Gap("failed", f"{program} exited {child.returncode}: {(err.splitlines() or ['no message'])[0]}")
    return out


class Script(NamedTuple):
    """A program that is given its work on its standard input. env: in addition to a plain environment."""

    argv: Sequence[str]
    text: bytes
    env: Mapping[str, str] = {}


class Told(NamedTuple):
    """lines: the whole ones that it printed. why: a Gap where it did not end well; what it told before stands."""

    lines: tuple[bytes, ...]
    why: Gap | None = None


def told_by(script: Script, budget: float, stop: Callable[[], bool] = lambda: False) -> Told:
    """What a script prints within its budget. stop: asked some times a second whether to give it up."""
    try:
        child = _given(script)
    except OSError as error:
        return Told((), _not_started(script.argv[0], "/", error))
    with closing(_Followed(child)) as followed:
        why = followed.follow(time.monotonic() + budget, stop) or followed.fault(budget)
        return Told(followed.lines, why and Gap(why.code, f"{script.argv[0]}: {why.detail}"))


def _given(script: Script) -> "subprocess.Popen[bytes]":
    """From a file without a name: a pipe that nobody reads may hold less than the text."""
    with open(os.memfd_create("script"), "r+b") as file:
        file.write(script.text)
        file.seek(0)
        return subprocess.Popen(
            script.argv, cwd="/", env={**_PLAIN, **script.env}, stdin=file, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip


class _Followed:
    """A child whose streams are kept as far as they came."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child = child
        self._kept = {stream.fileno(): bytearray() for stream in (child.stdout, child.stderr)}

    @property
    def lines(self) -> tuple[bytes, ...]:
        out, _ = self._kept.values()
        return tuple(bytes(out).split(b"\n")[:-1])

    def follow(self, deadline: float, stop: Callable[[], bool]) -> Gap | None:
        """Until both streams close, or the time has come; None also then."""
        left = set(self._kept)
        while left and (seconds := deadline - time.monotonic()) > 0:
            if stop():
                return Gap("not_read", "it was told to end")
            ready, _, _ = select.select(list(left), [], [], min(seconds, MOMENT))
            for fd in ready:
                data = os.read(fd, 65536)
                self._kept[fd] += data
                if not data:
                    left.discard(fd)
            if sum(map(len, self._kept.values())) > OUTPUT_CAP:
                return Gap("failed", f"more than {OUTPUT_CAP} bytes of output")
        reap(self._child, deadline - time.monotonic())
        return None

    def fault(self, budget: float) -> Gap | None:
        status = self._child.poll()
        if status is None:
            return Gap("timed_out", f"no end within {budget:g} s")
        if status < 0:
            return Gap("failed", f"killed by signal {-status}")
        _, errors = self._kept.values()
        last = (bytes(errors).decode("utf-8", "backslashreplace").splitlines() or ["no message"])[-1]
        return Gap("failed", f"exited {status}: {last}") if status else None

    def close(self) -> None:
        if self._child.poll() is None:
            give_up(self._child)
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe:
                pipe.close()


def reap(child: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Whether the child ended within `seconds`; never waits longer."""
    deadline = time.monotonic() + max(seconds, 0)
    while child.poll() is None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.002)
    return True


def give_up(child: "subprocess.Popen[bytes]") -> bool:
    """Kills the child's session and waits for it 0.1 s at most. False: it was left behind (state D)."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()
    return reap(child, REAP_SECONDS)


_left_behind: list["subprocess.Popen[bytes]"] = []


class Talker:
    """A child that is talked to line by line, and left behind when it does not answer.

    Whoever forgets it ends its input. A child that goes on all the same is kept, so that a later start reaps it.
    """

    def __init__(self, argv: Sequence[str], keep: Sequence[int] = (), env: Mapping[str, str] | None = None) -> None:
        """keep: descriptors that it inherits. env: in addition to a plain environment. Raises OSError."""
        _left_behind[:] = [child for child in _left_behind if child.poll() is None]
        self._child = subprocess.Popen(
            argv, cwd="/", env={**_PLAIN, **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True, pass_fds=keep, bufsize=0,
        )  # fmt: skip
        self.pid = self._child.pid
        self._rest = b""

    def send(self, line: bytes) -> bool:
        """Whether somebody is there to read it."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(line + b"\n")
        except BrokenPipeError:
            return False
        return True

    def lines(self, seconds: float) -> list[bytes]:
        """The whole lines that arrive within `seconds`, none where nothing did. Raises EOFError at the end."""
        assert self._child.stdout is not None
        poll = select.poll()
        poll.register(self._child.stdout, select.POLLIN)
        if not poll.poll(max(0.0, seconds) * 1000):
            return []
        data = os.read(self._child.stdout.fileno(), 1 << 16)
        if not data:
            raise EOFError
        *whole, self._rest = (self._rest + data).split(b"\n")
        return whole

    def ended(self, seconds: float) -> int | None:
        """Its exit status, minus the signal's number where one ended it; None where it did not end in time."""
        return self._child.returncode if reap(self._child, seconds) else None

    def leave(self, seconds: float) -> bool:
        """Asks it to end (SIGTERM), and waits `seconds` at most: whether it did. It is never killed."""
        self.hang_up()
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
        return reap(self._child, seconds)

    def hang_up(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                pipe.close()

    def __del__(self) -> None:
        if hasattr(self, "pid"):  # else it could not be started
            self.hang_up()
            if self._child.poll() is None:
                _left_behind.append(self._child)


def _drain(child: "subprocess.Popen[bytes]", deadline: float) -> tuple[str, str] | Gap | None:
    """Both streams until they close. None at the deadline, a Gap beyond the cap."""
    assert child.stdout is not None
    assert child.stderr is not None
    chunks: dict[int, list[bytes]] = {child.stdout.fileno(): [], child.stderr.fileno(): []}
    order = list(chunks)
    left = set(chunks)
    size = 0
    while left:
        ready, _, _ = select.select(list(left), [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return None
        for fd in ready:
            data = os.read(fd, 65536)
            size += len(data)
            chunks[fd].append(data)
            if not data:
                left.discard(fd)
        if size > OUTPUT_CAP:
            return Gap("failed", f"more than {OUTPUT_CAP} bytes of output")
    out, err = (b"".join(chunks[fd]).decode("utf-8", "backslashreplace") for fd in order)
    return out, err
