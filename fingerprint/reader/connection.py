"""Workers as the asker holds them: what any of them does, and one that is forked here."""

import os
import signal
import socket
import time
from typing import Protocol

import msgspec

from fingerprint.reader.wire import encode
from fingerprint.reader.worker import Answers, Probes, fork_worker
from fingerprint.snapshot import Provenance
from probes.kit.host import Host

REAP_SECONDS = 0.1


class Unreachable(EOFError):
    """There is nobody who would read, and why: as long as that is so, another worker is of no use."""


class Worker(Protocol):
    """provenance: as whom it reads, where that is not as the asker."""

    socket: socket.socket
    provenance: Provenance | None

    def send(self, message: msgspec.Struct) -> None: ...
    def lines(self) -> list[bytes]: ...
    def abandon(self) -> str: ...


class Connection:
    """A worker's socket, and what it sent of an unfinished line."""

    provenance: Provenance | None = None

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.socket.setblocking(False)
        self._rest = b""

    def send(self, message: msgspec.Struct) -> None:
        """Raises OSError where the worker is gone. A question fits the socket's buffer."""
        self.socket.sendall(encode(message) + b"\n")

    def lines(self) -> list[bytes]:
        """The whole lines that have arrived. Raises EOFError when the worker is gone and nothing is left."""
        if self._ended() and b"\n" not in self._rest:
            raise EOFError
        *whole, self._rest = self._rest.split(b"\n")
        return whole

    def _ended(self) -> bool:
        """Whether nothing more will arrive than what has been taken in now."""
        try:
            while data := self.socket.recv(1 << 20):
                self._rest += data
        except BlockingIOError:
            return False
        except ConnectionError:
            pass
        return True


class Forked(Connection):
    """A worker process of our own."""

    def __init__(self, host: Host, probes: Probes) -> None:
        ours, theirs = socket.socketpair()
        self.pid = fork_worker(theirs, Answers(host, probes))
        theirs.close()
        super().__init__(ours)

    def abandon(self) -> str:
        """Kills it and waits 0.1 s at most. In state D it stays behind, and nothing waits for it; says which."""
        self.socket.close()
        try:
            os.kill(self.pid, signal.SIGKILL)
            deadline = time.monotonic() + REAP_SECONDS
            while not os.waitpid(self.pid, os.WNOHANG)[0]:
                if time.monotonic() >= deadline:
                    return left_behind(self.pid)
                time.sleep(0.001)
        except (ProcessLookupError, ChildProcessError):
            pass
        return KILLED


KILLED = "its reader was killed"


def left_behind(pid: int) -> str:
    return f"its reader, pid {pid}, cannot be killed and was left behind in state {state_of(pid)}"


def state_of(pid: int) -> str:
    """The kernel's letter for its state. Only `stat` is read: cmdline and environ of a process in state D may
    block the reader."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "?"
