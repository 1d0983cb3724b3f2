"""The asker's side: starts workers, applies budgets, gives up what hangs."""

import math
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from fingerprint.reader.connection import Forked, Unreachable, Worker
from fingerprint.reader.wire import Ask, AskTree, Begin, Failed, Read, Refused, Tree, answer
from fingerprint.reader.worker import Probes
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Job, Key, Provenance, Reading, reading_of
from probes.kit.host import Host
from probes.kit.probe import Target

Finished = tuple[Key, Reading]


class Reader:
    """Reads sections through workers. Either `read`, which waits; or `begin`, then `step` whenever
    `fileno()` is readable or `timeout()` seconds have passed, while `busy`.

    What hung once is not read again: `hung` tells since when. provenance: as whom the workers read, where that is not
    as this process does.
    """

    def __init__(self, host: Host, probes: Probes, workers: Callable[[], Worker] | None = None) -> None:
        """workers: gives one after another, the first one when something is asked. Without it they are forked, the
        first one at once: do this before any thread and before the store is opened."""
        self.host = host
        self.provenance: Provenance | None = None
        self.passes_on = False
        """What is read stays undecoded: `volatile` of a Reading is then the whole section, and `lasting` None."""
        self._probes = probes
        self._workers: Callable[[], Worker] = workers or (lambda: Forked(host, probes))
        self._worker_or_none = None if workers else self._workers()
        self._jobs: list[Job] = []
        self._current: Key | None = None
        self._deadline = self._probe_deadline = self._heard_at = 0.0
        self.hung: dict[Key, str] = {}

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    def fileno(self) -> int:
        return self._worker.socket.fileno()

    def timeout(self) -> float | None:
        """Seconds until `step` must be called whether or not anything arrived; None when idle."""
        return max(0.0, min(self._deadline, self._probe_deadline) - time.monotonic()) if self.busy else None

    @property
    def silence(self) -> float:
        """Seconds for which it was asked and no probe was at work. By any thread."""
        return time.monotonic() - self._heard_at if self.busy and self._current is None else 0.0

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
        except Unreachable as unreachable:
            finished += self._without_a_reader(str(unreachable))
        except EOFError:
            finished += self._give_up("failed")
        self.provenance = self._worker.provenance or self.provenance
        if self.busy and not self.timeout():
            finished += self._give_up("timed_out")
        return finished

    def tree(self, root: Target, budget: float = 1.0) -> tuple[Target, ...]:
        """The process and its live descendants, named; empty where that could not be learned in time."""
        if self.busy:
            raise RuntimeError("a Reader answers one question at a time")
        self._heard_at = time.monotonic()
        deadline = self._heard_at + budget
        try:
            self._worker.send(AskTree(*root))
            return self._await_tree(deadline)
        except (EOFError, OSError):
            self._replace()
            return ()

    def release(self, idle_seconds: float) -> bool:
        """Ends a worker that was asked nothing for so long: the next question has another. False where it works."""
        is_idle = not self.busy and time.monotonic() - self._heard_at >= idle_seconds
        if is_idle:
            self.close()
        return is_idle

    def close(self) -> None:
        """Ends the worker, whatever it is doing; one that is stuck is left behind."""
        self._jobs = []
        if self._worker_or_none:
            self._worker_or_none.abandon()
            self._worker_or_none = None

    @property
    def _worker(self) -> Worker:
        if self._worker_or_none is None:
            self._worker_or_none = self._workers()
        return self._worker_or_none

    def _ask(self) -> None:
        self._between()
        if not self._jobs:
            return
        question = Ask(tuple((job.area, job.target.name, job.target.pid) for job in self._jobs))
        try:
            self._worker.send(question)
        except OSError:
            self._replace()
            with suppress(OSError):  # gone as well: the next step says so
                self._worker.send(question)

    def _between(self) -> None:
        """No probe is at work that could hang."""
        self._current = None
        self._heard_at = time.monotonic()
        self._probe_deadline = self._deadline

    def _take(self, line: bytes) -> list[Finished]:
        message = answer(line)
        if isinstance(message, Begin):
            self._current = Key(*message.of)
            budget = self._probes[self._current.area].budget
            self._probe_deadline = time.monotonic() + budget
            return []
        if isinstance(message, Refused):
            raise Unreachable(f"the reader refused: {message.why}")
        if isinstance(message, (Read, Failed)):
            key = Key(*message.of)
            self._between()
            self._jobs = [job for job in self._jobs if job.key != key]
            return [(key, self._reading(key, message))]
        return []

    def _reading(self, key: Key, message: Read | Failed) -> Reading:
        if isinstance(message, Failed):
            return Reading("failed", message.why, message.ms)
        if self.passes_on:
            return Reading("ok", "", message.ms, volatile=message.section)
        try:
            section = decoder_of(self._probes[key.area].section)(message.section)
        except msgspec.MsgspecError as error:
            return Reading("failed", f"the probe sent what its facts do not allow: {error}", message.ms)
        return reading_of(section, message.ms)

    def _give_up(self, outcome: Literal["failed", "timed_out"]) -> list[Finished]:
        """Leaves the worker behind with what it was reading, and asks another for the rest."""
        key = self._current or (self._jobs[0].key if self._jobs and outcome == "failed" else None)
        spent = time.monotonic() >= self._deadline
        fate = self._replace()
        finished: list[Finished] = [] if key is None else [(key, self._given_up(key, outcome, fate))]
        self._jobs = [job for job in self._jobs if job.key != key]
        if spent:
            why = "the snapshot's budget was spent" if key else f"the reader did not answer in time; {fate}"
            finished += self._all_left(Reading("skipped", why))
        self._ask()
        return finished

    def _without_a_reader(self, why: str) -> list[Finished]:
        """Another is looked for now, but not asked: what holds for one worker holds for all."""
        self._replace()
        return self._all_left(Reading("failed", why))

    def _all_left(self, reading: Reading) -> list[Finished]:
        left, self._jobs = self._jobs, []
        return [(job.key, reading) for job in left]

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
        self._worker_or_none = self._workers()
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
