"""How often the explanation was right: over rows and seeds."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from random import Random

import msgspec

from benchmarks.incidents.drift import about, drift, share_that_leads
from benchmarks.incidents.leaving_out import left_out
from benchmarks.incidents.pairs import Changed, runs_of
from benchmarks.incidents.programs import OF_A_PROGRAM
from benchmarks.incidents.rows import CATEGORIES, Half, Incident, Pair, blind, half_of, held_out, incidents
from fingerprint.explain import explain
from fingerprint.explain.contract import Diff, Suspect

NOTHING_LEADS = "nothing that changed is known to lead to it"
NOTHING_CHANGED = ("no state changed that could explain it", "nothing that was seen in both runs changed")
WORDS = ("likely", "possible", "unlikely")
NEAR = 3


class Answer(msgspec.Struct, frozen=True):
    """One played-back pair. kind: of it: the trigger among drift, the same without it, an innocent one, a blind row.

    rank: of the first suspect that is the trigger, 0 for none. words: of suspects, how often each word was said, and
    how often of the trigger. drift: the share of drifting facts that lead to the number.
    """

    row: str
    category: str
    kind: str
    seed: int
    strong: bool
    rank: int
    first: str
    abstains: bool
    likely: int
    decisive: bool | None
    words: dict[str, tuple[int, int]]
    drift: float


class Rate(msgspec.Struct, frozen=True):
    """of: pairs. None: there are none."""

    hits: int
    of: int

    @property
    def share(self) -> float | None:
        return self.hits / self.of if self.of else None


def answers(seeds: int, half: Half | None = None, *, leave_out: bool = False) -> Iterator[Answer]:
    """half: of the rows; None for all. leave_out: each row is judged by what is on record without it."""
    yield from _of(incidents(), seeds, half, leave_out)
    for row in blind():
        if half in (None, half_of(row.id)):
            yield from (_played(row, "blind", seed) for seed in range(seeds))


def answers_held_out(
    sets: Iterable[int], seeds: int, half: Half | None = None, *, leave_out: bool = False
) -> Iterator[Answer]:
    """As `answers`, of sets of the rows that were held out."""
    for number in sets:
        yield from _of(held_out(number), seeds, half, leave_out)


def _of(rows: Iterable[Incident], seeds: int, half: Half | None, leave_out: bool) -> Iterator[Answer]:
    for row in rows:
        if half in (None, half_of(row.id)):
            with left_out(row) if leave_out else nullcontext():
                played = [_played(row, kind, seed) for seed in range(seeds) for kind in _kinds(row)]
            yield from played


def _kinds(row: Incident) -> tuple[str, str]:
    return "null" if row.null else "trigger", "removed"


def _played(row: Incident, kind: str, seed: int) -> Answer:
    random = Random(f"{row.id} {seed}")
    changes = drift(row, random)
    own = (Changed(row.id, row.trigger),) if kind in ("trigger", "null") else ()
    diff = explain(*runs_of(row, (*changes, *own), random, seen=kind != "removed"))
    ranks = [suspect.rank for suspect in diff.suspects if own and _is_trigger(suspect, row)]
    return Answer(
        row=row.id,
        category=row.category,
        kind=kind,
        seed=seed,
        strong=row.is_strong,
        rank=min(ranks, default=0),
        first=diff.suspects[0].facts[0] if diff.suspects else "",
        abstains=abstains(diff),
        likely=sum(suspect.likelihood == "likely" for suspect in diff.suspects),
        decisive=_shows(diff, row) if row.decisive and own else None,
        words=_words(diff, row),
        drift=share_that_leads(changes, row),
    )


def abstains(diff: Diff) -> bool:
    """Nothing is called likely, or the answer itself says that nothing seen leads to the number."""
    says_so = any(words in diff.headline for words in (NOTHING_LEADS, *NOTHING_CHANGED))
    return says_so or all(suspect.likelihood != "likely" for suspect in diff.suspects)


def _is_trigger(suspect: Suspect, row: Incident) -> bool:
    return any(
        about(path, fact) and _went(suspect, fact, pair) for path, pair in row.trigger.items() for fact in suspect.facts
    )


def _went(suspect: Suspect, fact: str, pair: Pair) -> bool:
    """Of one line for several packages, flags or variables: only where they went the way of the row's own."""
    return (
        not fact.startswith(OF_A_PROGRAM) or "*" not in fact or None in pair or (suspect.before, suspect.after) == pair
    )


def _shows(diff: Diff, row: Incident) -> bool:
    """Whether what decided without having changed stands beside the trigger."""
    shown = [told.fact for suspect in diff.suspects if _is_trigger(suspect, row) for told in suspect.beside]
    return all(any(about(path, fact) for fact in shown) for path in row.decisive)


def _words(diff: Diff, row: Incident) -> dict[str, tuple[int, int]]:
    said = Counter[str](suspect.likelihood for suspect in diff.suspects)
    right = Counter[str](suspect.likelihood for suspect in diff.suspects if _is_trigger(suspect, row))
    return {word: (said[word], right[word]) for word in WORDS}


class Scores(msgspec.Struct, frozen=True):
    """top: within the first one, the first three. calibration: of suspects called so, in pairs
    with a trigger, those that were it."""

    strong_top1: Rate
    strong_top3: Rate
    all_top1: Rate
    all_top3: Rate
    null_abstains: Rate
    removed_abstains: Rate
    drift_likely: Rate
    blind_likely: Rate
    decisive_shown: Rate
    calibration: dict[str, Rate]
    drift_leads: float


def scores(played: Sequence[Answer]) -> Scores:
    def rate(of: Callable[[Answer], bool], hit: Callable[[Answer], bool]) -> Rate:
        chosen = [answer for answer in played if of(answer)]
        return Rate(sum(map(hit, chosen)), len(chosen))

    def kind(*kinds: str, strong: bool = False) -> Callable[[Answer], bool]:
        return lambda answer: answer.kind in kinds and (answer.strong or not strong)

    def within(most: int) -> Callable[[Answer], bool]:
        return lambda answer: 0 < answer.rank <= most

    return Scores(
        strong_top1=rate(kind("trigger", strong=True), within(1)),
        strong_top3=rate(kind("trigger", strong=True), within(NEAR)),
        all_top1=rate(kind("trigger"), within(1)),
        all_top3=rate(kind("trigger"), within(NEAR)),
        null_abstains=rate(kind("null"), lambda answer: answer.abstains),
        removed_abstains=rate(kind("removed"), lambda answer: answer.abstains),
        drift_likely=rate(kind("removed"), lambda answer: answer.likely > 0),
        blind_likely=rate(kind("blind"), lambda answer: answer.likely > 0),
        decisive_shown=rate(lambda answer: answer.decisive is not None, lambda answer: bool(answer.decisive)),
        calibration=_calibration([answer for answer in played if answer.kind == "trigger"]),
        drift_leads=min((answer.drift for answer in played), default=0.0),
    )


class Ranks(msgspec.Struct, frozen=True):
    """Of the triggers of one category."""

    top1: Rate
    top3: Rate


def ranks(played: Iterable[Answer], *, strong: bool) -> dict[str, Ranks]:
    """By category; strong: of strong rows alone."""
    found = {}
    told = [answer for answer in played if answer.kind == "trigger" and (answer.strong or not strong)]
    for category in CATEGORIES:
        own = [answer.rank for answer in told if answer.category == category]
        first, near = sum(rank == 1 for rank in own), sum(0 < rank <= NEAR for rank in own)
        found[category] = Ranks(Rate(first, len(own)), Rate(near, len(own)))
    return found


def _calibration(played: Iterable[Answer]) -> dict[str, Rate]:
    said, right = Counter[str](), Counter[str]()
    for answer in played:
        for word, (times, hits) in answer.words.items():
            said[word] += times
            right[word] += hits
    return {word: Rate(right[word], said[word]) for word in WORDS}
