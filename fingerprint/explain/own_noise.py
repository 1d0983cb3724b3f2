"""What a host does by itself is no difference between two runs on it.

Only state, counters and telemetry are passed over so, and how many were is said; what somebody set never is.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from fingerprint.diff.changes import Changes, Folded, Unsteady
from fingerprint.explain.contract import During, OwnNoise
from fingerprint.explain.observed import Observed, bulk, level
from fingerprint.explain.subject import Subject
from fingerprint.explain.values import plain
from fingerprint.noise import Learned, Learner, Moved, Noisy, Own
from fingerprint.runs.record import Distribution, Growth
from fingerprint.words import moment


class Told(NamedTuple):
    """What is left to tell, and the paths of what is not."""

    changes: Changes
    during: tuple[During, ...]
    states: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


def apart_from_noise(
    changes: Changes, during: tuple[During, ...], seen: Sequence[Observed], learned: Learned | None
) -> Told:
    if learned is None:
        return Told(changes, during)
    states = [folded for folded in changes.changes if _is_own_state(folded, learned)]
    sides = {o.path: o for o in seen}
    samples = [item.fact for item in during if _is_own_sample(sides[item.fact], learned)]
    return Told(
        changes=replace(changes, changes=_without(changes.changes, states)),
        during=tuple(item for item in during if item.fact not in samples),
        states=tuple(folded.text for folded in states),
        samples=tuple(samples),
    )


def aside(told: Told) -> str:
    """What `Nothing changed` has to be followed by."""
    return f"; {len(told.states)} moved no more than this host does by itself" if told.states else ""


def _without(changes: Sequence[Folded], noise: Sequence[Folded]) -> tuple[Folded, ...]:
    """What followed from noise stands for itself."""
    kept = [folded for folded in changes if folded not in noise]
    texts = {folded.text for folded in kept}
    return tuple(folded if folded.follows in texts else replace(folded, follows=None) for folded in kept)


def _is_own_state(folded: Folded, learned: Learned) -> bool:
    return folded.first.fact.kind == "state" and all(
        change.verdict in ("changed", "changed during the run")
        and learned.showed(str(change.path), change.fact.unit, (*_values(change.before), *_values(change.after)))
        for change in folded.changes
    )


def _values(side: Any) -> tuple[Any, ...]:
    return (side.first, side.last) if isinstance(side, Unsteady) else (side,)


def _is_own_sample(o: Observed, learned: Learned) -> bool:
    kind: Noisy = "counter" if isinstance(o.a, Growth) else "telemetry"
    return all(learned.spans(kind, o.path, o.unit, *_ends(sample)) for sample in (o.a, o.b))


def _ends(sample: Distribution | Growth) -> tuple[float, float]:
    return bulk(sample) if isinstance(sample, Distribution) else (level(sample), level(sample))


def shared(learned: Learned | None, a: Subject, b: Subject) -> Learned | None:
    """What was learned, where both ran on the host that it was learned of."""
    return learned if learned and learned.host == a.state.host == b.state.host else None


def own_noise(learned: Learned | None, told: Told) -> OwnNoise | None:
    if learned is None:
        return None
    left_out = (*told.states, *told.samples)
    meanwhile = f", while {_facts(len(learned.changed))} changed" if learned.changed else ""
    return OwnNoise(
        learned=moment(learned.at),
        snapshots=learned.snapshots,
        left_out=left_out,
        says=f"learned {moment(learned.at)} from {learned.snapshots} snapshots{meanwhile}",
    )


def _facts(count: int) -> str:
    return "1 lasting fact" if count == 1 else f"{count} lasting facts"


def document(learner: Learner, learned: Learned) -> dict[str, Any]:
    """The published form of what was learned, `fingerprint.noise/1`."""
    return {
        "schema": "fingerprint.noise/1",
        "host": learned.host,
        "learned": moment(learned.at),
        "snapshots": learned.snapshots,
        "seconds": learned.seconds,
        "findings": [_finding(moved) for moved in learner.findings],
        "facts": {path: _own(own) for path, own in learned.facts.items()},
        "not_read": dict(learner.unread),
    }


def _finding(moved: Moved) -> dict[str, Any]:
    return {
        "fact": moved.path,
        "kind": moved.fact.kind,
        "unit": moved.fact.unit,
        "verdict": moved.verdict,
        "before": plain(moved.before),
        "after": plain(moved.after),
        "at": moment(moved.at),
        "times": moved.times,
    }


def _own(own: Own) -> dict[str, Any]:
    """Every field, whatever its value; those of no number as JSON, as they are kept."""
    return {name: getattr(own, name) for name in own.__struct_fields__} | {"values": list(own.values)}
