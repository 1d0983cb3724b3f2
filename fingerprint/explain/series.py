"""What differs among the attempts of one series, before anybody compares it with another."""

from collections.abc import Iterable

from fingerprint.diff.compare import compare
from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import Evidence
from fingerprint.explain.rank import Ranked
from fingerprint.explain.subject import Subject

LESS = 0.3


def varied(subject: Subject, known: ProbeOf) -> frozenset[str]:
    """Facts that some attempt had otherwise than the last one, by their text in a diff; what is context counts too."""
    differences = (compare(earlier, subject.state, known=known).changes for earlier in subject.earlier)
    return frozenset(change.text for changes in differences for change in changes if change.first.leads)


def held_against(ranked: Iterable[Ranked], a: Subject, b: Subject, known: ProbeOf) -> tuple[Ranked, ...]:
    """A state that differed among the starts of one side already stands out less between the sides."""
    sides = [(side.name, varied(side, known)) for side in (a, b)]
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
