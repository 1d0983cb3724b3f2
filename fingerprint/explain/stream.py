"""Which way the packages of an environment went.

An upgrade moves them forward, and a downgrade back. The one that went the other way was held there by something that
let go of it, or was put there by hand. Of 1,187 packages in 61 pairs of environments on which nobody looked for a
cause 37 did (benchmarks/incidents/data/bumps.jsonl).
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from fingerprint.diff.changes import Change, Folded

LEAST = 3
"""Packages that went one way, of which it is said that the others did."""
MOST = 1 / 3
"""Of the packages, those that can have gone against the others."""
_RELEASE = re.compile(r"v?\d+(?:\.\d+)+")


def against_the_stream(changes: Sequence[Folded]) -> Mapping[str, str]:
    """What is to be said of changes whose packages went another way than most of their environment, by their text."""
    ways: dict[str, dict[str, int]] = defaultdict(dict)
    for folded in changes:
        for change in folded.changes:
            if way := _way(change):
                ways[change.key.target][change.names[1]] = way
    found = {target: _against(list(of.values())) for target, of in ways.items()}
    return {
        folded.text: _SAYS[against].format(told)
        for folded in changes
        for against, told in [found.get(folded.first.key.target, (0, ""))]
        if against and all(_way(change) == against for change in folded.changes)
    }


_SAYS = {
    -1: "{} packages went to later releases, and this one to an earlier: something put it there, or holds it no more.",
    1: "{} packages went to earlier releases, and this one to a later: something put it there, or holds it no more.",
}


def _against(ways: Sequence[int]) -> tuple[int, str]:
    """The way that few went, 0 where most went none, and how many of how many did not."""
    forward, of = sum(way > 0 for way in ways), len(ways)
    fewer = min(forward, of - forward)
    if of - fewer < LEAST or fewer > MOST * of:
        return 0, ""
    return (1 if forward == fewer else -1), f"{of - fewer} of {of}"


def _way(change: Change) -> int:
    """1: to a later release; 0: of no package's version, of one release, or of what cannot be told."""
    if change.key.area != "libraries" or change.names[:1] != ("packages",) or change.names[2:] != ("version",):
        return 0
    before, after = map(release, (change.before, change.after))
    return (after > before) - (after < before) if before and after else 0


def release(version: object) -> tuple[int, ...]:
    """Without zeros at its end, and what stands behind the release."""
    found = _RELEASE.match(version) if isinstance(version, str) else None
    numbers = [int(part) for part in found[0].lstrip("v").split(".")] if found else []
    while numbers[1:] and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
