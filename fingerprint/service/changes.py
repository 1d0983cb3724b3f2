"""Which states changed for good, from one snapshot to the next.

A value that was seen once may be the middle of something; seen twice in a row it stands, and is one event: between the
last snapshot with the old value and the first with the new one.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fingerprint.explain.values import plain
from fingerprint.snapshot import Key, Reading, Snapshot
from fingerprint.walk import Names, differences, value_at
from probes.kit.facts import Gap, Section
from probes.kit.paths import FactPath

UNTOLD = frozenset(("failed", "timed_out", "asleep", "settling", "not_observable", "not_read", "denied"))
"""Gaps that tell of a reading, not of the host."""


class Change(NamedTuple):
    """since, until: ns since 1970, between which it changed. was, is_: as the contracts write values."""

    path: FactPath
    was: Any
    is_: Any
    since: int
    until: int


class _Seen(NamedTuple):
    """A value that differs from what stands, and between which snapshots it came up."""

    value: Any
    since: int
    until: int


class _Area:
    """What stands of one section: as it was first read, and what came in its place since."""

    def __init__(self, section: Section, digest: str, at: int) -> None:
        self._first, self._digest = section, digest
        self._since: dict[Names, Any] = {}
        self._new: dict[Names, _Seen] = {}
        self._untold: dict[Names, int] = {}  # when they were told last
        self._last = at

    def stands(self, digest: str, at: int) -> bool:
        """Whether it holds what it held from the beginning on, which need not be decoded to be told."""
        stands = digest == self._digest and not self._since and not self._new
        if stands:
            self._last = at
            self._untold.clear()
        return stands

    def take(self, key: Key, section: Section, at: int) -> Iterator[Change]:
        found = {one.names: one for one in differences(self._first, section) if one.fact.lasting}
        names = [one for one in {**self._since, **found} if not _is_below(one, found)]
        for one in names:
            value = found[one].after if one in found else value_at(self._first, one)
            was = self._since[one] if one in self._since else value_at(self._first, one)
            yield from self._settled(key, one, was, value, at)
        self._new = {one: seen for one, seen in self._new.items() if one in names}
        self._last = at

    def _settled(self, key: Key, names: Names, was: Any, value: Any, at: int) -> Iterator[Change]:
        seen = self._new.pop(names, None)
        if _is_untold(value):
            self._untold.setdefault(names, self._last)
            return
        last = self._untold.pop(names, self._last)
        if value == was:
            return
        if seen is None or seen.value != value:
            self._new[names] = _Seen(value, last, at)
            return
        self._since[names] = value
        if not _is_untold(was):
            yield Change(key.path(names), plain(was), plain(value), seen.since, seen.until)


class Changes:
    """What stands on this host."""

    def __init__(self, types: Mapping[str, type[Section]]) -> None:
        """types: of the section of each area."""
        self._types = types
        self._areas: dict[Key, _Area] = {}

    def take(self, snapshot: Snapshot, at: int = 0) -> tuple[Change, ...]:
        """What has settled with this snapshot; nothing of the first one, which is what there is to begin from. at: ns
        since 1970, until when it was seen to hold, where that is later than when it was taken."""
        at = max(at, snapshot.taken_at)
        return tuple(change for key, reading in snapshot.readings.items() for change in self._of(key, reading, at))

    def _of(self, key: Key, reading: Reading, at: int) -> Iterator[Change]:
        blob, known = reading.lasting, self._areas.get(key)
        if blob is None or key.area not in self._types or (known and known.stands(blob.digest, at)):
            return
        try:
            section = reading.section(self._types[key.area])
        except msgspec.ValidationError:  # stored by another release
            return
        assert section is not None
        if known:
            yield from known.take(key, section, at)
        else:
            self._areas[key] = _Area(section, blob.digest, at)


def _is_below(names: Names, found: Collection[Names]) -> bool:
    """Whether it is part of an item that came or went whole."""
    return any(names[:length] in found for length in range(1, len(names)))


def _is_untold(value: Any) -> bool:
    return isinstance(value, Gap) and value.code in UNTOLD
