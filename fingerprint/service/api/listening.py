"""Where the API listens, and uvicorn on it, in a thread of its own.

uvicorn alone waits for a request, and for a reader of its answer, as long as they please: `Impatient` does not.
"""

import asyncio
import grp
import ipaddress
import logging
import os
import socket
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fingerprint.service.api.app import application
from fingerprint.service.api.guard import Counts, Door, Guard
from fingerprint.service.api.lines import Lines
from fingerprint.settings import Settings
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.service.api.asked import Service

REQUEST_SECONDS, IDLE_SECONDS, UNREAD_SECONDS, END_SECONDS = 10.0, 15, 20.0, 2
"""For a whole request to arrive; between two of one connection; for some of an answer to be taken; and at the end."""
LEAST_READ_BYTES = 4096
"""Of a large answer, within UNREAD_SECONDS."""
TICK_SECONDS = 0.5
MOST_HEADER_BYTES, BACKLOG = 1 << 14, 128
MOST_CONNECTIONS, MOST_OPEN = 128, 192
"""Of one place; those above MOST_CONNECTIONS are told 503. The store and the readers must be left descriptors, of the
1024 that the unit has."""
SHORTEST_TOKEN, LONGEST_TOKEN = 16, 4096
logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # `Counts` tells what went wrong, not line by line


class Impatient(H11Protocol):
    """A connection that does not wait for ever: neither for a request nor for its answer to be read."""

    _hurry: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._hasten()
        if len(self.connections) > MOST_OPEN:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_asked:
            self._hasten()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._hurry, self._unread):
            if timer:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def _is_asked(self) -> bool:
        """Whether a request's head is there, and its answer is not: how long its body takes is the guard's."""
        return self.cycle is not None and not self.cycle.response_complete

    def _hasten(self) -> None:
        if self._hurry is None:
            self._hurry = self.loop.call_later(REQUEST_SECONDS, self._unless_asked)

    def _unless_asked(self) -> None:
        self._hurry = None
        if self._is_asked:
            return
        if not self._unsent:
            self.transport.abort()
            return
        if self._unread is None:
            self._await_reading()
        self._hasten()

    @property
    def _unsent(self) -> int:
        """Bytes of answers that are made, and not taken yet."""
        return int(self.transport.get_write_buffer_size())

    def _await_reading(self) -> None:
        self._unread = self.loop.call_later(UNREAD_SECONDS, self._unless_read, self._unsent)

    def _unless_read(self, before: int) -> None:
        self._unread = None
        left = self._unsent
        if before - left >= LEAST_READ_BYTES:
            self._await_reading()
        elif left:
            self.transport.abort()


class Calm(uvicorn.Server):
    """uvicorn's own looks ten times a second whether it is to end, and costs an idle host more than all else here."""

    _wake: Callable[[], object] | None = None

    async def main_loop(self) -> None:
        asked = asyncio.Event()
        self._wake = partial(asyncio.get_running_loop().call_soon_threadsafe, asked.set)
        while not await self.on_tick(0):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asked.wait(), TICK_SECONDS)

    def end(self) -> None:
        """At once; by another thread."""
        self.should_exit = True
        if self._wake:
            with suppress(RuntimeError):  # its loop has ended
                self._wake()


class Servers:
    """Those that answer. addresses: where."""

    def __init__(self, service: "Service", listeners: Sequence[tuple[socket.socket, Door]]) -> None:
        self.counts = Counts()
        app = application(service, self.counts)
        self._lines: Lines = app.state.lines
        self.addresses = tuple(each.getsockname() for each, _ in listeners)
        self._service = service
        self._servers = [(Calm(_config(Guard(app, door, self.counts))), each) for each, door in listeners]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="api", daemon=True)
        self._thread.start()

    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self, seconds: float = END_SECONDS + 2) -> None:
        """Ends what streams, lets other answers end, and takes the socket away."""
        self._service.events.close()
        for server, _ in self._servers:
            server.end()
        self._thread.join(seconds)
        self._lines.close()
        for address in self.addresses:
            if isinstance(address, str):
                with suppress(OSError):
                    os.unlink(address)

    async def _serve(self) -> None:
        await asyncio.gather(*(server.serve(sockets=[each]) for server, each in self._servers))


def serve(service: "Service", settings: Settings) -> Servers:
    """Listens where the settings say, from now on. Raises Trouble where it cannot."""
    asked = settings.service
    with ExitStack() as unless_all:
        doors = []
        if asked.tcp:
            doors.append(_tcp(asked.tcp, asked.token_file, behind_tls=asked.behind_tls))
            unless_all.callback(doors[0][0].close)
        if asked.socket:
            doors.insert(0, (unix_socket(Path(asked.socket), asked.group), Door()))
        unless_all.pop_all()
    return Servers(service, doors)


def _config(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app, http=Impatient, ws="none", lifespan="off", loop="asyncio", interface="asgi3", log_config=None,
        access_log=False, server_header=False, proxy_headers=False, backlog=BACKLOG, limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS, timeout_graceful_shutdown=END_SECONDS,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
    )  # fmt: skip


def unix_socket(path: Path, group: str) -> socket.socket:
    """For its owner and the group, where there is one of that name. What a dead process left there is taken away."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        _make_way(path)
        listener.bind(str(path))
        os.chmod(path, 0o660)  # nobody can connect before `listen`
        with suppress(KeyError, PermissionError):
            os.chown(path, -1, grp.getgrnam(group).gr_gid)
        listener.listen(BACKLOG)
        return listener
    except BaseException as error:
        listener.close()
        if not isinstance(error, OSError):
            raise
        why = error.strerror or error
        raise Trouble(f"service.socket {path} cannot be listened on ({why}): let it name another place") from None


def _make_way(path: Path) -> None:
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise Trouble(f"service.socket {path} is there, and is no socket: let it name another place")
    with socket.socket(socket.AF_UNIX) as other:
        other.settimeout(1)
        try:
            other.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass
    raise Trouble(f"service.socket {path} is listened on by another process: stop that, or name another place")


def _tcp(address: str, token_file: str, *, behind_tls: bool) -> tuple[socket.socket, Door]:
    """Raises Trouble for an address that others could listen in on, and without a token that is a secret."""
    host, port = _parts(address)
    if not host.is_loopback and not behind_tls:
        raise Trouble(
            f"service.tcp {address} is no address of this host itself: write 127.0.0.1:{port} and let a proxy encrypt, "
            f"or set service.behind_tls = true if one does already"
        )
    if not token_file:
        raise Trouble(f"service.tcp {address} needs a token: let service.token_file name a file that holds one")
    listener = socket.socket(socket.AF_INET6 if host.version == 6 else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(host), port))
        listener.listen(BACKLOG)
        names = None if behind_tls else frozenset(("localhost", "127.0.0.1", "::1", str(host), os.uname().nodename))
        return listener, Door(token(Path(token_file)), names)
    except BaseException as error:
        listener.close()
        if isinstance(error, OSError):
            raise Trouble(f"service.tcp {address} cannot be listened on: {error.strerror}") from None
        raise


def _parts(address: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    host, _, port = address.rpartition(":")
    try:
        number = int(port)
        if not 0 <= number < 1 << 16:
            raise ValueError(port)
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")), number
    except ValueError:
        raise Trouble(f"service.tcp is '{address}', but must be an address and a port: 127.0.0.1:9099") from None


def token(path: Path) -> bytes:
    """The secret in a file that nobody but its owner may read. Raises Trouble."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            info = os.fstat(file.fileno())
            content = file.read(LONGEST_TOKEN + 1).strip() if stat.S_ISREG(info.st_mode) else b""
    except OSError as error:
        raise Trouble(f"service.token_file {path} cannot be read: {error.strerror}") from None
    if info.st_mode & 0o077:
        raise Trouble(f"service.token_file {path} can be read by others: chmod 600 {path}")
    if not SHORTEST_TOKEN <= len(content) <= LONGEST_TOKEN or any(not 33 <= byte < 127 for byte in content):
        raise Trouble(
            f"service.token_file {path} holds no token of {SHORTEST_TOKEN} printable characters or more: "
            f"(umask 077; openssl rand -hex 32 > {path})"
        )
    return content
