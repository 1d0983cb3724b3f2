"""All rules of a gate against what was read -> the verdict."""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fingerprint.gate.contract import Check, Outcome, Verdict, Waiver
from fingerprint.gate.expectation import Expectation
from fingerprint.gate.history import by_nature
from fingerprint.gate.judge import NOT_THERE, judge
from fingerprint.gate.live import Live
from fingerprint.gate.nominal import LIMITS, MOMENT
from fingerprint.gate.waivers import Waivers
from fingerprint.snapshot import Key, Reading, Snapshot
from fingerprint.words import moment
from probes.kit.facts import Gap
from probes.kit.paths import FactPath, parse_glob

if TYPE_CHECKING:
    from fingerprint.gate.baseline import Baseline
    from fingerprint.gate.policy import Policy

STOPS: Mapping[str, int] = {"failed": 0, "unknown": 1, "warned": 3, "waived": 4, "ok": 5, "out_of_scope": 6}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate is asked for. earlier: snapshots of this host that are kept, read when they are needed."""

    policies: tuple["Policy", ...] = ()
    baseline: "Baseline | None" = None
    earlier: Callable[[], Iterable[Snapshot]] = tuple

    @property
    def rules(self) -> tuple[Expectation, ...]:
        """Without those of the host's own that a policy, or what it lets vary, is about."""
        written = [rule for policy in self.policies for rule in policy.expectations]
        own = MOMENT if self.baseline else (*LIMITS, *MOMENT)
        globs = [parse_glob(text) for text in (*(rule.fact for rule in written), *self.vary)]
        return (*written, *(rule for rule in own if not any(glob.matches(_as_path(rule.fact)) for glob in globs)))

    @property
    def vary(self) -> tuple[str, ...]:
        return tuple(glob for policy in self.policies for glob in policy.vary)


def _as_path(glob: str) -> FactPath:
    """Whatever stands for any key is itself matched by nothing else."""
    return FactPath(glob.split("/"))


def decide(asked: Asked, now: Snapshot, own: Mapping[Key, Reading], today: dt.date, waited_s: float = 0) -> Verdict:
    """own: sections of the process that asks, for what a command started by it is given."""
    live = Live({**now.readings, **own})
    waivers = Waivers((waived for policy in asked.policies for waived in policy.waivers), today)
    checks = [check for rule in asked.rules for check in _judged(rule, live, asked, waivers)]
    notes: list[str] = []
    if asked.baseline is not None:
        from fingerprint.gate.baseline import GIVEN, against

        compared = against(asked.baseline, now, own.get(GIVEN), asked.vary, waivers)
        checks += compared.checks
        notes += compared.notes
    else:
        notes += _of_no_gpu(live)
    checks.sort(key=lambda check: STOPS[check.state] + (check.state == "unknown" and not check.stops))
    outcome = _outcome(checks)
    notes += [check.says for check in checks if _is_of_note(check)]
    return Verdict(
        schema="fingerprint.gate/1",
        outcome=outcome,
        says=_says(outcome, checks),
        host=now.host,
        taken_at=moment(now.taken_at),
        baseline=asked.baseline.name if asked.baseline else "",
        policies=tuple(policy.name for policy in asked.policies),
        waited_s=round(waited_s, 1),
        checks=tuple(checks),
        waivers=waivers.told(),
        notes=(*notes, *_expired(waivers.told())),
    )


def _of_no_gpu(live: Live) -> Iterator[str]:
    """That a host is ready says nothing of GPUs that nobody saw."""
    gpus = live.at(FactPath(("gpu",)))
    if not live.knows("gpu"):
        yield "No GPU was checked: areas.skip names gpu."
    elif isinstance(gpus, Gap) and gpus.code in NOT_THERE:
        yield f"No GPU was checked: {gpus.detail or 'they were not read, as where the setting nvml is off'}."


def _is_of_note(check: Check) -> bool:
    """What was read, and is not checked for how the host is built."""
    was_read = bool(check.values) or (check.found is not None and not isinstance(check.found, dict))
    return check.state == "out_of_scope" and check.rule in NOTED and was_read


NOTED = frozenset(rule.rule for rule in LIMITS if rule.by_nature)


def _judged(rule: Expectation, live: Live, asked: Asked, waivers: Waivers) -> Iterator[Check]:
    baseline = asked.baseline.live if asked.baseline else None
    checks = list(judge(rule, live, baseline, waivers))
    if rule.by_nature and any(check.state in ("failed", "warned") for check in checks):
        yield from by_nature(rule, checks, live, asked.earlier())
    elif baseline is not None and rule.origin == "nominal" and _so_before(rule, baseline):
        yield from (replace(check, **_was_so(check)) for check in checks)
    else:
        yield from checks


def _so_before(rule: Expectation, baseline: Live) -> bool:
    found = judge(rule, baseline, None, Waivers((), dt.date.min))
    return any(check.state in ("failed", "warned") for check in found)


def _was_so(check: Check) -> Mapping[str, object]:
    if check.state not in ("failed", "warned"):
        return {}
    return {"state": "out_of_scope", "stops": False, "restore": "", "says": f"{check.says}: as in the baseline"}


def _outcome(checks: Sequence[Check]) -> Outcome:
    if any(check.state == "failed" and check.stops for check in checks):
        return "fail"
    checked = any(check.state in ("ok", "warned", "waived") for check in checks)
    written = [check for check in checks if check.origin == "policy"]
    idle = bool(written) and all(check.state == "out_of_scope" for check in written)
    return "cannot_tell" if idle or not checked or any(check.stops for check in checks) else "pass"


def _says(outcome: Outcome, checks: Sequence[Check]) -> str:
    counts = {state: sum(check.state == state for check in checks) for state in STOPS}
    stopping = sum(check.stops for check in checks)
    if outcome == "fail":
        return f"Do not start: {_number(counts['failed'], 'thing is', 'things are')} not as expected."
    if outcome == "cannot_tell":
        if not stopping:
            return "Cannot tell: nothing of what is expected could be checked here."
        return f"Cannot tell: {_number(stopping, 'thing', 'things')} could not be read."
    more = f", {_number(counts['warned'], 'warning', 'warnings')}" if counts["warned"] else ""
    waived = f", {counts['waived']} waived" if counts["waived"] else ""
    return f"Ready: {_number(counts['ok'], 'check', 'checks')} passed{more}{waived}."


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _expired(waivers: Iterable[Waiver]) -> Iterator[str]:
    for it in waivers:
        if it.expired:
            yield f"{it.source}: the waiver of {it.fact} ({it.reason}) expired on {it.expires}: ask {it.owner}."
