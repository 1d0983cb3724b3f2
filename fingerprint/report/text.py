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
    ChangedFact,
    Diff,
    During,
    HeldUp,
    MetricChange,
    MetricVerdict,
    Pair,
    Side,
    Spread,
    Unknown,
)
from fingerprint.report.layout import FACT, LABEL, heading, indented, listed, printed, rows, said
from fingerprint.report.suspects import suspects
from fingerprint.words import before_after, growth, in_words, quantities, quantity

SHOWN = 12
REMARKS = 5
SENTENCES = 4  # lines of them on 80 columns
UNKNOWN = 6
BLIND = 3
SEEN = 5
DEVICES = 4
DURING = "changed during the run"
QUIET_PAIRS = ("same slot and unit", "same slot")
_STYLES: dict[MetricVerdict, str] = {
    "worse": "bold red", "better": "green", "same": "dim", "changed": "yellow", "unassessed": "dim",
}  # fmt: skip


def render(diff: Diff, *, width: int = 80, color: bool = False) -> str:
    """The whole report, each line at most `width` columns; only a command to copy may be longer."""
    sections = (
        _headline, _metrics, _arithmetic, _comparable, suspects, _held_up, _changed_during, _other_changes, _intended,
        _seen_during, _own_noise, _ruled_out, _not_known, _blind, _next,
    )  # fmt: skip
    loaded = msgspec.json.decode(msgspec.json.encode(diff), type=Diff)
    return printed((part for section in sections for part in section(loaded)), width=width, color=color)


def _headline(diff: Diff) -> Iterator[ConsoleRenderable]:
    yield said(diff.headline, "bold")
    yield Text()
    sides = (("A", diff.a), ("B", diff.b))
    yield from rows([(letter, said(side.name, FACT), _starts(side)) for letter, side in sides], indent=2)


def _starts(side: Side) -> str:
    if not side.attempts:
        return f"a snapshot of {side.host}"
    last = side.attempts[-1]
    several = f"{len(side.attempts)} attempts, the last " if side.attempts[1:] else ""
    return f"{several}{last.started} on {side.host}, {last.ended}"


def _metrics(diff: Diff) -> Iterator[ConsoleRenderable]:
    if not diff.metrics:
        return
    yield heading("Metrics")
    yield from rows([_metric(metric) for metric in diff.metrics], indent=2)
    remarks: dict[str, list[str]] = {}
    for metric in sorted(diff.metrics, key=lambda metric: metric.verdict in ("same", "unassessed")):
        if remark := _remark(metric):
            remarks.setdefault(remark, []).append(metric.name)
    for remark, names in list(remarks.items())[:REMARKS]:
        yield indented(f"{listed(names, 4)}: {remark}" if diff.metrics[1:] else remark)
    yield from _left_out(len(remarks), REMARKS)


def _metric(metric: MetricChange) -> tuple[Text | str, ...]:
    return (
        said(metric.name, FACT),
        _medians(metric.a, metric.b, metric.unit),
        _ratio(metric),
        said(metric.verdict, _STYLES[metric.verdict]),
    )


def _medians(a: Spread | None, b: Spread | None, unit: str) -> str:
    if a and b:
        return quantities(a.median, b.median, unit)
    return " -> ".join(quantity(side.median, unit) if side else "(not measured)" for side in (a, b))


def _ratio(metric: MetricChange) -> str:
    if metric.ratio is None:
        return ""
    interval = f" [{metric.ci[0]:.2f}, {metric.ci[1]:.2f}]" if metric.ci else ""
    return f"x {metric.ratio:.2f}{interval}"


def _remark(metric: MetricChange) -> str:
    """What stands below the table; a metric that did not move needs no words, unless its interval says otherwise."""
    if metric.verdict == "same" and not (metric.ci and (metric.ci[0] > 1 or metric.ci[1] < 1)):
        return ""
    counts = [side.n for side in (metric.a, metric.b) if side]
    samples = f"medians of {' and '.join(map(str, counts))}. " if max(counts, default=1) > 1 else ""
    return f"{samples}{metric.says}".strip()


def _arithmetic(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.arithmetic:
        yield heading("Arithmetic")
        says = diff.arithmetic.says
        shown = sum(1 for lines in accumulate(ceil(len(words) / 78) for words in says) if lines <= SENTENCES) or 1
        yield from map(indented, says[:shown])
        yield from _left_out(len(says), shown)


def _comparable(diff: Diff) -> Iterator[ConsoleRenderable]:
    same = diff.comparable
    yield heading("Same experiment?")
    yield indented(same.says or _sameness(diff))
    if same.epochs_crossed:
        yield indented(f"Between them lies: {', '.join(same.epochs_crossed)}.")
    if same.same_command is False:
        yield from rows([("A", diff.a.command), ("B", diff.b.command)], indent=2)
    moved = [pair for pair in diff.pairing if pair.how not in QUIET_PAIRS]
    yield from rows([(_paired(pair), pair.how) for pair in moved[:SHOWN]], indent=2)
    yield from _left_out(len(moved))


def _paired(pair: Pair) -> str:
    return f"{pair.a} with {pair.b}" if pair.a and pair.b else pair.a or pair.b


def _sameness(diff: Diff) -> str:
    same = diff.comparable
    words = {True: "same", False: "ANOTHER", None: "not known"}
    asked = {
        "host": same.same_host,
        "GPUs": same.same_gpus,
        "workload": same.same_workload,
        "command": same.same_command,
    }
    return ", ".join(f"{name}: {words[answer]}" for name, answer in asked.items())


def _held_up(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.held_up:
        yield heading("Held up")
        yield from rows([(said(item.fact, FACT), _waited(item, diff)) for item in diff.held_up], indent=2)


def _waited(item: HeldUp, diff: Diff) -> Text:
    """What was waited for, and each program named with what it took beside either run."""
    lines = [
        item.says,
        *(f"{n.program}: {_took(n.a)} beside {diff.a.name}, {_took(n.b)} beside {diff.b.name}" for n in item.by),
    ]
    return Text("\n").join(map(said, lines))


def _took(cpus: float | None) -> str:
    return "not seen" if cpus is None else f"{cpus:.2f} CPUs"


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
    words = Text("" if change.verdict == "was reset" else _values(change))
    if change.verdict not in ("changed", DURING):
        words.append(f"{'  ' * bool(words)}{change.verdict}", "yellow")
    if change.on:
        words.append(f"  on {change.on}", LABEL)
    if change.context:
        words.append("  context", LABEL)
    if others:
        words.append(f"\nand {listed([other.fact for other in others], DEVICES)}")
    if change.says and change.says != above:
        words.append("\n").append_text(said(change.says, LABEL))
    return said(change.fact, LABEL if change.context else FACT), words


def _values(change: ChangedFact) -> str:
    if not change.values:
        return _sides(change, change.before, change.after)
    each = {_place(change.fact, path): _sides(change, a, b) for path, (a, b) in change.values.items()}
    if len(set(each.values())) == 1:
        return f"{next(iter(each.values()))}  {listed(list(each), DEVICES)}"
    return listed([f"{place}: {words}" for place, words in each.items()], DEVICES)


def _sides(change: ChangedFact, before: Any, after: Any) -> str:
    """What cannot be compared is not said to be another."""
    if change.verdict == "not comparable":
        return f"{in_words(before)} -> {in_words(after)}"
    if change.verdict == "grew":
        return growth(before, after, change.unit)
    return before_after(before, after, change.unit)


def _place(pattern: str, path: str) -> str:
    """What stands in `path` where `pattern` has its asterisks."""
    return "/".join(name for star, name in zip(pattern.split("/"), path.split("/"), strict=True) if star == "*")


def _seen_during(diff: Diff) -> Iterator[ConsoleRenderable]:
    if not diff.during:
        return
    yield heading("Seen while they ran")
    yield from rows([_during(item) for item in diff.during[:SEEN]], indent=2)
    yield from _left_out(len(diff.during), SEEN)


def _during(item: During) -> tuple[Text, str]:
    on = f"  on {item.on}" if item.on else ""
    return said(item.fact, FACT), f"{item.says or before_after(item.a, item.b, item.unit)}{on}"


def _own_noise(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.own_noise and diff.own_noise.left_out:
        left_out = diff.own_noise.left_out
        yield heading("This host's own noise", f"{len(left_out)} left out: it moves as much by itself")
        yield indented(f"{listed(left_out, DEVICES)}; {diff.own_noise.says}")


def _ruled_out(diff: Diff) -> Iterator[ConsoleRenderable]:
    neither = f"; {len(diff.ruled_out.absent)} more are there in neither" if diff.ruled_out.absent else ""
    yield heading("Ruled out", f"{diff.ruled_out.count} facts, seen equal in both{neither}")
    groups = [f"{group.title} {group.facts}" for group in diff.ruled_out.groups]
    if groups:
        yield indented(listed(groups, SHOWN))


def _not_known(diff: Diff) -> Iterator[ConsoleRenderable]:
    if not diff.not_known:
        return
    leading = any(unknown.rules for unknown in diff.not_known)
    first = "; first what may have moved the metric, and by what" if leading else ""
    yield heading("Not known", f"equal or not, nobody can tell{first}")
    alike: dict[tuple[bool, str, str, str], list[str]] = {}
    for unknown in diff.not_known:
        alike.setdefault((bool(unknown.rules), unknown.a, unknown.b, unknown.says), []).append(_counted(unknown))
    yield from rows([_unknown(key, facts) for key, facts in list(alike.items())[:UNKNOWN]], indent=2)
    yield from _left_out(len(alike), UNKNOWN)


def _counted(unknown: Unknown) -> str:
    facts = [f"{unknown.facts} facts"] if unknown.facts > 1 else []
    aside = "; ".join([*facts, *([listed(unknown.rules, 2)] if unknown.rules else [])])
    return f"{unknown.fact} ({aside})" if aside else unknown.fact


def _unknown(key: tuple[bool, str, str, str], facts: list[str]) -> tuple[Text, str]:
    _, a, b, says = key
    where = f"{a} in both" if a == b else f"A {a}, B {b}"
    return said(where.replace("_", " ")), listed(facts, 3) + (f": {says}" if says else "")


def _blind(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.blind:
        yield heading("Not read at all", "it can move the metric, and no probe sees it")
        yield from rows([(sight.what, said(sight.look, LABEL)) for sight in diff.blind[:BLIND]], indent=2)
        yield from _left_out(len(diff.blind), BLIND)


def _next(diff: Diff) -> Iterator[ConsoleRenderable]:
    if diff.next:
        yield heading("Next")
        yield from rows([(f"{number}.", step) for number, step in enumerate(diff.next, 1)], indent=2)


def _left_out(count: int, shown: int = SHOWN) -> Iterator[ConsoleRenderable]:
    if count > shown:
        yield indented(f"and {count - shown} more, all in --format json")
