"""The asker's side: starts workers, applies budgets, gives up what hangs."""

import math
import os
import select
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from fingerprint.reader.wire import Ask, AskTree, Begin, Failed, Read, Tree, answer, encode
from fingerprint.reader.worker import Probes, fork_worker
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Job, Key, Reading, reading_of
from probes.kit.host import Host
from probes.kit.probe import Target

REAP_SECONDS = 0.1

Finished = tuple[Key, Reading]


class Worker:
    """A running worker process: its pid, its socket, and what it sent of an unfinished line."""

    def __init__(self, host: Host, probes: Probes) -> None:
        self.socket, theirs = socket.socketpair()
        self.pid = fork_worker(theirs, host, probes)
        theirs.close()
        self.socket.setblocking(False)
        self._rest = b""

    def send(self, message: msgspec.Struct) -> None:
        """Raises OSError where the worker is gone. A question fits the socket's buffer."""
        self.socket.sendall(encode(message) + b"\n")

    def lines(self) -> list[bytes]:
        """The whole lines that have arrived. Raises EOFError when the worker is gone."""
        try:
            while data := self.socket.recv(1 << 20):
                self._rest += data
            if b"\n" not in self._rest:
                raise EOFError
        except BlockingIOError:
            pass
        except ConnectionError as error:
            raise EOFError from error
        *whole, self._rest = self._rest.split(b"\n")
        return whole

    def abandon(self) -> str:
        """Kills it and waits 0.1 s at most. In state D it stays behind, and nothing waits for it; says which."""
        self.socket.close()
        try:
            os.kill(self.pid, signal.SIGKILL)
            deadline = time.monotonic() + REAP_SECONDS
            while not os.waitpid(self.pid, os.WNOHANG)[0]:
                if time.monotonic() >= deadline:
                    return f"its reader, pid {self.pid}, cannot be killed and was left behind in state {self._state()}"
                time.sleep(0.001)
        except (ProcessLookupError, ChildProcessError):
            pass
        return "its reader was killed"

    def _state(self) -> str:
        """The kernel's letter for its state. Only `stat` is read: cmdline and environ of a process in
        state D may block the reader."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0].decode()
        except (OSError, IndexError):
            return "?"


class Reader:
    """Reads sections through workers. Either `read`, which waits; or `begin`, then `step` whenever
    `fileno()` is readable or `timeout()` seconds have passed, while `busy`.

    What hung once is not read again: `hung` tells since when.
    """

    def __init__(self, host: Host, probes: Probes) -> None:
        """Forks the first worker at once: do this before any thread and before the store is opened."""
        self.host = host
        self._probes = probes
        self._worker = Worker(host, probes)
        self._jobs: list[Job] = []
        self._current: Key | None = None
        self._deadline = self._probe_deadline = 0.0
        self.hung: dict[Key, str] = {}

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    def fileno(self) -> int:
        return self._worker.socket.fileno()

    def timeout(self) -> float | None:
        """Seconds until `step` must be called whether or not anything arrived; None when idle."""
        return max(0.0, min(self._deadline, self._probe_deadline) - time.monotonic()) if self.busy else None

    def read(self, jobs: Sequence[Job], budget: float) -> Iterator[Finished]:
        """Each job's reading as it is finished. Ends within `budget` seconds, and a tenth for each worker given up."""
        yield from self.begin(jobs, budget)
        yield from self.rest()

    def rest(self) -> Iterator[Finished]:
        """What was asked for and is not finished yet."""
        while self.busy:
            self._wait(self.timeout() or 0)
            yield from self.step()

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        """Asks for these. Returns at once what will not be read because it hung before."""
        if self.busy:
            raise RuntimeError("a Reader answers one question at a time")
        skipped = [(job.key, self._skipped(job)) for job in jobs if job.key in self.hung]
        self._jobs = [job for job in jobs if job.key not in self.hung]
        self._deadline = time.monotonic() + budget
        self._ask()
        return skipped

    def step(self) -> list[Finished]:
        """Takes in what has arrived and applies the budgets; returns what is finished now."""
        finished: list[Finished] = []
        try:
            for line in self._worker.lines():
                finished += self._take(line)
        except EOFError:
            finished += self._give_up("failed")
        if self.busy and not self.timeout():
            finished += self._give_up("timed_out")
        return finished

    def tree(self, root: Target, budget: float = 1.0) -> tuple[Target, ...]:
        """The process and its live descendants, named; empty where that could not be learned in time."""
        if self.busy:
            raise RuntimeError("a Reader answers one question at a time")
        deadline = time.monotonic() + budget
        try:
            self._worker.send(AskTree(*root))
            return self._await_tree(deadline)
        except (EOFError, OSError):
            self._replace()
            return ()

    def close(self) -> None:
        """Ends the worker, whatever it is doing; one that is stuck is left behind."""
        self._jobs = []
        self._worker.abandon()

    def _ask(self) -> None:
        self._current = None
        self._probe_deadline = self._deadline
        if not self._jobs:
            return
        question = Ask(tuple((job.area, job.target.name, job.target.pid) for job in self._jobs))
        try:
            self._worker.send(question)
        except OSError:
            self._replace()
            self._worker.send(question)

    def _take(self, line: bytes) -> list[Finished]:
        message = answer(line)
        if isinstance(message, Begin):
            self._current = Key(*message.of)
            budget = self._probes[self._current.area].budget
            self._probe_deadline = time.monotonic() + budget
            return []
        if isinstance(message, (Read, Failed)):
            key = Key(*message.of)
            self._jobs = [job for job in self._jobs if job.key != key]
            return [(key, self._reading(key, message))]
        return []

    def _reading(self, key: Key, message: Read | Failed) -> Reading:
        if isinstance(message, Failed):
            return Reading("failed", message.why, message.ms)
        try:
            section = decoder_of(self._probes[key.area].section)(message.section)
        except msgspec.MsgspecError as error:
            return Reading("failed", f"the probe sent what its facts do not allow: {error}", message.ms)
        return reading_of(section, message.ms)

    def _give_up(self, outcome: Literal["failed", "timed_out"]) -> list[Finished]:
        """Leaves the worker behind with what it was reading, and asks another for the rest."""
        key = self._current or (self._jobs[0].key if self._jobs else None)
        spent = time.monotonic() >= self._deadline
        fate = self._replace()
        if key is None:
            return []
        self._jobs = [job for job in self._jobs if job.key != key]
        finished: list[Finished] = [(key, self._given_up(key, outcome, fate))]
        if spent:
            finished += [(job.key, Reading("skipped", "the snapshot's budget was spent")) for job in self._jobs]
            self._jobs = []
        self._ask()
        return finished

    def _given_up(self, key: Key, outcome: Literal["failed", "timed_out"], fate: str) -> Reading:
        if outcome == "failed":
            return Reading("failed", "the reader process ended while it read this")
        self.hung[key] = time.strftime("%H:%M:%S")
        return Reading("timed_out", f"hung since {self.hung[key]}: no answer in time; {fate}")

    def _skipped(self, job: Job) -> Reading:
        return Reading("skipped", f"hung since {self.hung[job.key]}; not read again in this run")

    def _replace(self) -> str:
        """What became of the old worker."""
        fate = self._worker.abandon()
        self._worker = Worker(self.host, self._probes)
        return fate

    def _await_tree(self, deadline: float) -> tuple[Target, ...]:
        while (left := deadline - time.monotonic()) > 0:
            self._wait(left)
            for message in map(answer, self._worker.lines()):
                if isinstance(message, Tree):
                    return tuple(Target(*target) for target in message.targets)
        raise EOFError

    def _wait(self, seconds: float) -> None:
        """Until something arrives. poll(2), because select(2) refuses descriptors above 1023."""
        poll = select.poll()
        poll.register(self, select.POLLIN)
        poll.poll(math.ceil(seconds * 1000))
