"""Counters that stand still where all is well, and counters that fell."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from fingerprint.diff.changes import Change, Folded
from fingerprint.diff.folding import starred
from fingerprint.diff.followers import leaders
from fingerprint.diff.known import ProbeOf, fact_at, split
from fingerprint.explain.contract import ChangedFact
from fingerprint.explain.observed import Observed, level
from fingerprint.places import pattern_of
from fingerprint.runs.record import Distribution, Growth
from fingerprint.snapshot import Key
from fingerprint.walk import Names
from probes.kit.facts import Fact
from probes.kit.paths import FactPath, parse_path

MICROSECONDS = 1e6
Pattern = tuple[str | None, ...]


def grew(seen: Iterable[Observed], known: ProbeOf) -> Iterator[Folded]:
    """Counters of trouble that stood still in one run only; those of several devices are one line."""
    trouble = [_change(o, o.fact, known) for o in seen if o.fact and o.fact.trouble]
    among = Counter(_kind(change) for change in trouble)
    told = sorted(
        (change for change in trouble if bool(change.before) != bool(change.after)),
        key=lambda change: -max(change.before, change.after),
    )
    ends = leaders(told)
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, change in enumerate(told):
        groups[_kind(change), bool(change.after), _kind(told[ends[i]])].append(i)
    texts = {i: starred([told[j].path for j in group]) for group in groups.values() for i in group}
    for group in groups.values():
        first, end = group[0], ends[group[0]]
        follows = texts[end] if end != first else None
        yield _folded([told[i] for i in group], texts[first], among[_kind(told[first])], follows)


def _folded(group: Sequence[Change], text: str, among: int, follows: str | None) -> Folded:
    """The one that grew most stands for all."""
    on = f"{len(group)}/{among}" if among > 1 else ""
    return Folded(first=group[0], changes=tuple(group), text=text, on=on, follows=follows)


def _change(o: Observed, fact: Fact, known: ProbeOf) -> Change:
    """By how much it grew on each side; a time, as a share of the run's."""
    key, names, pattern = _place(parse_path(o.path), known)
    keys = [name for name, part in zip(names, pattern, strict=True) if part is None]
    is_time = fact.unit == "us"
    unit = "%" if is_time else fact.unit
    a, b = (_figure(100 * level(side) / MICROSECONDS) if is_time else _grown(side) for side in (o.a, o.b))
    return Change(
        key=key, names=names, pattern=pattern, item=keys[-1] if keys else "", fact=replace(fact, unit=unit),
        verdict="grew", before=a, after=b,
        says="its growth, as a share of the time that the run took" if is_time else "growth while the run ran",
    )  # fmt: skip


def _grown(side: Distribution | Growth) -> int:
    return side.grown if isinstance(side, Growth) else 0


def _figure(number: float) -> int | float:
    """Four digits tell all that a share is good for."""
    rounded = float(f"{number:.4g}")
    return int(rounded) if rounded.is_integer() else rounded


def _kind(change: Change) -> tuple[Key, Pattern]:
    """The same for the same counter of all devices."""
    return change.key, change.pattern


def was_reset(paths: Iterable[str], known: ProbeOf) -> Iterator[ChangedFact]:
    """Those of several devices are one line here too."""
    groups: dict[Any, list[FactPath]] = defaultdict(list)
    for path in map(parse_path, paths):
        key, _, pattern = _place(path, known)
        groups[key, pattern].append(path)
    for group in groups.values():
        yield _was_reset(group, known)


def _was_reset(paths: Sequence[FactPath], known: ProbeOf) -> ChangedFact:
    fact = fact_at(paths[0], known)
    return ChangedFact(
        fact=starred(paths), kind="counter", verdict="was reset", before=None, after=None,
        unit=fact.unit if fact else "", on="", which=(), values={}, follows=None, suspect=None,
        context=False, says="the counter fell while a run ran",
    )  # fmt: skip


def _place(path: FactPath, known: ProbeOf) -> tuple[Key, Names, Pattern]:
    key, names = split(path, known)
    probe = known(key.area)
    return key, names, pattern_of(probe.section, names) if probe else names
