"""Two effective states -> Changes."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from fingerprint.diff.changes import Change, Changes, Folded, How, Paired
from fingerprint.diff.folding import fold_alike
from fingerprint.diff.followers import leaders
from fingerprint.diff.known import ProbeOf, probe_of
from fingerprint.diff.pairing import SectionPair, pair_sections, pair_servers, under_servers_of
from fingerprint.diff.scripted import below_a_script
from fingerprint.diff.section import Compared, compare_sections
from fingerprint.diff.too_few import hardly_counted
from fingerprint.runs.effective import Effective
from fingerprint.runs.run import NO_HOST
from probes.kit.facts import Fact, Gap
from probes.kit.paths import parse_glob

COMES_AND_GOES = Fact(
    kind="identity",
    why="a process that was there in one run only is no cause by itself: what it did shows in the counters",
    source="/proc/PID/task/*/children",
    context=True,
)


_OF_ONE_HOST: frozenset[How] = frozenset(("same slot and unit", "unit moved"))


def compare(a: Effective, b: Effective, *, waivers: Iterable[str] = (), known: ProbeOf = probe_of) -> Changes:
    """What changed from A to B. `waivers`: globs of changes declared beforehand, beside the `--vary` of either run."""
    pairs = list(pair_sections(a.sections, b.sections))
    same_host = a.host == b.host
    looked_at = _trees(a) & _trees(b)
    compared = [_compared(pair, known, same_host, looked_at) for pair in pairs]
    ruled_out: Counter[str] = Counter()
    for pair, found in zip(pairs, compared, strict=True):
        ruled_out[pair.key.area] += found.ruled_out
    folded, intended = _told([c for found in compared for c in found.changes], pairs, (*a.vary, *b.vary, *waivers))
    return Changes(
        pairing=(
            _hosts(a, b, [p.how for found in compared for p in found.pairing]),
            *pair_servers(a.sections, b.sections),
            *_launchers(a, b),
            *(p for found in compared for p in found.pairing),
        ),
        changes=tuple(folded),
        intended=tuple(intended),
        not_known=(
            *(unknown for found in compared for unknown in found.not_known),
            *hardly_counted(a.samples, b.samples, known),
        ),
        ruled_out={area: count for area, count in ruled_out.items() if count},
    )


def _hosts(a: Effective, b: Effective, devices: Sequence[How]) -> Paired:
    """devices: how they were paired. Where nobody told of which host one side is, units that both have tell it."""
    is_told = not any(side.host.startswith(NO_HOST) for side in (a, b))
    are_same = a.host == b.host or (not is_told and not _OF_ONE_HOST.isdisjoint(devices))
    return Paired(a.host, b.host, "same slot and unit" if are_same else "paired by order")


def _launchers(a: Effective, b: Effective) -> tuple[Paired, ...]:
    pair = below_a_script(under_servers_of(a.sections, b.sections), b.sections)
    names = {servers.b: servers.a for servers in pair_servers(a.sections, b.sections)}
    return () if pair is None else (msgspec.structs.replace(pair, a=names.get(pair.a, pair.a)),)


def _trees(side: Effective) -> frozenset[tuple[str, str]]:
    """Area and root of the processes that were looked at."""
    return frozenset((key.area, key.root) for key in side.sections if key.target)


def _compared(pair: SectionPair, known: ProbeOf, same_host: bool, looked_at: frozenset[tuple[str, str]]) -> Compared:
    """Of a tree that one side did not look at, its root alone is told: not read."""
    probe = known(pair.key.area)
    if pair.key.is_descendant and (pair.a is None or pair.b is None):
        is_told = (pair.key.area, pair.key.root) in looked_at
        return Compared(changes=(_came_or_went(pair),) if is_told else ())
    return compare_sections(pair, probe, same_host=same_host)


def _came_or_went(pair: SectionPair) -> Change:
    return Change(
        key=pair.key, names=(), pattern=(), fact=COMES_AND_GOES, verdict="vanished" if pair.b is None else "appeared",
        before=Gap("absent") if pair.a is None else pair.key.target, context=True,
        after=Gap("absent") if pair.b is None else pair.key.target,
        says="processes that come or go are never suspects",
    )  # fmt: skip


def _told(
    changes: Sequence[Change], pairs: Sequence[SectionPair], vary: Iterable[str]
) -> tuple[list[Folded], list[Folded]]:
    """Folded, and split into what nobody declared and what somebody did; a consequence goes with what it follows."""
    globs = [parse_glob(text) for text in vary]
    declared = [any(glob.matches(change.path) for glob in globs) for change in changes]
    ends = leaders(changes)
    is_intended = [declared[i] or declared[end] for i, end in enumerate(ends)]
    targets = Counter(pair.key.area for pair in pairs if pair.a is not None and pair.b is not None and pair.key.target)
    told: tuple[list[Folded], list[Folded]] = ([], [])
    for wanted in (False, True):
        chosen = [i for i in range(len(changes)) if is_intended[i] == wanted]
        place = {i: at for at, i in enumerate(chosen)}
        # A declared change may itself follow one that nobody declared: then it stands for itself.
        within = [place.get(ends[i], at) for at, i in enumerate(chosen)]
        told[wanted].extend(fold_alike([changes[i] for i in chosen], within, targets))
    return told
