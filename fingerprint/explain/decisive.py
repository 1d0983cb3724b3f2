"""What decides together with a suspect although it did not change: a limit's default, the driver's branch, a quota."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fingerprint.diff.changes import Change, Paired
from fingerprint.diff.folding import starred
from fingerprint.diff.known import ProbeOf
from fingerprint.diff.pairing import keys_of_b
from fingerprint.explain.contract import Beside
from fingerprint.explain.rank import Ranked
from fingerprint.explain.subject import Subject
from fingerprint.explain.values import plain
from fingerprint.places import place_of
from fingerprint.runs.effective import Resolved, Standing, resolve
from fingerprint.runs.record import Held
from fingerprint.snapshot import Key
from fingerprint.walk import Names, matching, value_at
from probes.kit.facts import NOT_READ, Document, Gap, Map, Redacted, Section
from probes.kit.probe import MAIN, Probe

MOST = 3
SAYS_NOTHING = frozenset(("", "0", "none", "no", "default", "max", "unlimited", "normal", "unknown", "not active"))
"""Words, beside 0 and an empty list, by which a fact decides nothing: no limit, no such thing, nobody set it."""
OFF = frozenset(("disabled", "off", "inactive"))


class _Side(NamedTuple):
    """One section of one side."""

    standing: Standing
    resolved: Resolved

    def at(self, names: Names) -> Any:
        """NOT_READ of what changed while the run ran."""
        held = self.standing.held.get(names)
        if isinstance(held, Held):
            return held.values[0][0] if len(held.values) == 1 and not held.others else NOT_READ
        return NOT_READ if names in self.resolved.unsteady else value_at(self.resolved.section, names)


class Unchanged:
    """Looks up what was equal in both, and decodes only the sections that it needs, each once."""

    def __init__(self, a: Subject, b: Subject, pairing: Sequence[Paired], known: ProbeOf) -> None:
        self._sides = a.state.sections, b.state.sections
        self._known = known
        self._theirs = {ours: theirs for theirs, ours in keys_of_b(pairing).items()}
        self._decoded: dict[Key, tuple[_Side, _Side] | None] = {}

    def beside(self, ranked: Ranked) -> tuple[Beside, ...]:
        """Of the rules by which it leads to the number; what is off stands behind what says more."""
        globs = dict.fromkeys(glob for rule in ranked.rules for glob in rule.beside)
        changes = ranked.change.changes
        found = [line for glob in globs if (line := self._line(glob, changes)) and _says_something(line.value)]
        return tuple(sorted(found, key=lambda line: line.value in OFF if isinstance(line.value, str) else False)[:MOST])

    def _line(self, glob: str, changes: Sequence[Change]) -> Beside | None:
        """None unless all that the glob leads to was seen, equal in both and alike on all items."""
        area, *parts = glob.split("/")
        probe, target = self._known(area), changes[0].key.root or MAIN
        key, below = (Key(area, target), parts[1:]) if probe and probe.of != "host" else (Key(area), parts)
        both = self._both(key, probe) if probe else None
        if probe is None or both is None:
            return None
        items = _items(changes) if changes[0].key == key else frozenset()
        places = [names for names in matching(both[0].resolved.section, below) if not items or items & {*names}]
        values = [self._equal(both, names) for names in places]
        place = place_of(probe.section, places[0]) if places else None
        if place is None or NOT_READ in values or any(value != values[0] for value in values):
            return None
        text = starred([key.path(names) for names in places])
        return Beside(fact=text, value=plain(values[0]), unit=place.fact.unit, says=place.fact.why)

    def _both(self, key: Key, probe: Probe[Section]) -> tuple[_Side, _Side] | None:
        if key not in self._decoded:
            self._decoded[key] = self._decode(key, probe)
        return self._decoded[key]

    def _decode(self, key: Key, probe: Probe[Section]) -> tuple[_Side, _Side] | None:
        standing = [side.get(key) for side in self._sides]
        try:
            a, b = (_Side(s, resolve(s, probe.section)) for s in standing if s is not None and s.blob is not None)
        except (msgspec.ValidationError, ValueError):  # of another release, or not read in both
            return None
        return a, b

    def _equal(self, both: tuple[_Side, _Side], names: Names) -> Any:
        """The value; NOT_READ where it was not seen equal, or is more than a value."""
        a, b = both
        value = a.at(names)
        other = b.at(tuple(self._theirs.get(name, name) for name in names))
        return NOT_READ if value != other or isinstance(value, _NO_VALUE) else value


_NO_VALUE = (Gap, Redacted, Document, Map, Section)


def _items(changes: Sequence[Change]) -> frozenset[str]:
    """The devices of the change: what decides is looked up on these."""
    return frozenset(one.names[one.pattern.index(None)] for one in changes if None in one.pattern)


def _says_something(value: Any) -> bool:
    return value not in SAYS_NOTHING if isinstance(value, str) else bool(value)
