"""One line for the same change on many devices or processes."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from fingerprint.diff.changes import Change, Folded
from probes.kit.facts import Redacted
from probes.kit.paths import FactPath

_NAMED = frozenset(("libraries",))
"""Areas of packages: two that went from 2.5.1 to 2.6.0 are no two devices, and each name tells what none stands for."""


def fold_alike(changes: Sequence[Change], ends: Sequence[int], targets: Mapping[str, int]) -> list[Folded]:
    """Changes of one pattern with the same before and after become one; of other parts, and of what cannot be
    compared, also those whose values differ. `targets`: how many targets each area has in both runs."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for i, change in enumerate(changes):
        groups[_likeness(change), _likeness(changes[ends[i]]) if ends[i] != i else None].append(i)
    texts = {i: text_of([changes[j] for j in group]) for group in groups.values() for i in group}
    return [_folded([changes[i] for i in group], texts, group[0], ends, targets) for group in groups.values()]


def _folded(
    group: list[Change], texts: Mapping[int, str], first: int, ends: Sequence[int], targets: Mapping[str, int]
) -> Folded:
    follows = texts[ends[first]] if ends[first] != first else None
    return Folded(first=group[0], changes=tuple(group), text=texts[first], on=_on(group, targets), follows=follows)


def _likeness(change: Change) -> Hashable:
    target = change.key.root
    if change.verdict == "another part" and None in change.pattern:
        return change.key.area, target, change.pattern, change.verdict
    if change.verdict == "not comparable":
        return change.key.area, target, _hidden(change), change.verdict, change.says
    place = change.names if change.key.area in _NAMED else change.pattern
    return change.key.area, target, place, change.verdict, repr(change.before), repr(change.after)


def _hidden(change: Change) -> Hashable:
    """Variables whose digests cannot be compared are one line: their collection's."""
    hidden = isinstance(change.before, Redacted) and len(change.pattern) > 1
    return (*change.pattern[:-1], None) if hidden else change.pattern


def text_of(group: Sequence[Change]) -> str:
    return starred([change.path for change in group])


def starred(paths: Sequence[FactPath]) -> str:
    """The one path; of several of one length, the path with `*` where they differ."""
    if len(paths) == 1:
        return str(paths[0])
    return "/".join("*" if len(set(part)) > 1 else str(FactPath(part[:1])) for part in zip(*paths, strict=True))


def _on(group: Sequence[Change], targets: Mapping[str, int]) -> str:
    """How many of how many; over several processes, of the processes. A package bears a name: its path tells all."""
    if len({change.key.target for change in group}) > 1:
        return f"{len({change.key.target for change in group})}/{targets.get(group[0].key.area, len(group))}"
    if len(group) == 1 and (group[0].among == 1 or group[0].key.target):
        return ""
    return f"{len(group)}/{max(len(group), group[0].among)}"
