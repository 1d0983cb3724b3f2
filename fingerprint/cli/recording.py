"""What a run of a command and a run of a server are recorded with."""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.reader import Relieved
    from fingerprint.runs.recording import Means
    from fingerprint.runs.session import Plan
    from fingerprint.snapshot import Job, Snapshot
    from fingerprint.store import Journal


def means_of(invocation: "Invocation", held: ExitStack, plan: "Plan | None" = None) -> "tuple[Means, Journal]":
    """Both readers are forked before the store is opened. plan: of a command that is to be started."""
    from fingerprint.areas import host_areas
    from fingerprint.reader import Reader, Relieved, read_given, take_snapshot, with_given
    from fingerprint.runs.recording import Means
    from fingerprint.snapshot import Job

    probes = invocation.probes()
    reader = Reader(invocation.host, with_given(probes, plan.argv, plan.env, plan.cwd) if plan else probes)
    held.callback(reader.close)
    sampler = Relieved(Reader(invocation.host, {area: probe.at_samples for area, probe in probes.items()}))
    held.callback(sampler.close)
    jobs = [Job(area) for area in host_areas(probes)]

    from fingerprint.store import Journal, default_path

    journal = Journal(default_path(invocation.environ), invocation.environ)
    held.callback(journal.close)
    means = Means(
        probes=probes,
        reader=reader,
        sampler=sampler,
        journal=journal,
        host=invocation.host,
        snapshot=lambda: (
            _by_service(invocation, jobs, sampler)
            or take_snapshot(reader, jobs, invocation.redactor.key_id, invocation.settings.budget_s)
        ),
        given=lambda: read_given(reader),
    )
    return means, journal


def _by_service(invocation: "Invocation", jobs: "Sequence[Job]", sampler: "Relieved") -> "Snapshot | None":
    """It may read what this user may not; and whoever answers this samples the host for us."""
    if invocation.service is None:
        return None
    from fingerprint.cli.served import border, samples

    snapshot = border(invocation, [job.area for job in jobs])
    if snapshot is not None:
        sampler.relieved_by(samples(invocation))
    return snapshot


def name_of(program: str) -> str:
    """A run's name, made of a program's."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", program.rpartition("/")[2]).lstrip("-")[:100] or "run"
