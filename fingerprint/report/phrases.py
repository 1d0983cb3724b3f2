"""What a diff says, as phrases without a shape: the same words in text, Markdown and HTML."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fingerprint.explain.contract import (
    Beside,
    ChangedFact,
    Diff,
    During,
    Evidence,
    MetricChange,
    Pair,
    Side,
    Spread,
    Suspect,
    Unknown,
)
from fingerprint.gate.contract import Check
from fingerprint.words import before_after, clean, growth, in_words, place, quantities, quantity

DURING = "changed during the run"
DEVICES = 4
NEAR = 0.05
HOPELESS = ("unsupported", "not_observable", "retired")
"""Gaps that nobody can close on this host."""
NO_VALUE = "no value"
NOBODY_KNOWS = "nothing on this host tells it"
WITH_IT = 2
_POLICY_LINE = re.compile(r"(?P<file>.+?)(?: at [^\s:]+)?:(?P<line>\d+)", re.DOTALL)
"""Read from a revision it is `policy.toml at main:12`."""
_SET_BACK = {"boot": "kernel/boot_id", "container start": "container/main/started"}
WHY = 240  # characters of a mechanism, four lines of 80 columns
_SENTENCE = re.compile(r"(?<=[\w)%`])\. ")


def listed(items: Sequence[str], most: int) -> str:
    """The first `most` items, and how many more there are."""
    shown = ", ".join(items[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown


def starts(side: Side) -> str:
    if not side.attempts:
        return f"a snapshot of {side.host}"
    last = side.attempts[-1]
    several = f"{len(side.attempts)} attempts, the last " if side.attempts[1:] else ""
    return f"{several}{last.started} on {side.host}, {last.ended}"


def with_tails(metrics: Iterable[MetricChange]) -> list[MetricChange]:
    """Each, and behind it its tail where that moved otherwise."""
    return [each for metric in metrics for each in (metric, metric.tail if metric.tail_is_odd else None) if each]


def remarks(diff: Diff) -> Mapping[str, list[str]]:
    """What is remarked, of which metrics; first of those that moved. Where one lies farther apart, it is not said why
    those are not assessed that hardly differ."""
    found: dict[str, list[str]] = {}
    metrics = with_tails(diff.metrics)
    far = [metric for metric in metrics if not _is_near(metric)]
    asked = far if any(_remark(metric, diff) for metric in far) else metrics
    for metric in sorted(asked, key=lambda metric: metric.verdict in ("same", "unassessed")):
        if remark := _remark(metric, diff):
            found.setdefault(remark, []).append(metric.name)
    return found


def _is_near(metric: MetricChange) -> bool:
    return metric.verdict == "unassessed" and metric.ratio is not None and abs(metric.ratio - 1) < NEAR


def at_rest(metric: MetricChange) -> str:
    if metric.a and metric.b and metric.a.median == metric.b.median:
        return f"{metric.name} {quantity(metric.a.median, metric.unit)}"
    return f"{metric.name} {medians(metric.a, metric.b, metric.unit)}"


def medians(a: Spread | None, b: Spread | None, unit: str) -> str:
    if a and b:
        return quantities(a.median, b.median, unit)
    return " -> ".join(quantity(side.median, unit) if side else "(not measured)" for side in (a, b))


def ratio(metric: MetricChange) -> str:
    if metric.ratio is None:
        return ""
    interval = f" [{metric.ci[0]:.2f}, {metric.ci[1]:.2f}]" if metric.ci else ""
    return f"x {metric.ratio:.2f}{interval}"


def _remark(metric: MetricChange, diff: Diff) -> str:
    """What stands below the table; a metric that did not move needs no words, unless its interval says otherwise. How
    many values it is the median of is said where it is another number than that of the starts."""
    if metric.verdict == "same" and not (metric.ci and (metric.ci[0] > 1 or metric.ci[1] < 1)):
        return ""
    counts = [side.n for side in (metric.a, metric.b) if side]
    is_told = counts == [len(diff.a.attempts), len(diff.b.attempts)]
    samples = f"medians of {' and '.join(map(str, counts))}. " if max(counts, default=1) > 1 and not is_told else ""
    return f"{samples}{metric.says}".strip()


def paired(pair: Pair) -> str:
    return f"{pair.a} with {pair.b}" if pair.a and pair.b else pair.a or pair.b


def sameness(diff: Diff) -> str:
    same = diff.comparable
    words = {True: "same", False: "ANOTHER", None: "not known"}
    asked = {
        "host": same.same_host,
        "GPUs": same.same_gpus,
        "workload": same.same_workload,
        "command": same.same_command,
    }
    return ", ".join(f"{name}: {words[answer]}" for name, answer in asked.items())


def between(crossed: Sequence[str]) -> str:
    """What lies between the runs, and where it is told what that sets back; empty for nothing."""
    where = " and ".join(f"fingerprint explain {_SET_BACK[epoch]}" for epoch in crossed if epoch in _SET_BACK)
    told = f" What that sets back: {where}" if where else ""
    return f"Between them lies: {', '.join(crossed)}.{told}" if crossed else ""


def took(cpus: float | None) -> str:
    return "not seen" if cpus is None else f"{cpus:.2f} CPUs"


def values(change: ChangedFact) -> str:
    if not change.values:
        return _sides(change, change.before, change.after)
    each = {place(change.fact, path): _sides(change, a, b) for path, (a, b) in change.values.items()}
    if len(set(each.values())) == 1:
        return f"{next(iter(each.values()))}  {listed(list(each), DEVICES)}"
    return listed([f"{at}: {words}" for at, words in each.items()], DEVICES)


def _sides(change: ChangedFact, before: Any, after: Any) -> str:
    """What cannot be compared is not said to be another."""
    if change.verdict == "not comparable":
        return f"{in_words(before, change.fact)} -> {in_words(after, change.fact)}"
    if change.verdict == "grew":
        return growth(before, after, change.unit)
    return before_after(before, after, change.unit, change.fact)


def on_which(change: ChangedFact) -> str:
    """`on 3/8: 0000:17:00.0, ...`; empty where there are no siblings."""
    if not change.on:
        return ""
    which = f": {_places(change.fact, change.which)}" if change.which else ""
    return f"on {clean(change.on)}{which}"


def _places(fact: str, paths: Sequence[str]) -> str:
    """What stands in the paths where the glob has its asterisks."""
    return clean(listed([place(fact, path) for path in paths], DEVICES))


def in_both(item: During) -> str:
    return item.says or before_after(item.a, item.b, item.unit)


def area_and_name(fact: str) -> tuple[str, str]:
    """Area and name: an event reason, and the counter of the time that it held, are one thing to be told."""
    area, _, within = fact.partition("/")
    return area, within.rpartition("/")[2]


def why_unknown(unknown: Unknown) -> tuple[bool, str, str, str]:
    """By what it leads, both sides, and what is said; of what nobody can know here it is no matter why."""
    if unknown.a == unknown.b and unknown.a in HOPELESS:
        return bool(unknown.rules), NO_VALUE, NO_VALUE, NOBODY_KNOWS
    return bool(unknown.rules), unknown.a, unknown.b, unknown.says


def counted(unknown: Unknown) -> str:
    facts = [f"{unknown.facts} facts"] if unknown.facts > 1 else []
    aside = "; ".join([*facts, *([listed(unknown.rules, 2)] if unknown.rules else [])])
    return f"{unknown.fact} ({aside})" if aside else unknown.fact


def no_suspect(diff: Diff) -> str:
    lasting = [change for change in diff.changes if not change.context]
    if lasting:
        return "None: nothing that changed is known to move a metric."
    if not diff.ruled_out.count:
        return "None: no state was seen in both."
    return "None: of what was read in both, nothing changed that could move a metric."


def grown_facts(diff: Diff) -> Container[str]:
    return {change.fact for change in diff.changes if change.verdict == "grew"}


def suspect_change(suspect: Suspect, grown: Container[str]) -> str:
    """`600 -> 450 W`. grown: facts whose figures are growth."""
    sides = (suspect.before, suspect.after, suspect.unit)
    return growth(*sides) if suspect.facts[0] in grown else before_after(*sides, of=suspect.facts[0])


def named(suspect: Suspect, *, in_full: bool = False) -> Iterator[tuple[str, str]]:
    """What speaks for and against it, under its name. in_full: mechanisms whole, else as much as fits."""
    if suspect.facts[1:]:
        yield "also", listed(suspect.facts[1:], 5)
    if suspect.which:
        yield "only on", _places(suspect.facts[0], suspect.which)
    if suspect.mechanism:
        why = " -> ".join(suspect.mechanism)
        yield "why", why if in_full else _shortened(why)
    if explains := _explains(suspect):
        yield "explains", explains
    yield from (("seen", _evidence(item)) for item in suspect.evidence)
    yield from (("against", _evidence(item)) for item in suspect.against)
    yield from _around(suspect)


def _shortened(text: str) -> str:
    """Of a mechanism whole sentences, since a clause by itself may say the opposite: the first, and those behind it
    that have room. `explain RULE` tells it all."""
    ends = [found.start() for found in _SENTENCE.finditer(text)]
    fitting = [end for end in (*ends[1:], len(text)) if end <= WHY]
    return text[: max([*ends[:1], *fitting], default=len(text))].rstrip(".")


def _explains(suspect: Suspect) -> str:
    """How much of the change, and where to read how."""
    how = f" (fingerprint explain {suspect.rules[0]})" if suspect.rules else ""
    if suspect.explains:
        return f"{span(suspect.explains.low, suspect.explains.high, suspect.explains.unit)}{how}"
    return f"unknown: {suspect.explains_why_not}{how}" if suspect.explains_why_not else ""


def _around(suspect: Suspect) -> Iterator[tuple[str, str]]:
    """What stands beside the case itself."""
    if suspect.beside:
        yield "equal", ", ".join(map(_beside, suspect.beside))
    if suspect.consequences:
        yield "with it", listed(suspect.consequences, WITH_IT - (len(suspect.consequences) > WITH_IT))
    if suspect.bracket:
        noticed = " (noticed by the service)" if suspect.bracket_by == "service" else ""
        yield "when", f"between {suspect.bracket[0]} and {suspect.bracket[1]}{noticed}"


def _evidence(evidence: Evidence) -> str:
    return evidence.says or f"{evidence.fact}: {before_after(evidence.a, evidence.b)}"


def _beside(beside: Beside) -> str:
    value, unit = beside.value, beside.unit
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{beside.fact} {quantity(value, unit) if is_number and unit else in_words(value, beside.fact)}"


def span(low: float, high: float, unit: str) -> str:
    """Figures that are 0 or equal say less in words of their own."""
    if low == high:
        return quantity(high, unit) if high else "nothing of it"
    return f"{quantity(low, '')} to {quantity(high, unit)}" if low else f"at most {quantity(high, unit)}"


def policy_line(check: Check) -> tuple[str, int] | None:
    """The file, from the folder where the gate was asked, and the line; None of what stands in no policy."""
    found = _POLICY_LINE.fullmatch(check.source) if check.origin == "policy" else None
    return (clean(found["file"].removeprefix("./")), int(found["line"])) if found else None


def said_of(told: Sequence[Mapping[str, Any]]) -> str:
    """Of a run's document: which known messages a text held."""
    lines = (f"{it['message']} ({it['lines']} line{'s' * (it['lines'] > 1)}) {it['says']}".strip() for it in told)
    return "; ".join(lines) or "none of the messages that are known"


def measured(metric: Mapping[str, Any]) -> str:
    """Of a run's document: the middle of what was measured, or why nothing was."""
    if not metric["samples"]:
        summary = metric.get("summary")
        return _summed_up(summary, metric["unit"]) if summary else f"({metric['gap']})"
    samples = sorted(metric["samples"])
    middle = quantity(samples[len(samples) // 2], metric["unit"])
    return middle if len(samples) == 1 else f"{middle} (median of {len(samples)})"


def _summed_up(summary: Mapping[str, Any], unit: str) -> str:
    """What a client tells in the place of samples: the middle, and the tail where it tells one. What is not told is
    not there."""
    which = "median" if "median" in summary else "mean"
    count = f" of {summary['count']}" if "count" in summary else ""
    last = summary.get("quantiles", {}).get("99")
    tail = f", p99 {quantity(last, unit)}" if last is not None else ""
    return f"{quantity(summary[which], unit)} ({which}{count}{tail})"


def moved_during(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of a run's document: what changed while it ran, and how."""
    for section in document["sections"].values():
        for path, (before, after) in section["changed_during"].items():
            yield path, before_after(_side(before), _side(after))


def _side(value: Any) -> Any:
    """As the contract of a diff writes it; of an item that came or went nothing is told but that it was there."""
    if not isinstance(value, Mapping):
        return value
    known = {"gap": {"gap": value.get("code")}, "hmac": {"redacted": True}, "doc": value.get("value")}
    return known.get(value.get("$", ""), "seen")
