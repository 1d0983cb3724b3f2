"""Signals that reached fingerprint and not the command.

The command is in our process group, so a signal from the terminal, from `kill -- -PGID`, timeout(1) or
a service manager that signals every process has reached it already; one sent to fingerprint's pid has
not. siginfo does not tell the two apart: `kill PID` and `kill -- -PGID` are both SI_USER from the same
sender. A witness does: a process in our group that does nothing but tell which signals reach it. What the
witness got too was sent to all; what it did not get within a moment is passed on.
"""

import math
import os
import signal
import socket
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from fingerprint.fork import fork_bare
from fingerprint.runs.wrap import Inherited

MOMENT = 0.05  # seconds: how much later than we the witness may be woken, or signalled, on a busy host

ENDING = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM})
# Not caught: what cannot be; what the kernel sends for the receiver's own deeds; and the terminal's word to
# who reads or writes from the background, which stops us together with the command.
_LEFT_ALONE = frozenset({
    signal.SIGKILL, signal.SIGSTOP, signal.SIGILL, signal.SIGTRAP, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV,
    signal.SIGSYS, signal.SIGPIPE, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD,
})  # fmt: skip
PASSED_ON = frozenset(int(number) for number in signal.valid_signals() - _LEFT_ALONE)


class Window(NamedTuple):
    """A signal that may still turn out to have been sent to all."""

    closes: float
    alone: bool


class Relay:
    """Catches signals while it is entered. After every wake-up on one of `filenos()` call `step`. Entering raises
    OSError where no witness can be made, and leaves the signals as they were.

    told: the last signal that asked fingerprint to end, 0 for none.
    stop_asked: the monotonic time of the last SIGTSTP that no SIGCONT has answered.
    window_changed: whether SIGWINCH came; reset by whoever looks after it.

    A signal that was ignored when fingerprint started stays ignored: the command inherits that.
    """

    def __init__(self) -> None:
        self.told = 0
        self.stop_asked = -math.inf
        self.window_changed = False
        self._windows: dict[int, Window] = {}
        self._caught: dict[int, object] = {}

    def __enter__(self) -> "Relay":
        self._arrivals, ours = socket.socketpair()
        self._wake = ours
        self._witness, theirs = socket.socketpair()
        for end in (self._arrivals, self._wake, self._witness, theirs):
            end.setblocking(False)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON | {signal.SIGCHLD})
        self._mask = mask
        self._catch()
        try:
            self._pid = fork_bare([theirs.fileno()], lambda: _witness(theirs, mask))
        except OSError:
            self._let_go()
            raise
        finally:
            theirs.close()
        self._outer_wake = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        # SIGCHLD may have been blocked by whoever started us; then the command's end would not wake us.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask - {signal.SIGCHLD})
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGKILL)  # stopped with the group, it would not see that we let it go
        os.waitpid(self._pid, 0)
        signal.set_wakeup_fd(self._outer_wake)
        self._let_go()

    def _let_go(self) -> None:
        for number, handler in self._caught.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what getsignal gave
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        for end in (self._witness, self._arrivals, self._wake):
            end.close()

    @property
    def inherited(self) -> Inherited:
        """The signals as they were before: the command is to have them so."""
        ignored = (number for number, handler in self._caught.items() if handler == signal.SIG_IGN)
        return Inherited(frozenset(self._mask), frozenset(ignored))

    def filenos(self) -> tuple[int, ...]:
        return tuple(end.fileno() for end in (self._arrivals, self._witness) if end.fileno() >= 0)

    def timeout(self, now: float) -> float | None:
        """Seconds until `step` is due by itself; None while no signal waits."""
        return max(0.0, min(window.closes for window in self._windows.values()) - now) if self._windows else None

    def step(self, now: float, *, apart: bool = False) -> tuple[int, ...]:
        """The signals that are to be passed on now: those that reached fingerprint alone; all of them where the
        command has left our process group (`apart`)."""
        for number in _bytes_of(self._arrivals):
            self._arrived(number, now)
        for number in _bytes_of(self._witness):
            window = self._windows.get(number, Window(now + MOMENT, alone=False))
            self._windows[number] = Window(window.closes, alone=False)
        closed = {number: window for number, window in self._windows.items() if window.closes <= now}
        for number in closed:
            del self._windows[number]
        return tuple(number for number, window in closed.items() if window.alone or apart)

    def stop_answered(self) -> None:
        """The command has stopped. A witness that was stopped before it could tell of SIGTSTP tells after SIGCONT, too
        late: until then the signal would look as if it had reached us alone, and would stop the command again."""
        self.stop_asked = -math.inf
        self._windows.pop(signal.SIGTSTP, None)

    def _arrived(self, number: int, now: float) -> None:
        if number == signal.SIGCHLD:
            return
        if number in ENDING:
            self.told = number
        if number in (signal.SIGTSTP, signal.SIGCONT):
            self.stop_asked = now if number == signal.SIGTSTP else -math.inf
        if number == signal.SIGWINCH:
            self.window_changed = True
        self._windows.setdefault(number, Window(now + MOMENT, alone=True))

    def _catch(self) -> None:
        for number in (*PASSED_ON, signal.SIGCHLD):
            handler = signal.getsignal(number)
            if handler is None or (handler == signal.SIG_IGN and number != signal.SIGCHLD):
                continue
            self._caught[number] = handler
            signal.signal(number, _nothing)


def stop_self(number: int) -> None:
    """Stops this process by the signal that stopped the command (SIGTSTP, SIGSTOP ...); returns when continued."""
    if number == signal.SIGSTOP:
        os.kill(os.getpid(), number)
        return
    handler = signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.signal(number, handler)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """The wake-up descriptor tells; a handler must exist for it to do so."""


def _bytes_of(end: socket.socket) -> Iterator[int]:
    """What has arrived. Closes an end that nobody holds the other end of any more."""
    while end.fileno() >= 0:
        try:
            data = end.recv(256)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            end.close()
        yield from data


def _witness(end: socket.socket, mask: set[int]) -> None:
    """Lives until fingerprint is gone. The wake-up descriptor writes each signal's number by itself."""
    signal.set_wakeup_fd(end.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    end.setblocking(True)
    end.recv(1)
