"""Memory of GPUs that somebody else than the run held: what is left is all that its weights, cache and batches get."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fingerprint.diff.changes import Paired
from fingerprint.diff.pairing import keys_of_b
from fingerprint.explain.circumstances import Circumstances
from fingerprint.explain.contract import HeldUp
from fingerprint.explain.held_up import LEAST, Held
from fingerprint.explain.subject import Subject
from fingerprint.runs.effective import Borders, Effective
from fingerprint.snapshot import Key
from fingerprint.words import quantity
from probes.kit.paths import FactPath

UNOWNED = "unowned_memory"
_GPU = Key("gpu")


class _Process(msgspec.Struct, frozen=True):
    used_memory: Any = None


class _Processes(msgspec.Struct, frozen=True):
    """By pid; a gap has none."""

    items: Mapping[str, _Process] = {}


class _Memory(msgspec.Struct, frozen=True):
    total: Any = None


class _Gpu(msgspec.Struct, frozen=True):
    """unowned_memory: used, but by no process that is listed."""

    unowned_memory: Any = None
    processes: _Processes = _Processes()
    memory: _Memory = _Memory()


class _BySlot(msgspec.Struct, frozen=True):
    items: Mapping[str, _Gpu] = {}


class _Gpus(msgspec.Struct, frozen=True):
    gpus: _BySlot = _BySlot()


class Taken(NamedTuple):
    """Of one GPU, by others: bytes, and the share of its memory. gpu: as its own run calls it."""

    gpu: str
    size: int
    share: float


Both = tuple[Taken | None, Taken | None]
"""Of one GPU, beside A and beside B; None where nobody can say."""


def held_by_others(a: Subject, b: Subject, around: Circumstances, pairing: Sequence[Paired] = ()) -> tuple[Held, ...]:
    """Of the GPU by which the runs differ most, else of the one of which most was held, from a twentieth of its memory;
    nothing of snapshots. pairing: of devices, A's with B's."""
    if a.last is None or b.last is None or _may_be_its_own(a, b, around):
        return ()
    x, y = (_by_gpu(side, around.on.unused, keys) for side, keys in ((a, {}), (b, keys_of_b(pairing))))
    every = [(x.get(gpu), y.get(gpu)) for gpu in {**x, **y}]
    found = _told(a, b, max(every, key=_weight, default=(None, None)))
    return (found,) if found else ()


def _may_be_its_own(a: Subject, b: Subject, around: Circumstances) -> bool:
    """Whether what it asked may have held it, a server that was there before and after, or no GPU had a part in it."""
    is_attached = any(run.opened.attached for side in (a, b) for run in side.attempts)
    return is_attached or around.ran.asks or around.on.elsewhere or around.on.idle


def _weight(both: Both) -> tuple[float, float]:
    shares = [taken.share for taken in both if taken]
    apart = max(shares) - min(shares)
    return apart if apart >= LEAST else 0.0, max(shares)


def _told(a: Subject, b: Subject, both: Both) -> Held | None:
    """Of both runs, by this one GPU."""
    (less, least), (more, most) = sorted(
        zip((a, b), both, strict=True), key=lambda side: side[1].share if side[1] else -1.0
    )
    if most is None or most.share < LEAST:
        return None
    says = (
        f"others held {quantity(most.size, 'B')} of GPU {most.gpu}, {100 * most.share:.0f} % of its memory, beside "
        f"{more.name}; {less.name}: {f'{100 * least.share:.0f} %' if least else 'not known'}"
    )
    shares = [round(taken.share, 4) if taken else None for taken in both]
    line = HeldUp(fact=str(FactPath(("gpu", most.gpu, UNOWNED))), a=shares[0], b=shares[1], by=(), says=says)
    remedy = f"Find who holds memory of GPU {most.gpu} (fuser -v /dev/nvidia*), and repeat {more.name} without them."
    return Held(line, least is not None and most.share - least.share >= LEAST, remedy)


def _by_gpu(side: Subject, unused: frozenset[str], keys: Mapping[str, str]) -> Mapping[str, Taken]:
    """By its key in A. Of several starts the one in the middle; nothing of a GPU that did no work."""
    starts: dict[str, list[Taken]] = defaultdict(list)
    for state in (*side.earlier, side.state):
        for taken in _taken(state):
            starts[taken.gpu].append(taken)
    told = {gpu: sorted(each, key=lambda taken: taken.share) for gpu, each in starts.items() if gpu not in unused}
    return {keys.get(gpu, gpu): each[len(each) // 2] for gpu, each in told.items()}


def _taken(state: Effective) -> Iterator[Taken]:
    standing = state.sections.get(_GPU)
    if standing is None or standing.blob is None or standing.borders is None:
        return
    read, held = _gpus(standing.blob.body), _at_both_borders(standing.borders)
    for slot, size in held.items():
        total = read[slot].memory.total if slot in read else None
        if isinstance(total, int) and total:
            yield Taken(slot, size, size / total)


def _gpus(body: bytes | msgspec.Raw) -> Mapping[str, _Gpu]:
    """By slot; none of what another release stored in another form."""
    try:
        return msgspec.json.decode(body, type=_Gpus).gpus.items
    except msgspec.ValidationError:
        return {}


def _at_both_borders(borders: Borders) -> Mapping[str, int]:
    """What was held before and after, and so meanwhile: by nobody who is listed, or by processes that were there both
    times. None of these is of a command that was started between."""
    before, after = _gpus(borders.before), _gpus(borders.after)
    found: dict[str, int] = {}
    for slot in before.keys() & after.keys():
        unowned = before[slot].unowned_memory, after[slot].unowned_memory
        if all(isinstance(size, int) for size in unowned):
            found[slot] = min(unowned) + _owned(before[slot], after[slot])
    return found


def _owned(before: _Gpu, after: _Gpu) -> int:
    held = before.processes.items, after.processes.items
    sizes = [[each[pid].used_memory for each in held] for pid in held[0].keys() & held[1].keys()]
    return sum(min(both) for both in sizes if all(isinstance(size, int) for size in both))
