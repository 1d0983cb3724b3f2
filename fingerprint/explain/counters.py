"""Counters that stand still where all is well, and counters that fell."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from fingerprint.diff.folding import starred
from fingerprint.diff.known import ProbeOf, fact_at, split
from fingerprint.explain.contract import ChangedFact
from fingerprint.explain.observed import Observed, level
from fingerprint.places import pattern_of
from probes.kit.paths import FactPath, parse_path

Kind = tuple[str, str, tuple[str | None, ...]]
"""Area, target and pattern: the same counter of all devices."""


def grew(seen: Iterable[Observed], known: ProbeOf) -> Iterator[ChangedFact]:
    """Counters of trouble that stood still in one run only; those of several devices are one line."""
    trouble = [o for o in seen if o.fact and o.fact.trouble]
    kinds = {o.path: _kind(o.path, known) for o in trouble}
    among = Counter(kinds.values())
    groups: dict[Any, list[Observed]] = defaultdict(list)
    for o in trouble:
        if bool(level(o.a)) != bool(level(o.b)):
            groups[kinds[o.path], bool(level(o.b))].append(o)
    for (kind, _), group in groups.items():
        rates = {o.path: (round(level(o.a), 3), round(level(o.b), 3)) for o in group}
        yield _told("grew", rates, among[kind], f"{group[0].unit or 'count'}/s", "growth while the run ran")


def was_reset(paths: Iterable[str], known: ProbeOf) -> Iterator[ChangedFact]:
    """Those of several devices are one line here too."""
    groups: dict[Kind, list[str]] = defaultdict(list)
    for path in paths:
        groups[_kind(path, known)].append(path)
    for group in groups.values():
        nothing = dict.fromkeys(group, (None, None))
        yield _told("was reset", nothing, 1, _unit(group[0], known), "the counter fell while a run ran")


def _unit(path: str, known: ProbeOf) -> str:
    fact = fact_at(parse_path(path), known)
    return fact.unit if fact else ""


def _kind(path: str, known: ProbeOf) -> Kind:
    key, names = split(parse_path(path), known)
    probe = known(key.area)
    return key.area, key.target, pattern_of(probe.section, names) if probe else names


def _told(
    verdict: Literal["grew", "was reset"], sides: Mapping[str, tuple[Any, Any]], among: int, unit: str, says: str
) -> ChangedFact:
    """sides: by path. among: how many devices have the counter."""
    paths: list[FactPath] = [parse_path(path) for path in sides]
    (before, after), *others = sides.values()
    alike = all(pair == (before, after) for pair in others)
    return ChangedFact(
        fact=starred(paths), kind="counter", verdict=verdict, before=before if alike else None,
        after=after if alike else None, unit=unit, on=f"{len(paths)}/{among}" if among > 1 else "",
        values={} if alike else sides, follows=None, suspect=None, context=False, says=says,
    )  # fmt: skip
