"""What `gate` reads, and how often: the host, the process that asks, the baseline, what is kept of before."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fingerprint.areas import host_areas, names_of_host
from fingerprint.cli.invocation import Invocation
from fingerprint.cli.saying import say
from fingerprint.reader import Reader, read_given, take_snapshot, with_given
from fingerprint.snapshot import Job, Key, Reading, Snapshot
from fingerprint.trouble import Trouble
from probes.kit.facts import Section
from probes.kit.probe import MAIN, Probe, Target

if TYPE_CHECKING:
    from fingerprint.gate.baseline import Baseline
    from fingerprint.gate.contract import Check, Verdict
    from fingerprint.gate.policy import Policy
    from fingerprint.gate.verdict import Asked

DRIVER = "/proc/driver/nvidia/version"
OWN_SECONDS = 4.0
HISTORY = 20
LINE_SECONDS = 10.0
"""How often progress is told where no terminal is: nobody reads a log of ten minutes second by second."""


class Gate(AbstractContextManager["Gate"]):
    """Holds the reader, which is forked before the store is opened."""

    def __init__(self, policies: "tuple[Policy, ...]", baseline: str | None, *, quiet: bool) -> None:
        for policy in policies:
            if baseline is None and policy.needs_baseline:
                raise Trouble(f"{policy.needs_baseline}: same_as_baseline needs a baseline: add --baseline RUN")
        self.invocation = Invocation()
        self._policies, self._named, self._quiet = policies, baseline, quiet
        self._reader = self._forked()
        self._now: Snapshot | None = None
        self._own: Mapping[Key, Reading] = {}
        self._again: frozenset[str] = frozenset()
        self._told_at = -LINE_SECONDS

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def verdict(self, seconds: float) -> "Verdict":
        """Of now, or of the moment when what settles by itself has settled: after so many seconds at the latest."""
        first = self._look()
        if not seconds:
            return first
        from fingerprint.gate.wait import Clock, wait

        looks = iter([first])
        verdict, waited = wait(
            lambda: next(looks, None) or self._look(), self.asked.rules, seconds, self._tell,
            Clock(time.monotonic, time.sleep),
        )  # fmt: skip
        if not self._again:
            return verdict
        self._again = frozenset()  # whatever else may have changed meanwhile
        return self._look(waited)

    @cached_property
    def asked(self) -> "Asked":
        from fingerprint.gate.verdict import Asked

        return Asked(policies=self._policies, baseline=self._baseline, earlier=self._earlier)

    def _forked(self) -> Reader:
        """A reader that knows the host's areas, and those about the process that asks which somebody wants."""
        skip = self.invocation.settings.areas.skip
        wanted = {rule.fact.partition("/")[0] for policy in self._policies for rule in policy.expectations}
        own = [area for area in ("container",) if area in wanted and area not in skip]
        probes = self.invocation.probes([*(area for area in names_of_host() if area not in skip), *own])
        self._jobs = [Job(area) for area in host_areas(probes)]
        self._own_jobs = [Job(area, Target(MAIN, os.getpid())) for area in own]
        asked = self._named is not None or "process" in wanted or self._may_have_gpus
        self._wants_given = asked and "process" not in skip
        return Reader(self.invocation.host, self._and_given(probes) if self._wants_given else probes)

    @property
    def _may_have_gpus(self) -> bool:
        """Then it matters how many CPUs a command that is started here would get."""
        nvml = self.invocation.settings.nvml
        return os.path.exists(DRIVER) if nvml == "auto" else nvml != "off"

    def _and_given(self, probes: "Mapping[str, Probe[Section]]") -> "Mapping[str, Probe[Section]]":
        from fingerprint.runs.wrap import inherited_environment, working_directory

        return with_given(probes, (), inherited_environment(), working_directory())

    def _look(self, waited: float = 0) -> "Verdict":
        self._read()
        import datetime as dt

        from fingerprint.gate.verdict import decide

        assert self._now is not None
        return decide(self.asked, self._now, self._own, dt.datetime.now(dt.timezone.utc).date(), waited)

    def _read(self) -> None:
        """All that was asked for; of what is waited for, those areas alone."""
        jobs = [job for job in self._jobs if not self._again or job.area in self._again]
        invocation = self.invocation
        taken = self._by_service(jobs) or take_snapshot(
            self._reader, jobs, invocation.redactor.key_id, invocation.settings.budget_s, self._import
        )
        earlier = self._now.readings if self._now else {}
        self._now = replace(taken, readings={**earlier, **taken.readings})
        if not self._again:
            self._own = dict(self._of_own())

    def _by_service(self, jobs: Sequence[Job]) -> Snapshot | None:
        """It may read what this user may not."""
        if self.invocation.service is None:
            return None
        from fingerprint.cli.served import now

        return now(self.invocation, [job.area for job in jobs])

    def _import(self) -> None:
        """What is needed once the host is read, meanwhile."""
        for module in ("fingerprint.gate.verdict", *(("fingerprint.gate.baseline",) if self._named else ())):
            import_module(module)

    def _of_own(self) -> Iterator[tuple[Key, Reading]]:
        if self._own_jobs:
            yield from self._reader.read(self._own_jobs, OWN_SECONDS)
        if self._wants_given:
            yield Key("process", MAIN), read_given(self._reader)

    @cached_property
    def _baseline(self) -> "Baseline | None":
        if self._named is None:
            return None
        from fingerprint.comparing import baseline

        return baseline(self.invocation.stores.resolve(self._named), self._named)

    def _earlier(self) -> Iterator[Snapshot]:
        """The newest that are kept of this host."""
        assert self._now is not None
        for store in self.invocation.stores.stores:
            for row in store.snapshots(host=self._now.host, limit=HISTORY):
                yield store.snapshot(row.id)

    def _tell(self, waits: "Sequence[Check]", waited: float) -> None:
        self._again = frozenset(check.facts[0].partition("/")[0] for check in waits)
        if self._quiet or waited - self._told_at < LINE_SECONDS:
            return
        self._told_at = waited
        more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
        say(f"waiting since {waited:.0f} s: {waits[0].says}{more}")
