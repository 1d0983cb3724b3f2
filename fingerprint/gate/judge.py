"""One expectation against what was read -> checks.

Values of one rule that fare alike are one check: 7 of 8 GPUs below their default are told once.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fingerprint.gate.contract import Check, State
from fingerprint.gate.expectation import WORDS, Beside, Each, Expectation, Held, Op, hold
from fingerprint.gate.live import Live, Value, published
from fingerprint.gate.remedy import commands
from fingerprint.gate.waivers import Waivers
from fingerprint.words import exactly
from probes.kit.facts import Gap
from probes.kit.paths import parse_glob, parse_path

NOT_THERE = ("absent", "unsupported", "retired", "not_observable", "not_read")
AT_REST_TOO = (
    "gpu/*/temperature/**",
    "gpu/*/power/draw*",
    "gpu/*/clocks_event_reasons/*",
    "gpu/*/inferred/clock_lock",
    "gpu/*/utilization/*",
)
"""What counts under load only where runs are compared, and yet tells something of a host that waits."""
ORDER: Sequence[State] = ("failed", "unknown", "warned", "waived", "out_of_scope", "ok")


class Found(NamedTuple):
    """How one value fares. says: why it is unknown or out of scope. waiver: index of the one that lets it pass."""

    path: str
    value: Value | None
    state: State
    stops: bool = False
    held: Held | None = None
    says: str = ""
    waiver: int | None = None


def judge(rule: Expectation, live: Live, baseline: Live | None, waivers: Waivers) -> Iterator[Check]:
    """The checks of one rule, what stops the gate first."""
    found = [_waived(it, waivers) for it in _all(rule, live, baseline)]
    groups: dict[tuple[State, bool, int | None, str], list[Found]] = {}
    for it in found:
        why = it.says if it.state in ("unknown", "out_of_scope") else ""
        groups.setdefault((it.state, it.stops, it.waiver, why), []).append(it)
    told = sorted(groups.values(), key=lambda group: ORDER.index(group[0].state))
    worst = told[0][0].state
    for group in told:
        if group[0].state == worst or group[0].state not in ("ok", "out_of_scope"):
            yield _check(rule, group, len(found))


def _all(rule: Expectation, live: Live, baseline: Live | None) -> list[Found]:
    found = [_found(rule, value, live, baseline) for value in live.values(rule.fact)]
    return found or [_nothing(rule, live)]


def _nothing(rule: Expectation, live: Live) -> Found:
    """No such item on this host, or nobody looked."""
    area = rule.fact.partition("/")[0]
    if "*" not in area and not live.knows(area):
        why = "there are no GPUs" if rule.origin == "nominal" else "it is about a process that runs"
        says = f"{area} is not read by a gate: {why}, or areas.skip names it"
        return _unknown_or_out(rule, rule.fact, None, says)
    says = "there is none here"
    if rule.required:
        return Found(rule.fact, None, _bad(rule), rule.severity == "fail", says=says)
    return (
        Found(rule.fact, None, "ok", says=says)
        if _none_is_right(rule, live)
        else _unknown_or_out(rule, rule.fact, None, says)
    )


def _none_is_right(rule: Expectation, live: Live) -> bool:
    """Whether nothing breaks the rule because what it is about is seen to be empty: no process, no swap. That there is
    no device is never right."""
    parts = rule.fact.split("/")
    around = ("/".join(parts[:at]) for at in range(1, len(parts)) if "*" in parts[at])
    empty = next((value.fact for glob in around for value in live.values(glob) if value.seen == ()), None)
    if empty is None or empty.kind == "identity":
        return False
    return empty.kind == "telemetry" or all(test.op in ("max", "none_of") for test in rule.tests)


def _found(rule: Expectation, value: Value, live: Live, baseline: Live | None) -> Found:
    path = str(value.path)
    if value.gap is not None:
        return _of_gap(rule, value, value.gap)
    if rule.origin == "policy" and not live.settled(value) and not _at_rest(path):
        return Found(path, value, "out_of_scope", says=f"it means something only while {_condition(value)}")
    held = [hold(value, test, rule, live, baseline) for test in rule.tests]
    bad = next((it for it in held if it.good is False), None)
    if bad is not None:
        elsewhere = next((it for it in rule.only if not it.holds(value, rule.fact, live)), None)
        return _not_right(rule, value, bad, live) if elsewhere is None else _excused(value, bad, elsewhere.says)
    blind = next((it for it in held if isinstance(it.good, Gap)), None)
    if blind is not None:
        return _unknown_or_out(rule, path, value, f"what it is held against is {_words(blind.operand)}")
    return Found(path, value, "ok", held=held[0] if held else None)


def _not_right(rule: Expectation, value: Value, held: Held, live: Live) -> Found:
    state = _bad(rule, soft=any(it.holds(value, rule.fact, live) for it in rule.softly))
    return Found(str(value.path), value, state, state == "failed", held)


def _excused(value: Value, held: Held, why: str) -> Found:
    unit = value.fact.unit if value.fact else ""
    told = f"{exactly(published(value.seen), unit, str(value.path))}, not {held.expected(unit, str(value.path))}"
    return Found(str(value.path), value, "out_of_scope", held=held, says=f"{told}: {why}")


def _at_rest(path: str) -> bool:
    return any(parse_glob(glob).matches(parse_path(path)) for glob in AT_REST_TOO)


def _condition(value: Value) -> str:
    return value.fact.settled if value.fact else ""


def _bad(rule: Expectation, *, soft: bool = False) -> State:
    return "warned" if soft or rule.severity == "warn" else "failed"


def _of_gap(rule: Expectation, value: Value, gap: Gap) -> Found:
    path, says = str(value.path), f"it is {_words(gap)}"
    if gap.code == "lost" and rule.absent == "out_of_scope" and rule.tests:
        return Found(path, value, "out_of_scope", says=says)  # the rule `lost` tells it, once
    if gap.code == "lost" or (rule.required and gap.code in ("absent", "unsupported")):
        return Found(path, value, _bad(rule), rule.severity == "fail", says=says)
    if rule.required:
        return Found(path, value, "unknown", stops=True, says=says)
    if gap.code in NOT_THERE:
        return _unknown_or_out(rule, path, value, says)
    soft = gap.code in ("denied", "asleep") or rule.unknown != "fail"
    if rule.unknown == "ignore":
        return Found(path, value, "out_of_scope", says=says)
    return Found(path, value, "unknown", stops=not soft, says=says)


def _unknown_or_out(rule: Expectation, path: str, value: Value | None, says: str) -> Found:
    if rule.absent == "out_of_scope" or rule.unknown == "ignore":
        return Found(path, value, "out_of_scope", says=says)
    return Found(path, value, "unknown", stops=rule.required or rule.unknown == "fail", says=says)


def _words(gap: Any) -> str:
    if not isinstance(gap, Gap):
        return "not known"
    code = gap.code.replace("_", " ")
    return f"{code} ({gap.detail})" if gap.detail else code


def _waived(found: Found, waivers: Waivers) -> Found:
    if found.state not in ("failed", "warned", "unknown") or (found.state == "unknown" and not found.stops):
        return found
    at = waivers.use(found.path)
    return found if at is None else found._replace(state="waived", stops=False, waiver=at)


def _check(rule: Expectation, group: Sequence[Found], among: int) -> Check:
    first = group[0]
    unit = first.value.fact.unit if first.value and first.value.fact else ""
    values = {it.path: published(it.value.seen) for it in group if it.value}
    alike = all(value == values[first.path] for value in values.values()) if values else True
    expected = _expected(rule, group, unit)
    return Check(
        rule=rule.rule,
        origin=rule.origin,
        source=rule.source,
        facts=(rule.fact,) if len(group) == among > 1 else tuple(dict.fromkeys(it.path for it in group)),
        expected=expected,
        found=values.get(first.path) if alike else None,
        values={} if alike else values,
        unit=unit,
        on=f"{len(group)}/{among}" if among > 1 else "",
        severity="warn" if first.state == "warned" else rule.severity,
        state=first.state,
        stops=first.stops,
        reason=rule.reason,
        says=says(rule, group, among, expected, unit),
        restore=_restore(rule, group, among) if first.state in ("failed", "warned", "waived") else "",
        waiver=first.waiver,
    )


def _expected(rule: Expectation, group: Sequence[Found], unit: str) -> str:
    told = dict.fromkeys(it.held.expected(unit, rule.fact) for it in group if it.held)
    if len(told) == 1:
        return next(iter(told))
    if told:
        return "another for each: " + ", ".join(list(told)[:3])
    return " and ".join(_said(test.op, test.operand, test.unit or unit) for test in rule.tests) or "to be there"


def _said(op: Op, operand: Any, unit: str) -> str:
    if isinstance(operand, Each):
        return f"at least {operand.times} {operand.of} for each of {operand.collection}"
    fact = operand.fact if isinstance(operand, Beside) else None
    if op == "same_as_baseline":
        return "as in the baseline"
    if fact is not None:
        return WORDS[op].format(f"its {fact.rpartition('/')[2]}")
    return Held(True, op, operand).expected(unit)


def says(rule: Expectation, group: Sequence[Found], among: int, expected: str, unit: str) -> str:
    """One sentence: what, on how many, is how, and what is expected."""
    first = group[0]
    where = rule.fact if len(group) > 1 else first.path
    on = f" on {len(group)} of {among}" if among > 1 and len(group) > 1 else ""
    if first.says:
        return f"{where}{on}: {first.says}"
    told = list(dict.fromkeys(_told(it, unit) for it in group))
    shown = ", ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")
    if first.state == "ok":
        return f"{where} is {shown}{on}"
    return (rule.sentence or "{where} is {found}, expected {expected}").format(
        where=where, found=f"{shown}{on}", expected=expected
    )


def _told(found: Found, unit: str) -> str:
    if found.value is None:
        return "not there"
    seen = found.value.seen
    if isinstance(seen, tuple) and found.held and found.held.op in ("min", "max"):
        return f"{len(seen)} ({', '.join(map(str, seen[:4]))})" if seen else "none"
    return exactly(published(seen), unit, found.path)


def _restore(rule: Expectation, group: Sequence[Found], among: int) -> str:
    first = group[0].value
    template = rule.remedy or (first.fact.restore if first and first.fact else "")
    wanted = {it.value.item: _wanted(it.held) for it in group if it.value and it.value.fact}
    return commands(template, wanted, whole=len(wanted) == among)


def _wanted(held: Held | None) -> Any:
    if held is None or held.counted or held.op in ("none_of", "matches"):
        return None
    return next(iter(held.operand), None) if held.op == "one_of" else held.operand


def wrong(rule: Expectation, live: Live) -> frozenset[str] | None:
    """The paths whose values are not as expected; None where none could be checked."""
    found = [it for it in _all(rule, live, None) if it.state in ("ok", "failed", "warned")]
    return frozenset(it.path for it in found if it.state != "ok") if found else None
