"""A reader service of a test's own: the real one, in a process of its own."""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fingerprint.fork import fork_bare
from fingerprint.service.reading import serve
from probes.kit.facts import Section, Seen, config
from probes.kit.host import Host
from probes.kit.probe import Of, Probe
from tests.waiting import until


class Area(Section):
    """One fact is enough to tell that a section arrived."""

    value: Seen[int] = config("tells that it was read", "the test")


def a_probe(area: str, read: Callable[[Any], Any], of: Of = "host", budget: float = 5.0) -> Probe[Section]:
    return Probe(area, of, Area, lambda _host, target: read(target), budget, "border")


def fine(area: str, value: int = 1) -> Probe[Section]:
    return a_probe(area, lambda _: Area(value=value))


def stuck(area: str, budget: float = 0.3) -> Probe[Section]:
    return a_probe(area, lambda _: time.sleep(3600), budget=budget)


def by_area(*probes: Probe[Section]) -> Mapping[str, Probe[Section]]:
    return {probe.area: probe for probe in probes}


class Listening:
    """One that was started: its pid, its socket's path and its journal."""

    def __init__(self, folder: Path, probes: Mapping[str, Probe[Section]], host: Host | None = None) -> None:
        self.path, self._journal = folder / "reader.sock", folder / "journal"
        self._probes, self._host = probes, host or Host()
        self.pid = 0

    def start(self, allowed: Collection[int] = (), told: str = "", held_by: int | None = None, **how: Any) -> None:
        """told: the socket of a service manager. how: further, of `serve`."""

        def body() -> None:
            sys.stderr = self._journal.open("a")
            os.environ["NOTIFY_SOCKET"] = told
            try:
                serve(str(self.path), self._host, self._probes, allowed_uids=allowed, held_by=held_by, **how)
            except Exception as error:  # noqa: BLE001  # pytest's own handlers must not run in the fork
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                sys.stderr.flush()

        self.pid = fork_bare([] if held_by is None else [held_by], body)
        until(self._answers)
        until(lambda: not self.workers())

    def _answers(self) -> bool:
        """To whoever hears it out; what answered him may be about to end even so."""
        with socket.socket(socket.AF_UNIX) as to, suppress(OSError):
            to.connect(str(self.path))
            to.shutdown(socket.SHUT_WR)
            while to.recv(4096):
                pass
            return True
        assert not self.ended(), self.journal
        return False

    def ended(self) -> bool:
        if self.pid and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.pid = 0
        return not self.pid

    def end(self, number: int = signal.SIGTERM) -> None:
        if not self.ended():
            os.kill(self.pid, number)
            until(self.ended)

    @property
    def journal(self) -> str:
        return self._journal.read_text() if self._journal.exists() else ""

    def workers(self) -> list[int]:
        """Pids of the processes that it forked, those that have ended aside."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                found += [int(folder.name)] if int(parent) == self.pid and state != "Z" else []
        return found


@contextmanager
def listening(folder: Path, *probes: Probe[Section], host: Host | None = None, **how: Any) -> Iterator[Listening]:
    service = Listening(folder, by_area(*probes), host)
    service.start(**how)
    try:
        yield service
    finally:
        service.end(signal.SIGKILL)


class Peer:
    """Who talks to it without the client, as a program in another language would, or one that means ill."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))  # waits while the queue is full
        self.socket.settimeout(15)
        self._lines = self.socket.makefile("rb")

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, content: bytes) -> None:
        self.socket.sendall(content)

    def hear(self) -> Any:
        """The next message; None at the end."""
        with suppress(ConnectionResetError):
            line = self._lines.readline()
            return json.loads(line) if line else None
        return None

    def hear_out(self) -> bytes:
        """All that comes until the end."""
        with suppress(ConnectionResetError):
            return self._lines.read()
        return b""

    def close(self) -> None:
        self._lines.close()
        self.socket.close()


@contextmanager
def peer(service: Listening) -> Iterator[Peer]:
    """One whose greeting was heard."""
    one = Peer(service.path)
    try:
        assert one.hear()["type"] == "hello"
        yield one
    finally:
        one.close()


def ask(*jobs: Any) -> dict[str, Any]:
    return {"type": "ask", "jobs": jobs}


def heard(service: Listening, message: Any, answers: int) -> list[Any]:
    with peer(service) as one:
        one.send(message)
        return [one.hear() for _ in range(answers)]
