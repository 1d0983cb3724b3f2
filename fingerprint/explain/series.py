"""What differs among the attempts of one series, before anybody compares it with another."""

from collections.abc import Sequence, Set

import msgspec

from fingerprint.diff.compare import compare
from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import Evidence
from fingerprint.explain.rank import Ranked
from fingerprint.explain.subject import Subject
from fingerprint.runs.effective import Effective

LESS = 0.3


def varied(subject: Subject, areas: Set[str], known: ProbeOf) -> frozenset[str]:
    """Facts of these areas that some attempt had otherwise than the last one, by their text in a diff; what is context
    counts too."""
    earlier = [_within(state, areas) for state in subject.earlier] if areas else []
    last = _within(subject.state, areas)
    differences = (compare(state, last, known=known).changes for state in earlier)
    return frozenset(change.text for changes in differences for change in changes if change.first.leads)


def _within(state: Effective, areas: Set[str]) -> Effective:
    sections = {key: standing for key, standing in state.sections.items() if key.area in areas}
    return msgspec.structs.replace(state, sections=sections)


def held_against(ranked: Sequence[Ranked], a: Subject, b: Subject, known: ProbeOf) -> tuple[Ranked, ...]:
    """A state that differed among the starts of one side already stands out less between the sides."""
    areas = {one.change.first.key.area for one in ranked}
    sides = [(side.name, varied(side, areas, known)) for side in (a, b)]
    weighed = (_weighed(one, [name for name, facts in sides if one.change.text in facts]) for one in ranked)
    return tuple(sorted(weighed, key=lambda one: one.order))


def _weighed(one: Ranked, sides: list[str]) -> Ranked:
    if not sides:
        return one
    text = one.change.text
    against = tuple(
        Evidence(fact=text, a=None, b=None, says=f"it differed among the starts of {name} already") for name in sides
    )
    score = round(max(0.01, one.score - LESS), 3)
    parts = {**one.parts, "differed among starts": -LESS}
    return one._replace(score=score, parts=parts, likelihood="unlikely", against=(*one.against, *against))
