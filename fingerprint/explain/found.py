"""What only one of two runs shows by itself: beside the suspect that it is about, or on its own."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import Evidence, OneSided, Suspect
from fingerprint.explain.subject import Subject
from fingerprint.findings import Finding, one_sided
from probes.kit.facts import Section
from probes.kit.paths import FactPath, parse_glob, parse_path

SPEAKS_AGAINST = ("variable-not-read", "nccl-setting-not-taken", "engine-argument-not-taken")
"""That it was set and did nothing: the variable's own change is no cause."""
_VARIABLES = ("env", "variables")


def found(a: Subject, b: Subject, suspects: Sequence[Suspect], known: ProbeOf) -> tuple[OneSided, ...]:
    of_a, of_b = one_sided(a.state, b.state, lambda area: _section_of(area, known))
    return (
        *(OneSided(side="a", finding=finding, suspect=_about(finding, suspects)) for finding in of_a),
        *(OneSided(side="b", finding=finding, suspect=_about(finding, suspects)) for finding in of_b),
    )


def _section_of(area: str, known: ProbeOf) -> type[Section] | None:
    probe = known(area)
    return probe.section if probe else None


def _about(finding: Finding, suspects: Sequence[Suspect]) -> int | None:
    """The first suspect that it shows a fact of, else one of whose consequences: of an upgrade, that a variable is
    read no more. What a process has follows from so much (who starts it, by which code) that it tells of none."""
    facts = [parse_path(fact) for fact in finding.facts]
    own = next((suspect.rank for suspect in suspects if _are_among(facts, suspect.facts)), None)
    if own is not None:
        return own
    beyond = [fact for fact in facts if fact[0] != "process"]
    return next((suspect.rank for suspect in suspects if _are_among(beyond, suspect.consequences)), None)


def _are_among(facts: Iterable[FactPath], texts: Iterable[str]) -> bool:
    globs = [parse_glob(text) for text in texts]
    return any(glob.matches(fact) for fact in facts for glob in globs)


def with_evidence(
    suspects: Sequence[Suspect], findings: Sequence[OneSided], a: Subject, b: Subject
) -> tuple[Suspect, ...]:
    return tuple(_with(suspect, [it for it in findings if it.suspect == suspect.rank], a, b) for suspect in suspects)


def _with(suspect: Suspect, findings: Sequence[OneSided], a: Subject, b: Subject) -> Suspect:
    if not findings:
        return suspect
    told = [(_speaks_against(it.finding, suspect), _evidence(it, a, b)) for it in findings]
    return replace(
        suspect,
        evidence=(*suspect.evidence, *(evidence for against, evidence in told if not against)),
        against=(*suspect.against, *(evidence for against, evidence in told if against)),
    )


def _speaks_against(finding: Finding, suspect: Suspect) -> bool:
    path = parse_path(suspect.facts[0]) if finding.rule in SPEAKS_AGAINST else ()
    return path[-2:-1] in [(name,) for name in _VARIABLES]


def _evidence(it: OneSided, a: Subject, b: Subject) -> Evidence:
    values, side = it.finding.values, a if it.side == "a" else b
    shown = (values, None) if it.side == "a" else (None, values)
    return Evidence(fact=it.finding.facts[0], a=shown[0], b=shown[1], says=f"In {side.name} alone: {it.finding.says}")
