"""Memory of GPUs that somebody else than the run held: what is left is all that its weights, cache and batches get."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from fingerprint.explain.contract import HeldUp
from fingerprint.explain.held_up import LEAST, Held
from fingerprint.explain.observed import level
from fingerprint.explain.stored import Items, section_of
from fingerprint.explain.subject import Subject
from fingerprint.runs.effective import Borders, Effective
from fingerprint.runs.record import Distribution
from fingerprint.snapshot import Key
from fingerprint.words import quantity
from probes.kit.paths import FactPath

UNOWNED = "unowned_memory"
_GPU = Key("gpu")


class _Gpu(msgspec.Struct, frozen=True):
    """unowned_memory: used, but by no process that is listed."""

    unowned_memory: Any = None
    processes: Items = Items()
    memory: Mapping[str, Any] = {}


class _Gpus(msgspec.Struct, frozen=True):
    gpus: Items = Items()


class Taken(NamedTuple):
    """Of one GPU, by others: bytes, and the share of its memory."""

    gpu: str
    size: float
    share: float


def held_by_others(a: Subject, b: Subject) -> tuple[Held, ...]:
    """Of the GPU on which it was most, beside either run, from a twentieth of its memory; nothing of snapshots."""
    if a.last is None or b.last is None:
        return ()
    sides = [(side, _middle(side)) for side in (a, b)]
    (less, least), (more, most) = sorted(sides, key=lambda side: side[1].share if side[1] else -1.0)
    if most is None or most.share < LEAST:
        return ()
    fact = str(FactPath(("gpu", most.gpu, UNOWNED)))
    says = (
        f"others held {quantity(most.size, 'B')} of GPU {most.gpu}, {100 * most.share:.0f} % of its memory, beside "
        f"{more.name}; {less.name}: {f'{100 * least.share:.0f} %' if least else 'not known'}"
    )
    shares = [round(taken.share, 4) if taken else None for _, taken in sides]
    unlike = least is not None and most.share - least.share >= LEAST
    remedy = f"Find who holds memory of GPU {most.gpu} (fuser -v /dev/nvidia*), and repeat {more.name} without them."
    return (Held(HeldUp(fact=fact, a=shares[0], b=shares[1], by=(), says=says), unlike, remedy),)


def _middle(side: Subject) -> Taken | None:
    """Of several starts the one in the middle; None where nobody can say."""
    is_attached = bool(side.last and side.last.opened.attached)
    found = [_most(state, is_attached) for state in (*side.earlier, side.state)]
    told = sorted((taken for taken in found if taken), key=lambda taken: taken.share)
    return told[len(told) // 2] if told else None


def _most(state: Effective, is_attached: bool) -> Taken | None:
    read = section_of(state, _GPU, _Gpus)
    standing = state.sections.get(_GPU)
    if read is None or standing is None:
        return None
    held = {**_at_both_borders(standing.borders, is_attached), **_sampled(state)}
    told = {slot: gpu.memory.get("total") for slot, gpu in _by_slot(read).items()}
    totals = {slot: total for slot, total in told.items() if isinstance(total, int) and total}
    found = [Taken(slot, size, size / totals[slot]) for slot, size in held.items() if slot in totals]
    return max(found, key=lambda taken: taken.share, default=None)


def _by_slot(read: _Gpus) -> Mapping[str, _Gpu]:
    return {slot: msgspec.convert(gpu, _Gpu) for slot, gpu in read.gpus.items.items()}


def _sampled(state: Effective) -> Mapping[str, float]:
    found = ((path.split("/"), sample) for path, sample in state.samples.items() if path.endswith(f"/{UNOWNED}"))
    return {names[1]: level(sample) for names, sample in found if isinstance(sample, Distribution)}


def _at_both_borders(borders: Borders | None, is_attached: bool) -> Mapping[str, float]:
    """What was held before and after, and so meanwhile: by nobody who is listed, or by processes that were there both
    times. None of these is of a command that was started between; what a run is attached to is among them."""
    if borders is None:
        return {}
    before, after = (_by_slot(msgspec.json.decode(each, type=_Gpus)) for each in (borders.before, borders.after))
    found: dict[str, float] = {}
    for slot in before.keys() & after.keys():
        unowned = before[slot].unowned_memory, after[slot].unowned_memory
        if all(isinstance(size, int) for size in unowned):
            found[slot] = min(unowned) + (0 if is_attached else _owned(before[slot], after[slot]))
    return found


def _owned(before: _Gpu, after: _Gpu) -> int:
    held = before.processes.items, after.processes.items
    sizes = [[each[pid].get("used_memory") for each in held] for pid in held[0].keys() & held[1].keys()]
    return sum(min(both) for both in sizes if all(isinstance(size, int) for size in both))
