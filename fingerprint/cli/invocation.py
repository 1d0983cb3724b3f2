"""What a verb works with: the settings in force, the readers, the store. Each is made when first asked for."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fingerprint.areas import host_areas, names_of_host, probes_of
from fingerprint.cli.saying import say
from fingerprint.redaction_key import RedactionKey, redaction_key
from fingerprint.settings import Settings, load
from fingerprint.snapshot import Job, Snapshot
from fingerprint.trouble import Trouble
from probes import NOT_OF_THE_HOST
from probes.kit.facts import Section
from probes.kit.probe import Probe, Target, areas
from probes.kit.redact import Redactor

if TYPE_CHECKING:
    from fingerprint.noise import Learned
    from fingerprint.service.client import Client
    from fingerprint.store import FoundRun, Store, Stores
    from probes.kit.host import Host


class Invocation:
    """flags: dotted settings keys -> values, None where the flag was not given. replay: a recording's folder."""

    def __init__(self, flags: Mapping[str, Any] | None = None, replay: str | None = None) -> None:
        self._flags = flags or {}
        self._replay = replay

    @cached_property
    def settings(self) -> Settings:
        return load(os.environ, self._flags)

    @cached_property
    def key(self) -> RedactionKey:
        return redaction_key(self.settings, os.environ)

    @cached_property
    def redactor(self) -> Redactor:
        """Says on standard error where the key dies with this process."""
        if self.key.trouble:
            say(self.key.trouble)
        return Redactor(self.key.secret, self.settings.redaction.allow)

    @cached_property
    def host(self) -> "Host":
        """This machine, or the recorded one. Raises Trouble for a folder that holds no recording."""
        if self._replay is not None:
            return _replayed(self._replay)
        from probes.kit.host import Host

        return Host(redactor=self.redactor, nvml=self.settings.nvml_options, deep=self.settings.deep)

    def probes(self, only: Sequence[str] = ()) -> Mapping[str, Probe[Section]]:
        """Those of `only`, or of every area that the settings do not skip; with the seconds that settings give it."""
        return probes_of(only or self._not_skipped(areas()), self.settings)

    def _not_skipped(self, names: Iterable[str]) -> list[str]:
        return [area for area in names if area not in self.settings.areas.skip]

    def areas_of_host(self) -> list[str]:
        """Those that the settings do not skip."""
        return self._not_skipped(names_of_host())

    def snapshot(
        self, only: Sequence[str] = (), meanwhile: Sequence[str] = (), processes: Sequence[Target] = ()
    ) -> Snapshot:
        """Of the host's areas, now. The reader is forked first, before a store is opened.

        meanwhile: modules that will be needed, imported while the host is read. processes: to be read as well.
        """
        from fingerprint.reader import Reader, take_snapshot

        more = NOT_OF_THE_HOST if processes else ()
        probes = self.probes(only or self._not_skipped((*names_of_host(), *more)))
        reader = Reader(self.host, probes)
        try:
            jobs = [*(Job(area) for area in host_areas(probes)), *_about(processes, probes)]
            return take_snapshot(
                reader, jobs, self.redactor.key_id, self.settings.budget_s, lambda: [*map(import_module, meanwhile)]
            )
        finally:
            reader.close()

    @cached_property
    def environ(self) -> Mapping[str, str]:
        """The environment, with the store that the settings name."""
        return {**os.environ, "FINGERPRINT_STORE": self.settings.store} if self.settings.store else os.environ

    @cached_property
    def service(self) -> "Client | None":
        """The service of this host, where its socket is there and this user's to use. Nothing was asked of it yet."""
        from fingerprint.service.client import Client

        return None if self._replay is not None else Client.if_there(os.environ, self.settings.service.socket)

    def store(self) -> "Store":
        """The user's own, for writing."""
        from fingerprint.store import Store, default_path

        return Store.open(default_path(self.environ))

    @cached_property
    def stores(self) -> "Stores":
        """For reading: the user's own and the service's. Says which of them cannot be read."""
        from fingerprint.store import Stores

        stores = Stores.open(self.environ)
        if self.service is not None:
            from fingerprint.cli.served import with_its_store

            stores = with_its_store(self, stores)
        for sentence in stores.unreadable:
            say(sentence)
        return stores

    def run(self, text: str) -> "FoundRun":
        """The run or series that an argument means. Raises Trouble, also where it means a snapshot."""
        from fingerprint.store import FoundSnapshot

        found = self.stores.resolve(text)
        if isinstance(found, FoundSnapshot):
            raise Trouble(f"'{text}' is a snapshot, and this verb is for runs")
        return found

    def noise_of(self, host: str) -> "Learned | None":
        """What was learned of this host; nothing, and it is said why, where the file cannot be used."""
        from fingerprint.noise import learned_of

        try:
            return learned_of(host, self.environ)
        except Trouble as trouble:
            say(str(trouble))
            return None

    @property
    def is_terminal(self) -> bool:
        return sys.stdout.isatty()

    @property
    def color(self) -> bool:
        return self.settings.colored(os.environ, terminal=self.is_terminal)

    @property
    def width(self) -> int:
        """Columns of the terminal, 80 when piped, 120 at most: longer lines are hard to read."""
        import shutil

        return min(shutil.get_terminal_size((80, 24)).columns, 120) if self.is_terminal else 80


def _replayed(folder: str) -> "Host":
    from fingerprint.testing import Replay, load

    try:
        return Replay(load(folder))
    except ValueError as error:
        raise Trouble(str(error)) from None


def _about(processes: Sequence[Target], probes: Mapping[str, Probe[Section]]) -> Iterator[Job]:
    """What is read of processes at a border of a run; of those below another not the environment, which is its."""
    due = [probe for probe in probes.values() if probe.of != "host" and probe.cadence == "border"]
    return (
        Job(probe.area, target)
        for target in processes
        for probe in due
        if probe.of == "process" or "." not in target.name
    )
