"""A diff for a person at a terminal: the five answers in order, the common case on one screen.

Made from the contract alone, so that a diff loaded back from its JSON reads the same. Where a list is cut,
the number left out is said; the JSON holds all.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import ceil
from typing import Any

import msgspec
from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.explain.contract import (
    EVERY_RUN,
    ChangedFact,
    Diff,
    HeldUp,
    MetricChange,
    MetricVerdict,
)
from fingerprint.report.findings import one_sided, said_alone
from fingerprint.report.layout import FACT, LABEL, heading, indented, printed, rows, said
from fingerprint.report.phrases import (
    DEVICES,
    DURING,
    NO_VALUE,
    area_and_name,
    at_rest,
    between,
    counted,
    in_both,
    listed,
    medians,
    on_which,
    paired,
    ratio,
    remarks,
    sameness,
    starts,
    took,
    values,
    why_unknown,
    with_tails,
)
from fingerprint.report.suspects import IN_FULL, suspects
from fingerprint.words import clean

SHOWN = 12
REMARKS = 5
SENTENCES = 4  # lines of them on 80 columns
UNKNOWN = 6
BLIND = 2
AREAS = 3
SEEN = 5
LONG = 60
SAME = "Same experiment?"
QUIET_PAIRS = ("same slot and unit", "same slot")
_STYLES: dict[MetricVerdict, str] = {
    "worse": "bold red", "better": "green", "same": "dim", "changed": "yellow", "unassessed": "dim",
}  # fmt: skip


def render(diff: Diff, *, width: int = 80, color: bool = False) -> str:
    """The whole report, each line at most `width` columns; only a command to copy may be longer."""
    sections = (
        _headline, _comparable, _metrics, _arithmetic, suspects, one_sided, said_alone, _held_up, _changed_during,
        _other_changes, _intended, _seen_during, _own_noise, _ruled_out, _not_known, _blind, _next,
    )  # fmt: skip
    loaded = msgspec.json.decode(msgspec.json.encode(diff), type=Diff)
    return printed((part for section in sections for part in section(loaded)), width=width, color=color)


def _headline(diff: Diff) -> Iterator[ConsoleRenderable]:
    yield said(diff.headline, "bold")
    yield Text()
    sides = (("A", diff.a), ("B", diff.b))
    yield from rows([(letter, said(side.name, FACT), starts(side)) for letter, side in sides], indent=2)


def _metrics(diff: Diff) -> Iterator[ConsoleRenderable]:
    if not diff.metrics:
        return
    remarked = remarks(diff)
    by_all = next(iter(remarked)) if len(remarked) == 1 and any(metric.ci for metric in diff.metrics) else ""
    yield heading("Metrics", by_all)
    metrics = with_tails(diff.metrics)
    same = [metric for metric in metrics if metric.verdict == "same"]
    told = [metric for metric in metrics if metric not in same] if 1 < len(same) < len(metrics) else []
    apart = [metric for metric in told or metrics if metric.name not in EVERY_RUN]
    yield from rows([_metric(metric) for metric in apart or told or metrics], indent=2)
    if also := [metric for metric in told or metrics if apart and metric not in apart]:
        yield indented(f"and {', '.join(map(_in_a_word, also))}")
    if told:
        yield indented(f"the same: {', '.join(map(at_rest, same))}")
    for remark, names in list(remarked.items())[: 0 if by_all else REMARKS]:
        yield indented(f"{listed(names, 4)}: {remark}" if metrics[1:] else remark)
    yield from _left_out(len(remarked), REMARKS)


def _metric(metric: MetricChange) -> tuple[Text | str, ...]:
    return (
        said(metric.name, FACT),
        medians(metric.a, metric.b, metric.unit),
        ratio(metric),
        said(metric.verdict, _STYLES[metric.verdict]),
    )


def _in_a_word(metric: MetricChange) -> str:
    return " ".join(filter(None, (metric.name, ratio(metric).partition(" [")[0], metric.verdict)))


def _arithmetic(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.arithmetic and diff.arithmetic.says:
        yield heading("Arithmetic", close=True)
        says = diff.arithmetic.says
        shown = sum(1 for lines in accumulate(ceil(len(words) / 78) for words in says) if lines <= SENTENCES) or 1
        yield from map(indented, says[:shown])
        yield from _left_out(len(says), shown)


def _comparable(diff: Diff) -> Iterator[ConsoleRenderable]:
    """One line, where there is nothing to be said but that it was."""
    same = diff.comparable
    says = same.says or sameness(diff)
    moved = [pair for pair in diff.pairing if pair.how not in QUIET_PAIRS]
    if not (moved or same.epochs_crossed or same.same_command is False):
        yield Text.assemble((SAME, "bold"), "  ", clean(says))
        return
    yield heading(SAME)
    yield indented(says)
    if same.epochs_crossed:
        yield indented(between(same.epochs_crossed))
    if same.same_command is False:
        yield from rows([("A", diff.a.command), ("B", diff.b.command)], indent=2)
    yield from rows([(paired(pair), pair.how) for pair in moved[:SHOWN]], indent=2)
    yield from _left_out(len(moved))


def _held_up(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.held_up:
        yield heading("Held up")
        yield from rows([(said(item.fact, FACT), _waited(item, diff)) for item in diff.held_up], indent=2)


def _waited(item: HeldUp, diff: Diff) -> Text:
    """What was waited for, and each program named with what it took beside either run."""
    lines = [
        item.says,
        *(f"{n.program}: {took(n.a)} beside {diff.a.name}, {took(n.b)} beside {diff.b.name}" for n in item.by),
    ]
    return Text("\n").join(map(said, lines))


def _changed_during(diff: Diff) -> Iterator[ConsoleRenderable]:
    yield from _changes("Changed while a run ran", [c for c in diff.changes if c.verdict == DURING and not c.suspect])


def _other_changes(diff: Diff) -> Iterator[ConsoleRenderable]:
    led = {change.fact for change in diff.changes}
    others = [c for c in diff.changes if c.verdict != DURING and not c.suspect and c.follows not in led]
    yield from _changes("Other changes", sorted(others, key=lambda change: change.context))
    folded = sum(1 for c in diff.changes if c.verdict != DURING and not c.suspect and c.follows in led)
    if folded:
        yield indented(f"and {folded} that follow from a change above")


def _intended(diff: Diff) -> Iterator[ConsoleRenderable]:
    yield from _changes("Intended", diff.intended)


def _changes(title: str, changes: Iterable[ChangedFact]) -> Iterator[ConsoleRenderable]:
    gathered: dict[Any, list[ChangedFact]] = defaultdict(list)
    for at, change in enumerate(changes):
        why = change.says if change.verdict == "went dark" else ""
        gathered[(why, str(change.after)) if why else at].append(change)
    if not gathered:
        return
    yield heading(title)
    found = list(gathered.values())
    above = ("", *(group[0].says for group in found))
    yield from rows([_change(*group, above=above[at]) for at, group in enumerate(found[:SHOWN])], indent=2)
    yield from _left_out(len(found))


def _change(change: ChangedFact, *others: ChangedFact, above: str) -> tuple[Text, Text]:
    """others: what went dark for the same reason. above: what the line above says, which is not said again."""
    words = Text("" if change.verdict == "was reset" else values(change))
    if change.verdict not in ("changed", DURING):
        words.append(f"{'  ' * bool(words)}{change.verdict}", "yellow")
    if change.on:
        words.append(f"  {on_which(change)}", LABEL)
    if change.context:
        words.append("  context", LABEL)
    if others:
        words.append(f"\nand {listed([other.fact for other in others], DEVICES)}")
    if change.says and change.says != above:
        words.append("\n").append_text(said(change.says, LABEL))
    return said(change.fact, LABEL if change.context else FACT), words


def _seen_during(diff: Diff) -> Iterator[ConsoleRenderable]:
    """But for what stands under a suspect already; of several that say the same the facts are listed."""
    under = {area_and_name(evidence.fact) for suspect in diff.suspects[:IN_FULL] for evidence in suspect.evidence}
    alike: dict[tuple[str, str], list[str]] = {}
    for item in diff.during:
        if area_and_name(item.fact) not in under:
            alike.setdefault((in_both(item), item.on), []).append(item.fact)
    if not alike:
        return
    yield heading("Seen while they ran", "besides what stands under a suspect" if under else "")
    yield from (indented(_during(facts, *words)) for words, facts in list(alike.items())[:SEEN])
    yield from _left_out(len(alike), SEEN)


def _during(facts: list[str], says: str, on: str) -> Text:
    return Text.assemble(said(listed(facts, 1), FACT), f"  {clean(says)}", f", {clean(on)}" if on else "")


def _own_noise(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.own_noise and diff.own_noise.left_out:
        left_out = diff.own_noise.left_out
        yield heading("This host's own noise", f"{len(left_out)} left out: it moves as much by itself")
        yield indented(f"{listed(left_out, DEVICES)}; {diff.own_noise.says}")


def _ruled_out(diff: Diff) -> Iterator[ConsoleRenderable]:
    neither = f"; {len(diff.ruled_out.absent)} more are there in neither" if diff.ruled_out.absent else ""
    yield heading("Ruled out", f"{diff.ruled_out.count} facts, seen equal in both{neither}")
    groups = diff.ruled_out.groups
    told = [*(f"{it.title}: {it.says}" for it in groups[:AREAS]), *(f"{it.title} {it.facts}" for it in groups[AREAS:])]
    if told:
        yield indented("; ".join(told))


def _not_known(diff: Diff) -> Iterator[ConsoleRenderable]:
    if not diff.not_known:
        return
    leading = any(unknown.rules for unknown in diff.not_known)
    first = "; first what may have moved the metric, and by what" if leading else ""
    yield heading("Not known", f"equal or not, nobody can tell{first}", close=True)
    alike: dict[tuple[bool, str, str, str], list[str]] = {}
    for unknown in diff.not_known:
        alike.setdefault(why_unknown(unknown), []).append(counted(unknown))
    yield from (indented(_unknown(key, facts)) for key, facts in list(alike.items())[:UNKNOWN])
    yield from _left_out(len(alike), UNKNOWN)


def _unknown(key: tuple[bool, str, str, str], facts: list[str]) -> Text:
    _, a, b, says = key
    if a == b == NO_VALUE:
        return Text.assemble(said(listed(facts, 1), FACT), f"  {says}")
    where = f"{a} in both" if a == b else f"A {a}, B {b}"
    because = f": {clean(says)}" if says else ""
    return Text.assemble(said(listed(facts, 3), FACT), f"  {clean(where.replace('_', ' '))}{because}")


def _blind(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.blind:
        first = f"; the first {BLIND} of {len(diff.blind)}" if diff.blind[BLIND:] else ""
        yield heading("Not read at all", f"it can move the metric, and no probe sees it{first}", close=True)
        yield from (indented(f"{sight.what}: {sight.look}") for sight in diff.blind[:BLIND])


def _next(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.next:
        yield heading("Next")
        steps = (_without_restore(step, diff) for step in diff.next)
        yield from rows([(f"{number}.", step) for number, step in enumerate(steps, 1)], indent=2)


def _without_restore(step: str, diff: Diff) -> str:
    """A long command that stands under a suspect already is not repeated."""
    commands = {suspect.rank: suspect.restore or "" for suspect in diff.suspects[:IN_FULL]}
    for rank, command in commands.items():
        if len(command) > LONG:
            step = step.replace(command, f"`restore` of suspect {rank}, above")
    return step


def _left_out(count: int, shown: int = SHOWN) -> Iterator[ConsoleRenderable]:
    if count > shown:
        yield indented(f"and {count - shown} more, all in --format json")
