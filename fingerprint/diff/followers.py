"""What is the consequence of what.

A change follows another one where a glob of its fact's `follows` matches the other's path; within one area of
targets, only for the same target. Chains lead to their end.
"""

from collections.abc import Iterator, Mapping, Sequence

from fingerprint.diff.changes import Change
from probes.kit.facts import Gap
from probes.kit.paths import parse_glob

Edges = Mapping[int, Sequence[int]]


def leaders(changes: Sequence[Change]) -> list[int]:
    """For each change, the index of the one at the end of what it follows: its own where it follows nothing."""
    matched = {glob: list(_matching(glob, changes)) for glob in {glob for c in changes for glob in c.fact.follows}}
    edges: dict[int, list[int]] = {}
    for i, change in enumerate(changes):
        found = {
            j for glob in change.fact.follows for j in matched[glob] if j != i and _of_one_target(change, changes[j])
        }
        if found:
            edges[i] = sorted(found)
    return [_end(i, edges, changes) if i in edges else i for i in range(len(changes))]


def _matching(glob: str, changes: Sequence[Change]) -> Iterator[int]:
    pattern = parse_glob(glob)
    return (i for i, change in enumerate(changes) if change.leads and pattern.matches(change.path))


def _of_one_target(change: Change, leader: Change) -> bool:
    return not leader.key.target or not change.key.target or leader.key.target == change.key.target


def _end(start: int, edges: Edges, changes: Sequence[Change]) -> int:
    """The first, by what it was set to and then by path, of those that everything reachable leads back to."""
    reach = _reachable(start, edges)
    ends = [i for i in reach if all(i in _reachable(j, edges) for j in _reachable(i, edges))]
    return min(ends, key=lambda i: (not changes[i].leads, _was_zeroed(changes[i]), str(changes[i].path)))


def _reachable(start: int, edges: Edges) -> frozenset[int]:
    seen, ahead = {start}, [start]
    while ahead:
        for i in edges.get(ahead.pop(), ()):
            if i not in seen:
                seen.add(i)
                ahead.append(i)
    return frozenset(seen)


def _was_zeroed(change: Change) -> bool:
    """Of two facts that zero each other (vm.dirty_bytes and vm.dirty_ratio), the one at 0 is the consequence."""
    return isinstance(change.after, Gap) or change.after in (0, "0", "")
