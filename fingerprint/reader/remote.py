"""Workers of the reader service (fingerprint/service/reading.py): whoever asks through one forks nothing."""

import math
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

import msgspec
from msgspec.structs import replace

from fingerprint.reader.connection import KILLED, REAP_SECONDS, Connection, Unreachable, left_behind
from fingerprint.reader.wire import Ask, Hello, greeting
from fingerprint.version import __version__


def connect(path: str, *, sample: bool = False) -> Callable[[], "Remote"]:
    """Gives a `Reader` its workers, as `Connections` do."""
    return Connections(path).workers(sample=sample)


class Connections:
    """Those to one reader service, which can be given up all at once. Usable by any thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._open: WeakSet[Remote] = WeakSet()
        self._given_up = ""

    def workers(self, *, sample: bool = False) -> Callable[[], "Remote"]:
        """Gives a `Reader` its workers. sample: only what moves is read, as at each sample of a run.

        Where nobody listens, what is asked has failed, in words; the next question tries again.
        """
        return lambda: self._made(sample)

    def give_up(self, why: str) -> None:
        """Whatever is asked, or was and is not answered, has failed at once: whoever waits for an answer goes on."""
        with self._lock:
            self._given_up = why
            for remote in self._open:
                remote.give_up(why)

    def _made(self, sample: bool) -> "Remote":
        with self._lock:
            made = Remote(self._path, sample=sample)
            self._open.add(made)
            if self._given_up:
                made.give_up(self._given_up)
            return made


class Remote(Connection):
    """One connection, on whose other end is one process that reads for it alone."""

    def __init__(self, path: str, *, sample: bool = False) -> None:
        self._path, self._sample = path, sample
        self._pid = 0  # its own, once it has said so
        self._trouble = f"the reader service at {path} ended before it answered"
        self._given_up = False
        super().__init__(self._connected())

    def give_up(self, why: str) -> None:
        """By another thread than the one that asks: wakes it, and it finds nobody."""
        self._trouble, self._given_up = why, True
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def send(self, message: msgspec.Struct) -> None:
        super().send(replace(message, sample=True) if self._sample and isinstance(message, Ask) else message)

    def lines(self) -> list[bytes]:
        """Raises Unreachable as well: where there is no service, or it is of another release."""
        try:
            whole = super().lines()
        except EOFError:
            if self._pid and not self._given_up:
                raise
            raise Unreachable(self._trouble) from None
        return whole if self._pid or not whole else self._greeted(whole)

    def abandon(self) -> str:
        """Hangs up, which kills it, and waits 0.1 s at most for its end; says what came of it."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
            ended = self._ends_within(REAP_SECONDS)
        except OSError:
            ended = True
        self.socket.close()
        return KILLED if ended or not self._pid else left_behind(self._pid)

    def _connected(self) -> socket.socket:
        """Of a service that is not there a socket that has ended: it can be waited for all the same."""
        ours = socket.socket(socket.AF_UNIX)
        ours.setblocking(False)  # whoever is stopped, with a full queue, would hold up who connects
        try:
            ours.connect(self._path)
        except OSError as error:
            ours.close()
            self._trouble = (
                f"the reader service does not answer at {self._path} ({error.strerror or error}): "
                "see systemctl status fingerprint-reader"
            )
            ours, theirs = socket.socketpair()
            theirs.close()
        return ours

    def _greeted(self, whole: list[bytes]) -> list[bytes]:
        hello = _hello(whole[0])
        if not isinstance(hello, Hello):
            raise Unreachable(f"the reader service at {self._path} {hello}")
        if hello.provenance.fingerprint != __version__:
            raise Unreachable(
                f"the reader service at {self._path} is fingerprint {hello.provenance.fingerprint}, "
                f"and this is {__version__}: systemctl restart fingerprint-reader"
            )
        self._pid, self.provenance = hello.pid, hello.provenance
        return whole[1:]

    def _ends_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        deadline = time.monotonic() + seconds
        while not self._ended():
            if (left := deadline - time.monotonic()) <= 0:
                return False
            poll.poll(math.ceil(left * 1000))
        return True


def _hello(line: bytes) -> Hello | str:
    """The greeting; or what is wrong, in words that follow the service's name."""
    try:
        told = greeting(line)
    except msgspec.MsgspecError:
        return "speaks another language: it is of another release, systemctl restart fingerprint-reader"
    return told if isinstance(told, Hello) else f"refused: {told.why}"
