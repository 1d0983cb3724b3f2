"""What a verb works with: the settings in force, the readers, the store. Each is made when first asked for."""

import os
import shutil
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from fingerprint.trouble import Trouble
from fingerprint.reader import Job, Reader, take_snapshot
from fingerprint.redaction_key import redaction_key
from fingerprint.settings import Settings, load
from fingerprint.snapshot import Snapshot, document
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Probe, areas, discover
from probes.kit.redact import Redactor

if TYPE_CHECKING:
    from fingerprint.store import FoundRun, Store, Stores


class Invocation:
    """flags: dotted settings keys -> values, None where the flag was not given."""

    def __init__(self, flags: Mapping[str, Any] | None = None) -> None:
        self._flags = flags or {}

    @cached_property
    def settings(self) -> Settings:
        return load(os.environ, self._flags)

    @cached_property
    def redactor(self) -> Redactor:
        """Says on standard error where the key dies with this process."""
        key = redaction_key(self.settings, os.environ)
        if key.trouble:
            print(f"fingerprint: {key.trouble}", file=sys.stderr)
        return Redactor(key.secret)

    @cached_property
    def host(self) -> Host:
        return Host(redactor=self.redactor)

    def probes(self, only: Sequence[str] = ()) -> Mapping[str, Probe[Section]]:
        """Those of `only`, or of every area that the settings do not skip. Raises Trouble for an unknown area."""
        known = areas()
        for area in only:
            if area not in known:
                raise Trouble(f"--area {area} is no area: there are {', '.join(known)}")
        return discover(only or [area for area in known if area not in self.settings.areas.skip])

    def snapshot(self, only: Sequence[str] = ()) -> Snapshot:
        """Of the host's areas, now. The reader is forked first, before a store is opened."""
        probes = self.probes(only)
        reader = Reader(self.host, probes)
        try:
            return take_snapshot(reader, [Job(area) for area in host_areas(probes)], self.redactor.key_id, self.settings.budget_s)
        finally:
            reader.close()

    def document(self, snapshot: Snapshot) -> dict[str, Any]:
        """The published form of a snapshot, with whatever areas this release knows."""
        known = set(areas())
        probes = discover(sorted({key.area for key in snapshot.readings} & known))
        return document(snapshot, {area: probe.section for area, probe in probes.items()})

    @cached_property
    def environ(self) -> Mapping[str, str]:
        """The environment, with the store that the settings name."""
        return {**os.environ, "FINGERPRINT_STORE": self.settings.store} if self.settings.store else os.environ

    def store(self) -> "Store":
        """The user's own, for writing."""
        from fingerprint.store import Store, default_path

        return Store.open(default_path(self.environ))

    @cached_property
    def stores(self) -> "Stores":
        """For reading: the user's own and the service's. Says which of them cannot be read."""
        from fingerprint.store import Stores

        stores = Stores.open(self.environ)
        for sentence in stores.unreadable:
            print(f"fingerprint: {sentence}", file=sys.stderr)
        return stores

    def run(self, text: str) -> "FoundRun":
        """The run or series that an argument means. Raises Trouble, also where it means a snapshot."""
        from fingerprint.store import FoundSnapshot

        found = self.stores.resolve(text)
        if isinstance(found, FoundSnapshot):
            raise Trouble(f"'{text}' is a snapshot, and this verb is for runs")
        return found

    @property
    def color(self) -> bool:
        return self.settings.colored(os.environ, terminal=sys.stdout.isatty())

    @property
    def width(self) -> int:
        """Columns of the terminal, 80 when piped, 120 at most: longer lines are hard to read."""
        return min(shutil.get_terminal_size((80, 24)).columns, 120) if sys.stdout.isatty() else 80


def host_areas(probes: Mapping[str, Probe[Section]]) -> tuple[str, ...]:
    """The areas about the host itself."""
    return tuple(area for area, probe in probes.items() if probe.of == "host")
