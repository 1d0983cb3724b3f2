"""What a server answers to GET at a socket that it listens on, asked briefly and never off this host.

The address is one that somebody on this host listens on, of the process's own network namespace: none that an answer
names. Nothing is sent but the path: no credentials, no cookies, and no proxy is asked. HTTP/1.0, so that nobody needs
to answer in chunks; an answer that is packed all the same is not unpacked.
"""

import ctypes
import http.client
import io
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from probes.kit.documents import document
from probes.kit.facts import Document, Gap, GapCode, Seen, then
from probes.kit.forked import asked_apart
from probes.kit.redact import Redactor, has_secret

SECONDS = 1.0
CONNECT_SECONDS = 0.2
CAP = 1 << 20
_HEADERS_CAP = 64 << 10
_CLONE_NEWNET = 0x40000000  # linux/sched.h

_STATUS_GAPS: Mapping[int, GapCode] = {
    401: "denied",
    403: "denied",
    404: "unsupported",
    405: "unsupported",
    501: "unsupported",
    503: "settling",  # llama-server, while it loads
}
_SAYS: Mapping[GapCode, str] = {
    "denied": "it wants a key, and none is sent",
    "unsupported": "this server does not tell it, or not with the arguments that it has",
    "settling": "it does not serve yet",
}


def answered(redactor: Redactor, pid: int, at: str, path: str, pattern: str) -> Seen[Document]:
    """JSON, its secrets digested; with a pattern a list of the lines of a text that begin so, without those that hold a
    secret. at: ADDRESS:PORT, the address in numbers. Raises OSError."""
    ask = partial(_asked, at, path)
    told = (
        ask() if _shares_network(pid) else asked_apart(lambda: _elsewhere(pid, ask), bytes, SECONDS + CONNECT_SECONDS)
    )
    return then(told, (lambda body: _lines(body, pattern)) if pattern else partial(document, redactor))


def _lines(body: bytes, pattern: str) -> Document:
    begins = re.compile(pattern).match
    lines = body.decode("utf-8", "backslashreplace").splitlines()
    return Document([line for line in lines if begins(line) and not has_secret(line)])


def _shares_network(pid: int) -> bool:
    ours, theirs = (os.stat(f"/proc/{who}/ns/net") for who in ("self", pid))
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)


def _elsewhere(pid: int, ask: Callable[[], Seen[bytes]]) -> Seen[bytes]:
    """Asked from the network namespace of the process: for a child that goes no further."""
    try:
        namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    except OSError as error:
        return Gap("denied", f"it listens in another network namespace, which may not be entered: {error.strerror}")
    try:
        return ask()
    except OSError as error:
        return Gap("failed", error.strerror or str(error))


def _asked(at: str, path: str) -> Seen[bytes]:
    """The body of a whole answer. Raises OSError where nobody answers at all."""
    address, _, port = at.rpartition(":")
    deadline = time.monotonic() + SECONDS
    question = f"GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n"
    try:
        with socket.create_connection((address, int(port)), CONNECT_SECONDS) as door:
            door.sendall(question.encode("ascii"))
            return _body(http.client.HTTPResponse(_Door(door, deadline)))  # type: ignore[arg-type]
    except TimeoutError:
        return Gap("timed_out", f"{path}: no whole answer within {SECONDS:g} s")
    except (http.client.HTTPException, ValueError) as error:
        says = str(error) if type(error) in _WITHOUT_ITS_TEXT else type(error).__name__
        return Gap("failed", f"{path}: no answer of HTTP: {says}")


def _body(response: http.client.HTTPResponse) -> Seen[bytes]:
    response.begin()
    if 300 <= response.status < 400:
        return Gap("failed", f"it answers {response.status} and names another address, which is not asked")
    if response.status != 200:
        code = _STATUS_GAPS.get(response.status, "failed")
        return Gap(code, f"it answers {response.status}" + (f": {_SAYS[code]}" if code in _SAYS else ""))
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        return Gap("failed", "it answers packed, which it was asked not to: nothing is unpacked")
    body = response.read(CAP + 1)
    if len(body) > CAP:
        return Gap("failed", f"it answers more than {CAP >> 20} MiB")
    return Gap("failed", "its answer breaks off") if response.length else body


class _TooMuch(ValueError):
    """More than an answer may have."""


_WITHOUT_ITS_TEXT = (_TooMuch, http.client.HTTPException, http.client.LineTooLong)
"""Of what http.client raises; the others quote what was answered, which is kept nowhere."""


class _Door(io.RawIOBase):
    """A socket that is read until a deadline, and no more than an answer may have."""

    def __init__(self, door: socket.socket, deadline: float) -> None:
        self._door, self._deadline = door, deadline
        self._left = CAP + _HEADERS_CAP

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if self._left <= 0:
            raise _TooMuch(f"more than {CAP >> 20} MiB")
        self._door.settimeout(left)
        count = self._door.recv_into(buffer)
        self._left -= count
        return count
