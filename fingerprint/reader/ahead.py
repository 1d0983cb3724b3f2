"""The first snapshot of a run is read while the run is made ready, and what its command is given while that is
written."""

import os
import time
from collections.abc import Sequence

from msgspec.structs import replace

from fingerprint.reader.given import AREA, SECONDS
from fingerprint.reader.reader import Finished, Reader
from fingerprint.reader.take import take_snapshot
from fingerprint.snapshot import Job, Snapshot
from probes.kit.probe import MAIN, Target


class Ahead(Reader):
    """A Reader that may be asked before its answers are wanted: they wait in its socket for whoever begins next.

    asked_at: since when it has been at that, in ns since 1970; 0 where it is not.
    """

    asked_at = 0

    def ask(self, jobs: Sequence[Job], budget: float) -> None:
        """What hangs from now on has `budget` seconds, whenever the answers are taken."""
        self.asked_at = time.time_ns()
        super().begin(jobs, budget)

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        """Of what was asked ahead nothing had hung before."""
        if not self.asked_at:
            return super().begin(jobs, budget)
        self.asked_at = 0
        return []


def snapshot_of(reader: Ahead, jobs: Sequence[Job], redaction_key: str, budget: float) -> Snapshot:
    """As `take_snapshot`; of the moment at which it was asked for, where that was ahead. The jobs are the same then."""
    asked_at = reader.asked_at
    snapshot = take_snapshot(reader, jobs, redaction_key, budget)
    if not asked_at:
        return snapshot
    waited_ms = (snapshot.taken_at - asked_at) / 1e6
    return replace(snapshot, taken_at=asked_at, duration_ms=round(snapshot.duration_ms + waited_ms, 3))


def ask_for_given(reader: Ahead) -> None:
    """What `read_given` is about to be asked for."""
    reader.ask([Job(AREA, Target(MAIN, os.getpid()))], SECONDS)
