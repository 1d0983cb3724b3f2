"""Whether who listens at a socket still does anything: asked now and then, and waited for by nobody."""

import socket
import time
from contextlib import suppress

CONNECT_SECONDS, PATIENCE_SECONDS = 0.1, 3.0
VERSION = b"GET /v1/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
Address = str | tuple[str, int]


class Pulse:
    """`step` is called each second, and returns at once. That it hangs up is a sign of life, too."""

    def __init__(self, address: Address, seconds: float, says: bytes = b"") -> None:
        """seconds: from one question to the next. says: the question; without it the other side speaks first."""
        self._address, self._seconds, self._says = address, seconds, says
        self._asking: socket.socket | None = None
        self._asked = 0.0
        self.silent_since = ""
        """A time of day; empty while it answers."""

    def step(self) -> None:
        now = time.monotonic()
        if self._asking is not None:
            self._listen(self._asking, now - self._asked)
        elif not self._asked or now - self._asked >= self._seconds:
            self._asked = now
            self._ask()

    def close(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def _ask(self) -> None:
        family = socket.AF_UNIX if isinstance(self._address, str) else _family(self._address[0])
        try:
            self._asking = socket.socket(family)
            self._asking.settimeout(CONNECT_SECONDS)  # to a socket of this host: at once, unless too many wait already
            self._asking.connect(self._address)
            self._asking.sendall(self._says)
            self._asking.setblocking(False)
        except OSError:
            self._missed()

    def _listen(self, asking: socket.socket, waited: float) -> None:
        try:
            with suppress(ConnectionError):
                asking.recv(1)
        except BlockingIOError:
            if waited >= PATIENCE_SECONDS:
                self._missed()
            return
        self.close()
        self.silent_since = ""

    def _missed(self) -> None:
        self.close()
        self.silent_since = self.silent_since or time.strftime("%H:%M:%S")


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
