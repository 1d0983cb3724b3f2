"""A run's sampler where a service samples the host already: it leaves that to the service while it answers."""

from collections.abc import Sequence

from fingerprint.reader.reader import Finished, Reader
from fingerprint.snapshot import Job
from probes.kit.probe import Target

SERVICE_SECONDS = 1.0
"""Within which the service must have answered a tick."""


class Relieved:
    """Used as a Reader. What the service does not answer, or not well, is read here at once and from then on."""

    def __init__(self, own: Reader) -> None:
        self._own = own
        self._theirs: Reader | None = None
        self._refused: set[str] = set()
        self._budget = 0.0
        self.hung = own.hung

    def relieved_by(self, theirs: Reader) -> None:
        """Who reads the host from the next question on, unless somebody does already or did not answer once."""
        if self._theirs is None and not self._refused:
            self._theirs = theirs
        else:
            theirs.close()

    @property
    def busy(self) -> bool:
        return self._own.busy or self._theirs_is_busy

    @property
    def _theirs_is_busy(self) -> bool:
        return self._theirs is not None and self._theirs.busy

    @property
    def _asked(self) -> Reader:
        """Whose answer is taken now: our own first, what the service sends meanwhile waits in its socket."""
        return self._theirs if self._theirs is not None and not self._own.busy else self._own

    def fileno(self) -> int:
        return self._asked.fileno()

    def timeout(self) -> float | None:
        return self._asked.timeout()

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        if self.busy:
            raise RuntimeError("a Reader answers one question at a time")
        self._budget = budget
        left = [job for job in jobs if not job.target.pid and job.area not in self._refused] if self._theirs else []
        if self._theirs is not None and left:
            self._theirs.begin(left, SERVICE_SECONDS)
        return self._own.begin([job for job in jobs if job not in left], budget)

    def step(self) -> list[Finished]:
        if self._own.busy:
            return self._own.step()
        finished = self._theirs.step() if self._theirs is not None and self._theirs.busy else []
        refused = [key for key, reading in finished if reading.outcome != "ok"]
        self._refused.update(key.area for key in refused)
        taken = [(key, reading) for key, reading in finished if reading.outcome == "ok"]
        return taken + (self._own.begin([Job(key.area) for key in refused], self._budget) if refused else [])

    def tree(self, root: Target, budget: float = 1.0) -> tuple[Target, ...]:
        return self._own.tree(root, budget)

    def close(self) -> None:
        for each in filter(None, (self._theirs, self._own)):
            each.close()
