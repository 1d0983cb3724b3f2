"""The host as it is now against what a run found before it began.

Compared are what somebody set, which parts there are, and states that always mean something; and what a command that
is started here is given (environment, affinity, limits) against what the baseline's command was given. What settles
under load only is out of scope.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from fingerprint.diff import Change, Changes, Folded, NotKnown, compare
from fingerprint.diff.changes import SEEN_TO_CHANGE
from fingerprint.gate.contract import Check, State
from fingerprint.gate.live import Live, published
from fingerprint.gate.remedy import commands
from fingerprint.gate.waivers import Waivers
from fingerprint.runs.effective import Effective, Standing, effective_of_snapshot
from fingerprint.snapshot import Key, Reading, Snapshot, reading_of
from fingerprint.words import before_after, exactly, moment
from probes.kit.facts import Document, Gap, Map, Redacted, Section
from probes.kit.probe import MAIN
from probes.process.sections import Process

GIVEN = Key("process", MAIN)
HOME = GIVEN.path(("env", "HOME"))
HANDED_ON = (
    "env", "affinity", "mems_allowed", "nice", "policy", "rt_priority", "io_priority", "limits", "thp_enabled",
)  # fmt: skip
"""What exec hands on: of what a process is, the part that a command started here will have too."""
WELL = {"no", "none", "True"}
"""Of what has to be mended, that it has not; of what must fit, that it does."""
UNSEEN = ("denied", "not_read", "asleep")


class Baseline(msgspec.Struct, frozen=True):
    """name: as the user would ask for it. before: what its run found first, or a snapshot itself. given: what its
    command was given, where it is a run of one."""

    name: str
    before: Snapshot
    given: Reading | None = None

    @property
    def live(self) -> Live:
        return Live(self.before.readings)


class Compared(msgspec.Struct, frozen=True):
    checks: tuple[Check, ...]
    notes: tuple[str, ...]


def against(
    baseline: Baseline, now: Snapshot, given: Reading | None, vary: Iterable[str], waivers: Waivers
) -> Compared:
    """One check for each change, and one for each area whose facts are all as they were."""
    a = _state(baseline.before, baseline.given if given else None)
    b = _state(now, given if baseline.given else None)
    changes = compare(a, b, waivers=vary)
    told = [folded for folded in changes.changes if folded.follows is None and not folded.first.context]
    homes = _homes(baseline.given, given)
    checks = [
        *(check for folded in told for check in _of_change(folded, baseline.name, waivers, homes)),
        *_declared(changes, baseline.name),
        *_unread(changes, baseline.name, waivers),
        *_as_it_was(changes, baseline.name),
    ]
    return Compared(tuple(checks), tuple(_notes(baseline, now, changes, environment=bool(baseline.given and given))))


def _state(snapshot: Snapshot, given: Reading | None) -> Effective:
    state = effective_of_snapshot(snapshot)
    if given is None or given.lasting is None:
        return state
    section = given.section(Process)
    assert section is not None
    kept = reading_of(Process(**{name: getattr(section, name) for name in HANDED_ON}))
    standing = Standing(outcome="ok", blob=kept.lasting, volatile=kept.volatile)
    return msgspec.structs.replace(state, sections={**state.sections, GIVEN: standing})


def _homes(*given: Reading | None) -> Sequence[str]:
    """The home folder of who took the baseline, and of who asks, where it is known and not the same."""
    found = [Live({GIVEN: it}).at(HOME) for it in given if it is not None]
    told = [home.rstrip("/") for home in found if isinstance(home, str)]
    return told if len(told) == len(given) and told[0] != told[1] and all(told) else ()


def _of_change(folded: Folded, name: str, waivers: Waivers, homes: Sequence[str]) -> Iterator[Check]:
    """Those of its devices that somebody answers for, and the others."""
    groups: dict[int | None, list[Change]] = {}
    state, stops, why = _state_of(folded.first)
    if state == "failed" and _is_of_home(folded.first, homes):
        state, stops, why = "warned", False, "the home of another user"
    if state == "out_of_scope":
        groups = {None: list(folded.changes)}
    else:
        for change in folded.changes:
            groups.setdefault(waivers.use(str(change.path)) if state != "unknown" or stops else None, []).append(change)
    for waiver, changes in groups.items():
        waived = waiver is not None
        yield _check(folded, changes, name, "waived" if waived else state, stops and not waived, why, waiver)


def _is_of_home(change: Change, homes: Sequence[str]) -> bool:
    """Whether a variable is what it was, but for the home folder that its value names."""
    if not homes or change.key != GIVEN or not (isinstance(change.before, str) and isinstance(change.after, str)):
        return False
    before, after = (
        (f"{value}/").replace(f"{home}/", "~/")
        for value, home in zip((change.before, change.after), homes, strict=True)
    )
    return before == after


def _state_of(change: Change) -> tuple[State, bool, str]:
    """State, whether it stops the gate, and why where that is not plain."""
    if change.verdict in SEEN_TO_CHANGE:
        soft = change.key == GIVEN and any(isinstance(it, Redacted) for it in (change.before, change.after))
        return ("warned", False, "") if soft else ("failed", True, "")
    if change.verdict == "went dark":
        code = change.after.code if isinstance(change.after, Gap) else "failed"
        return "unknown", code not in UNSEEN, f"it is {code.replace('_', ' ')} now"
    if change.verdict == "came to light":
        return "unknown", False, "the baseline could not read it"
    return "out_of_scope", False, change.says or change.verdict


def _check(
    folded: Folded, changes: Sequence[Change], name: str, state: State, stops: bool, why: str, waiver: int | None
) -> Check:
    first = changes[0]
    whole = len(changes) == len(folded.changes)
    facts = (folded.text,) if whole else tuple(str(change.path) for change in changes)
    values = {str(change.path): _plain(change.after) for change in changes}
    alike = len({repr(value) for value in values.values()}) == 1
    moved = before_after(_plain(first.before), _plain(first.after), first.fact.unit, str(first.path))
    on = folded.on if whole else f"{len(changes)}/{first.among}"
    return Check(
        rule=folded.text,
        origin="baseline",
        source=name,
        facts=facts,
        expected=exactly(_plain(first.before), first.fact.unit, str(first.path)),
        found=_plain(first.after) if alike else None,
        values={} if alike else values,
        unit=first.fact.unit,
        on=on,
        severity="warn" if state == "warned" else "fail",
        state=state,
        stops=stops,
        reason=first.fact.why,
        says=f"{facts[0]}{_on(on)} {first.verdict}: {moved}{f' ({why})' if why else ''}",
        restore=_restore(changes) if state in ("failed", "warned", "waived") else "",
        waiver=waiver,
    )


def _on(on: str) -> str:
    return f" on {on.replace('/', ' of ')}" if on else ""


def _restore(changes: Sequence[Change]) -> str:
    first = changes[0]
    template, values = first.fact.restore, {change.now or change.item: change.before for change in changes}
    if first.fact.kind == "state" and "{value" not in template and not set(map(str, values.values())) <= WELL:
        return ""  # a reset that is due is done, and never set back
    return commands(template, values, whole=len(changes) == first.among)


def _declared(changes: Changes, name: str) -> Iterator[Check]:
    for folded in changes.intended:
        if folded.follows is None:
            yield _check(folded, folded.changes, name, "out_of_scope", False, "declared: it may differ", None)


def _unread(changes: Changes, name: str, waivers: Waivers) -> Iterator[Check]:
    """Whole sections that the baseline has, and nobody could read now."""
    for it in changes.not_known:
        if it.names or it.a != "seen" or it.b == "seen" or it.key == GIVEN:
            continue
        waiver = waivers.use(str(it.key.path()))
        detail = f": {it.detail}" if it.detail else ""
        yield _plain_check(
            str(it.key), name, "unknown" if waiver is None else "waived", waiver is None,
            f"{it.key} could not be read now ({it.b.replace('_', ' ')}{detail})", waiver,
        )  # fmt: skip


def _as_it_was(changes: Changes, name: str) -> Iterator[Check]:
    for area, count in changes.ruled_out.items():
        facts = "1 fact is as it was" if count == 1 else f"{count} facts are as they were"
        yield _plain_check(area, name, "ok", False, f"{area}: {facts} before {name}", None)


def _plain_check(rule: str, name: str, state: State, stops: bool, says: str, waiver: int | None) -> Check:
    return Check(
        rule=rule, origin="baseline", source=name, facts=(f"{rule}/**",), expected="as in the baseline", found=None,
        values={}, unit="", on="", severity="fail", state=state, stops=stops, reason="", says=says, restore="",
        waiver=waiver,
    )  # fmt: skip


def _notes(baseline: Baseline, now: Snapshot, changes: Changes, *, environment: bool) -> Iterator[str]:
    before = baseline.before
    yield f"Compared with what {baseline.name} found before it began, {moment(before.taken_at)}."
    if environment:
        yield (
            "Environment, affinity and limits are those that a command started here is given, against those of the "
            "baseline's command."
        )
    else:
        yield "The environment is not compared: the baseline tells of no command that was started with one."
    if before.host != now.host:
        yield f"The baseline is of another host: {before.host}, here it is {now.host}; devices are paired by order."
    if before.provenance.uid != now.provenance.uid and 0 in (before.provenance.uid, now.provenance.uid):
        who = "root" if now.provenance.uid else "a plain user"
        yield f"The baseline was taken as {who}: what only root may read is compared only where both could."
    if told := _counted(changes.not_known):
        yield f"Not compared: {told}."


def _counted(unknown: Sequence[NotKnown]) -> str:
    """How many facts, by why: gaps on both sides, and states that settle under load."""
    under_load = sum(it.a == it.b == "seen" for it in unknown)
    denied = sum("denied" in (it.a, it.b) for it in unknown)
    parts = [
        f"{under_load} facts that mean something only under load" if under_load else "",
        f"{denied} that may not be read by one of both" if denied else "",
    ]
    return ", ".join(filter(None, parts))


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return "seen"
    if isinstance(value, Map):
        return sorted(value.items)
    return value.value if isinstance(value, Document) else published(value)
