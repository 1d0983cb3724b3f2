"""Workers of the reader service (fingerprint/service/reading.py): whoever asks through one forks nothing."""

import math
import select
import socket
import time
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from fingerprint.reader.connection import KILLED, REAP_SECONDS, Connection, Unreachable, left_behind
from fingerprint.reader.wire import Ask, Hello, greeting
from fingerprint.version import __version__


def connect(path: str, *, sample: bool = False) -> Callable[[], "Remote"]:
    """Gives a `Reader` its workers. sample: only what moves is read, as at each sample of a run.

    Where nobody listens, what is asked has failed, in words; the next question tries again.
    """
    return lambda: Remote(path, sample=sample)


class Remote(Connection):
    """One connection, on whose other end is one process that reads for it alone."""

    def __init__(self, path: str, *, sample: bool = False) -> None:
        self._path, self._sample = path, sample
        self._pid = 0  # its own, once it has said so
        self._trouble = f"the reader service at {path} ended before it answered"
        super().__init__(self._connected())

    def send(self, message: msgspec.Struct) -> None:
        super().send(replace(message, sample=True) if self._sample and isinstance(message, Ask) else message)

    def lines(self) -> list[bytes]:
        """Raises Unreachable as well: where there is no service, or it is of another release."""
        try:
            whole = super().lines()
        except EOFError:
            if self._pid:
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
