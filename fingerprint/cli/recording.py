"""What a run of a command and a run of a server are recorded with."""

import gc
import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.reader import Relieved
    from fingerprint.runs.plan import Plan
    from fingerprint.runs.recording import Means
    from fingerprint.snapshot import Job, Snapshot
    from fingerprint.store import Journal


def means_of(invocation: "Invocation", held: ExitStack, plan: "Plan | None" = None) -> "tuple[Means, Journal]":
    """Both readers are forked before the store is opened. plan: of a command that is to be started: the host is read
    for it from here on, while all else is made ready, and what it is given while the first snapshot is written."""
    from fingerprint.areas import host_areas
    from fingerprint.reader import Reader, Relieved, read_given, with_given
    from fingerprint.reader.ahead import Ahead, ask_for_given, snapshot_of
    from fingerprint.snapshot import Job

    probes, budget = invocation.probes(), invocation.settings.budget_s
    _live_on()
    jobs = [Job(area) for area in host_areas(probes)]
    reader = Ahead(invocation.host, with_given(probes, plan.argv, plan.env, plan.cwd) if plan else probes)
    held.callback(reader.close)
    sampler = Relieved(Reader(invocation.host, {area: probe.at_samples for area, probe in probes.items()}))
    held.callback(sampler.close)
    if plan and not plan.canary and invocation.service is None:
        reader.ask(jobs, budget)

    from fingerprint.runs.recording import Means
    from fingerprint.store import Journal, default_path

    def own() -> "Snapshot":
        is_first = reader.busy
        snapshot = snapshot_of(reader, jobs, invocation.redactor.key_id, budget)
        if is_first:
            ask_for_given(reader)
        return snapshot

    journal = Journal(default_path(invocation.environ), invocation.environ)
    held.callback(journal.close)
    means = Means(
        probes=probes,
        reader=reader,
        sampler=sampler,
        journal=journal,
        host=invocation.host,
        snapshot=lambda: _by_service(invocation, jobs, sampler) or own(),
        given=lambda: read_given(reader),
    )
    return means, journal


def _live_on() -> None:
    """From here on garbage is collected, of what is made from here on: this process lives as long as what it watches,
    and so do those that it forks."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


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
