"""One reader for several runs, which ask it in turn: a host has many servers, and one sampler."""

import time
from collections.abc import Sequence

from fingerprint.reader import Reader
from fingerprint.runs.readers import Finished, rest_of
from fingerprint.service.recent import Pace, Recent
from fingerprint.snapshot import Job, Key
from probes.kit.probe import Target

IDLE_SECONDS, READ_SECONDS = 20.0, 2.0
"""After which a reader's process is ended, and one that has read sections, which takes it several MB that it keeps:
another costs milliseconds, and less than one process more of each server each minute."""


class Shared:
    """The reader, and whose question it answers now. Asked by one thread at a time."""

    def __init__(self, reader: Reader, recent: Recent | None = None) -> None:
        """recent: what others have read of the host, and are given of what is read here."""
        self.reader = reader
        self.recent = recent or Recent()
        self.asked_by: Turn | None = None
        self._asked_at = 0.0
        self._has_read = False

    def taken_by(self, turn: "Turn") -> Reader:
        """Free for this one: whoever asked before has all his answers first."""
        if self.asked_by is not turn:
            if self.asked_by is not None and self.reader.busy:
                self.asked_by.answers += self.kept(list(rest_of(self.reader)))
            self.asked_by = turn
            self.reader.hung = turn.hung
        return self.reader

    def ask(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        self._asked_at = time.monotonic()
        self._has_read = True
        return self.reader.begin(jobs, budget)

    def kept(self, finished: list[Finished]) -> list[Finished]:
        self.recent.keep(finished, self._asked_at)
        return finished

    def release(self) -> None:
        """The memory of its process, while nobody asks."""
        if self.reader.release(READ_SECONDS if self._has_read else IDLE_SECONDS):
            self._has_read = False

    def close(self) -> None:
        self.reader.close()


class Turn:
    """A run's reader (`runs.readers.Reader`). hung: of this run; the targets of two runs go by the same names.

    answers: that were finished while somebody else asked, and are not taken yet.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.hung: dict[Key, str] = {}
        self.answers: list[Finished] = []
        self._pace = Pace()

    @property
    def busy(self) -> bool:
        return bool(self.answers) or (self._is_asking and self._shared.reader.busy)

    @property
    def _is_asking(self) -> bool:
        return self._shared.asked_by is self

    def fileno(self) -> int:
        return self._shared.reader.fileno()

    def timeout(self) -> float | None:
        if self.answers:
            return 0.0
        return self._shared.reader.timeout() if self._is_asking else None

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        if self.busy:
            raise RuntimeError("a Reader answers one question at a time")
        self._shared.taken_by(self)
        known = dict(self._shared.recent.readings([job.key for job in jobs], self._pace.asked(time.monotonic())))
        return [*known.items(), *self._shared.ask([job for job in jobs if job.key not in known], budget)]

    def step(self) -> list[Finished]:
        taken, self.answers = self.answers, []
        if self._is_asking and self._shared.reader.busy:
            taken += self._shared.kept(self._shared.reader.step())
        return taken

    def tree(self, root: Target, budget: float = 1.0) -> tuple[Target, ...]:
        if self.busy:
            raise RuntimeError("a Reader answers one question at a time")
        return self._shared.taken_by(self).tree(root, budget)
