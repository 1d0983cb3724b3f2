"""What a run needs of a reader process."""

import math
import select
from collections.abc import Iterator, Sequence
from typing import Protocol

from fingerprint.snapshot import Job, Key, Reading
from probes.kit.probe import Target

Finished = tuple[Key, Reading]


class Reader(Protocol):
    """Asked with `begin`, then stepped whenever `fileno()` is readable or `timeout()` has passed, while `busy`.

    Only `tree` waits, and no longer than its budget. hung: what was given up, and since when.
    """

    hung: dict[Key, str]

    @property
    def busy(self) -> bool: ...
    def fileno(self) -> int: ...
    def timeout(self) -> float | None: ...
    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]: ...
    def step(self) -> list[Finished]: ...
    def tree(self, root: Target, budget: float) -> tuple[Target, ...]: ...


def rest_of(reader: Reader) -> Iterator[Finished]:
    """What was asked for and is not finished yet; the reader's own budgets end it."""
    while reader.busy:
        poll = select.poll()
        poll.register(reader.fileno(), select.POLLIN)
        poll.poll(math.ceil((reader.timeout() or 0) * 1000))
        yield from reader.step()


def soonest(*timeouts: float | None) -> float | None:
    """The shortest of several timeouts, of which None are without end."""
    return min((seconds for seconds in timeouts if seconds is not None), default=None)
