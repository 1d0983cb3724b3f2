"""The reader service's processes: one for each connection, killed when its peer hangs up."""

import os
import signal
import socket
import struct
import time
from contextlib import suppress
from typing import NamedTuple

from fingerprint.reader.connection import REAP_SECONDS, state_of
from fingerprint.reader.worker import Answers, fork_worker
from fingerprint.service.seldom import Seldom

UNREAD_SECONDS = 10
"""How long a worker waits for its peer to read, before it ends: it holds an answer in memory meanwhile."""
LAST_SECONDS = 1.0
DYING = frozenset("RZX")
"""States of a process that was killed and ends as soon as it is given a CPU: no trouble of the kernel's."""


class Serving(NamedTuple):
    pid: int
    socket: socket.socket


class Workers:
    """Those that serve, by their sockets' descriptors; those that were killed; and those that are stuck in the kernel,
    which die when it lets go of them."""

    def __init__(self, seldom: Seldom) -> None:
        self.serving: dict[int, Serving] = {}
        self.stuck: set[int] = set()
        self.forked = 0
        self._killed: dict[int, float] = {}
        self._seldom = seldom

    def serve(self, peer: socket.socket, answers: Answers) -> None:
        """Keeps the socket, to see the peer go. Raises OSError where there can be no more processes."""
        peer.setblocking(True)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", UNREAD_SECONDS, 0))
        self.serving[peer.fileno()] = Serving(fork_worker(peer, answers), peer)
        self.forked += 1

    def hang_up(self, descriptor: int) -> None:
        """The peer is gone: nobody wants to know what is being read for it."""
        pid, peer = self.serving.pop(descriptor)
        peer.close()
        with suppress(OSError):  # what it was not allowed to do counts as stuck
            os.kill(pid, signal.SIGKILL)  # nobody has waited for it yet, so that the pid is still its own
        self._killed[pid] = time.monotonic()

    def reap(self) -> None:
        """Takes leave of all that have ended, also of their orphans where this is process 1."""
        while pid := _ended():
            self.stuck.discard(pid)
            self._killed.pop(pid, None)
            for descriptor in [fd for fd, worker in self.serving.items() if worker.pid == pid]:
                self.serving.pop(descriptor).socket.close()

    def give_up(self) -> float | None:
        """Leaves those behind that were killed and did not end. Seconds until that is due; None where it is not."""
        self.reap()
        now = time.monotonic()
        for pid in [pid for pid, at in self._killed.items() if now - at >= REAP_SECONDS]:
            if state_of(pid) in DYING:
                self._killed[pid] = now
                continue
            del self._killed[pid]
            self.stuck.add(pid)
            self._seldom.say("stuck", f"reader process {pid} cannot be killed: left behind in state {state_of(pid)}")
        return min((at + REAP_SECONDS - now for at in self._killed.values()), default=None)

    def end(self) -> None:
        """All of them; waits one second at most."""
        for descriptor in list(self.serving):
            self.hang_up(descriptor)
        deadline = time.monotonic() + LAST_SECONDS
        while self._killed and time.monotonic() < deadline:
            self.reap()
            time.sleep(0.005)


def _ended() -> int:
    """The pid of a child that has ended; 0 where there is none."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0
