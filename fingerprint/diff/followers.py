"""What is the consequence of what.

A change follows another one where a glob of its fact's `follows` matches the other's path. Between two processes the
second segment of the glob says which: `process/*/...` is one of the same process, `process/**/...` one of another
process of its tree, for what a process was started with is decided by others; but not by where a server listens, nor by
one rank for another, nor by one whose own such change it has as well, for then both have it from elsewhere. Where a `*`
of the glob stands for a key of a collection that both stand in, both are of one item: a GPU's fact follows what changed
on that GPU, and a fact about a pair of GPUs what changed on either. A variable follows the variable of its name where
that changed as well, and no other one. Chains lead to their end.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import takewhile

from fingerprint.diff.changes import Change
from fingerprint.snapshot import Key
from probes.kit.engines import ADDRESS_FLAGS, may_start
from probes.kit.facts import Gap
from probes.kit.paths import parse_glob
from probes.kit.probe import MAIN

Edges = Mapping[int, Sequence[int]]


def leaders(changes: Sequence[Change]) -> list[int]:
    """For each change, the index of the one at the end of what it follows: its own where it follows nothing."""
    matched = {glob: list(_matching(glob, changes)) for glob in {glob for c in changes for glob in c.fact.follows}}
    alike = [_likeness(change) for change in changes]
    had = {(change.key.target, alike[i]) for i, change in enumerate(changes)}
    edges: dict[int, list[int]] = {}
    for i, change in enumerate(changes):
        globs = change.fact.follows
        if not change.key.is_descendant or any((above, alike[i]) in had for above in change.key.above):
            globs = tuple(glob for glob in globs if not _is_about_others(glob))
        found = {j for glob in globs for j in matched[glob] if j != i and _may_lead(glob, changes[j], change)}
        found -= {j for j in found if _is_beside(changes[j], change) and (change.key.target, alike[j]) in had}
        if found:
            edges[i] = sorted({j for j in found if _is_namesake(changes[j], change)} or found)
    return [_end(i, edges, changes) if i in edges else i for i in range(len(changes))]


def _matching(glob: str, changes: Sequence[Change]) -> Iterator[int]:
    pattern = parse_glob(glob)
    return (i for i, change in enumerate(changes) if change.takes_along and pattern.matches(change.path))


def _likeness(change: Change) -> Hashable:
    """The same for a process and for one that has it from that process."""
    return change.key.area, change.names, repr(change.before), repr(change.after)


def _is_about_others(glob: str) -> bool:
    return glob.split("/")[1:2] == ["**"]


def _is_beside(leader: Change, change: Change) -> bool:
    """Whether both are below what was started, in two processes of which neither need be the other's parent."""
    return leader.key.is_descendant and leader.key.target != change.key.target


def _is_namesake(leader: Change, change: Change) -> bool:
    """Whether both are items of collections and bear one name: NCCL finds NCCL_ALGO where the environment has it."""
    return (change.item,) == change.names[-1:] == leader.names[-1:] == (leader.item,)


def _may_lead(glob: str, leader: Change, change: Change) -> bool:
    if leader.key == change.key and not _of_one_item(glob, leader, change):
        return False
    if not leader.key.target or not change.key.target:
        return True
    if _is_about_others(glob):
        apart = leader.key.target != change.key.target and _are_of_one_tree(leader.key, change.key)
        starts = apart and may_start(leader.key.target, change.key.target)
        return starts and leader.names[-1] not in ADDRESS_FLAGS
    return leader.key.target == change.key.target


def _are_of_one_tree(leader: Key, change: Key) -> bool:
    """Whether the leader may be above the other, or know who is. One server decides nothing of another one."""
    servers = {leader.target.partition(".")[0], change.target.partition(".")[0]}
    return change.target not in leader.above and (len(servers) == 1 or MAIN in servers)


def _of_one_item(glob: str, leader: Change, change: Change) -> bool:
    """Whether each key of the leader that a `*` stands for is one of the other's, as far as both share collections."""
    segments = list(takewhile(lambda segment: segment != "**", glob.split("/")))[len(leader.path) - len(leader.names) :]
    own = {name for name, part in zip(change.names, change.pattern, strict=True) if part is None}
    shared = (end for end in range(len(segments)) if change.pattern[: end + 1] == leader.pattern[: end + 1])
    return all(leader.names[at] in own for at in shared if segments[at] == "*" and leader.pattern[at] is None)


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
