"""A day of jobs without a clock."""

from collections.abc import MutableMapping, Sequence

from fingerprint.service.schedule import Job, next_due


def due(jobs: Sequence[Job], last: MutableMapping[str, float], now: float) -> list[Job]:
    """Those that are due now, in declared order; from then on they ran now. last: when each ran last."""
    found = [job for job in jobs if _is_due(job, last.get(job.name), now)]
    last.update((job.name, now) for job in found)
    return found


def _is_due(job: Job, last: float | None, now: float) -> bool:
    at = next_due(job.seconds, last, now if last is None else last)
    return at is not None and at <= now
