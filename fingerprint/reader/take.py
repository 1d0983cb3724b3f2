"""Takes a snapshot through a Reader."""

import os
import platform
import time
from collections.abc import Callable, Sequence

from fingerprint.ids import new_id
from fingerprint.reader.reader import Reader
from fingerprint.snapshot import Job, Provenance, Snapshot
from fingerprint.version import __version__
from probes.kit.facts import seen_or


def take_snapshot(
    reader: Reader,
    jobs: Sequence[Job],
    redaction_key: str,
    budget: float,
    meanwhile: Callable[[], object] | None = None,
) -> Snapshot:
    """All of `jobs` at one moment, each with its outcome, within `budget` seconds.

    redaction_key: the id of the one under which this process digests; a reader service that answered has its own.
    meanwhile: called while the first sections are read, for what this process has to do anyway.
    """
    taken_at = time.time_ns()
    began = time.perf_counter()
    readings = dict(reader.begin(jobs, budget))
    if meanwhile:
        meanwhile()
    readings.update(reader.rest())
    ours = Provenance(__version__, platform.python_version(), os.geteuid(), redaction_key)
    duration_ms = round((time.perf_counter() - began) * 1000, 3)
    name = seen_or(reader.host.line("/proc/sys/kernel/hostname"), "(unnamed)")
    return Snapshot(new_id(), taken_at, duration_ms, name, reader.provenance or ours, readings)
