"""What the kernel and the devices complained of since the last look: counters of trouble that grew."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from fingerprint.sections import leaves
from fingerprint.snapshot import Key, Reading, Snapshot
from probes.kit.facts import Section
from probes.kit.paths import Glob, parse_glob

Class = Literal["xid", "aer", "link", "oom", "thermal", "hung", "memory", "driver load"]
_GLOBS: Mapping[Class, str] = {
    "xid": "driver/log/*/xid/* driver/log/*/sxid/* driver/log/*/fallen_off_bus",
    "aer": "driver/log/*/aer_* gpu/*/pcie/errors/*",
    "link": "gpu/*/nvlink/errors/*",
    "oom": "memory/vmstat/oom_kill",
    "thermal": "cpu/packages/*/throttle_count gpu/*/clocks_event_reasons_counters/hw_thermal_slowdown",
    "hung": "kernel/troubles/*",
    "memory": "gpu/*/ecc/aggregate/uncorrected gpu/*/health/remapped_rows/uncorrectable",
    "driver load": "driver/kernel_log/driver_loads",
}
CLASSES: Mapping[Class, tuple[Glob, ...]] = {
    name: tuple(map(parse_glob, globs.split())) for name, globs in _GLOBS.items()
}


class Trouble(NamedTuple):
    """by: how many more there are than at the last look, in the counter's unit. since, until: ns since 1970."""

    kind: Class
    path: str
    by: int
    since: int
    until: int


class Troubles:
    """Counters of trouble as they stood at the last look. One that fell began anew, with a reboot or a reload: what it
    holds now is new."""

    def __init__(self, types: Mapping[str, type[Section]]) -> None:
        self._types = types
        self._counts: dict[str, int] = {}
        self._bodies: dict[Key, bytes] = {}
        self._last = 0

    def take(self, snapshot: Snapshot) -> tuple[Trouble, ...]:
        """Nothing of the first snapshot, nor of what is counted for the first time unless its area was read before."""
        found: list[Trouble] = []
        for key, reading in snapshot.readings.items():
            was_read = key in self._bodies
            if reading.lasting is None or bytes(reading.volatile) == self._bodies.get(key):
                continue
            self._bodies[key] = bytes(reading.volatile)
            for path, (kind, count) in self._counted(key, reading):
                before = self._counts.get(path, 0)
                self._counts[path] = count
                if was_read and count != before:
                    by = count - before if count > before else count
                    found += [Trouble(kind, path, by, self._last, snapshot.taken_at)] if by else []
        self._last = snapshot.taken_at
        return tuple(found)

    def _counted(self, key: Key, reading: Reading) -> Iterator[tuple[str, tuple[Class, int]]]:
        if key.area not in {glob.text.partition("/")[0] for globs in CLASSES.values() for glob in globs}:
            return
        try:
            section = reading.section(self._types[key.area])
        except (KeyError, msgspec.ValidationError):
            return
        for leaf in leaves(section) if section else ():
            path = key.path(leaf.names)
            kind = next((name for name, globs in CLASSES.items() if any(glob.matches(path) for glob in globs)), None)
            if kind and isinstance(leaf.value, int):
                yield str(path), (kind, leaf.value)
