"""The answer in one sentence, and what to do next."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import WAS_THERE, ChangedFact, Comparable, MetricChange, Suspect, Unknown
from fingerprint.explain.experiment import besides, command, deciding
from fingerprint.explain.foremost import foremost
from fingerprint.explain.held_up import was_seen_at_work
from fingerprint.explain.in_force import NOT_IN_FORCE
from fingerprint.explain.metrics import EXIT_STATUS, is_marked
from fingerprint.explain.subject import Subject, command_of, unlike_ends, was_imported
from fingerprint.explain.unknown import tells_why
from fingerprint.explain.values import percent
from fingerprint.runs.run import Run
from fingerprint.words import before_after, clean, growth, in_words, quantity

MOVED = ("worse", "better")
UNSEEN = "no state was seen in both runs: what changed is not known"
_NAMED = 3
LESS_THAN_HALF = 0.5
STUCK = frozenset(("timed_out", "failed", "skipped"))
UNREAD = ({"gap": "timed_out"}, {"gap": "failed"})


class Meanwhile(NamedTuple):
    """For the headline: what was not alike while they ran, and what held one of them up; worse: of that the worse
    one."""

    seen: str = ""
    held: str = ""
    worse: str = ""

    def __str__(self) -> str:
        return self.seen + self.held


def headline(
    start: str,
    metrics: Sequence[MetricChange],
    suspects: Sequence[Suspect],
    changes: Sequence[ChangedFact],
    otherwise: str,
    waited: Meanwhile,
    *,
    seen: bool = True,
) -> str:
    """`start`: what `foreword` says. `otherwise`: what `unchanged` says. `seen`: whether any state was seen in both
    runs."""
    if moved := foremost(_moved(metrics)):
        return f"{start}{_in_words(moved)}{_why(moved, suspects, changes, waited, seen=seen)}."
    if suspects:
        return f"{start}{_change(suspects, changes)}{_doubt(metrics)}."
    if any(not change.context for change in changes):
        nothing = f"Nothing is known to have changed, but not all could be compared{_dark(changes)}"
        return f"{start}{nothing}{waited}{_doubt(metrics)}."
    return f"{start}{otherwise}{waited}{_doubt(metrics)}."


def _why(
    moved: MetricChange, suspects: Sequence[Suspect], changes: Sequence[ChangedFact], waited: Meanwhile, *, seen: bool
) -> str:
    if not suspects and not seen:
        return f", and {UNSEEN}{waited}"
    if not suspects:
        nothing = "no state" if str(waited) else "nothing that was seen in both runs"
        return f", and {nothing} changed that could explain it{waited}"
    change = _change(suspects, changes)
    if not suspects[0].reaches:
        return f", and nothing that changed is known to lead to it: {change}{waited.seen}{waited.worse}"
    if not _can_explain(suspects):
        return f", and what changed explains nothing of it: {change}{waited.seen}{waited.worse}"
    unlikely = ", an unlikely one" if suspects[0].likelihood == "unlikely" else ""
    beside = "" if was_seen_at_work(suspects) else waited.worse
    return f"; first suspect{unlikely}: {change}{_at_most(moved, suspects[0])}{beside}"


def foreword(a: Subject, b: Subject, same: Comparable, metrics: Sequence[MetricChange], moved: str) -> str:
    """What has to be known before any answer: sentences, or nothing."""
    said = []
    if same.same_workload is False:
        said.append("Not the same experiment. ")
    if same.same_host is False:
        said.append("Not the same host. ")
    if moved:
        said.append(f"{moved} ")
    if not _moved(metrics) and (ends := unlike_ends(a, b)):
        said.append(f"{ends}. ")
    return "".join(said)


def unchanged(count: int, unread: Sequence[str], intended: Sequence[ChangedFact]) -> str:
    """That nothing changed, and how far that was looked at. `unread`: sections that were not read whole in both."""
    if not (count or intended):
        return UNSEEN[0].upper() + UNSEEN[1:]
    seen = f"{count} fact{' was' if count == 1 else 's were'} seen equal in both"
    nothing = "Nothing but what was declared changed" if intended else "Nothing changed"
    if not unread:
        return f"{nothing}: {seen}"
    more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
    return f"{nothing} in what was read: {seen}; not read in both: {', '.join(unread[:_NAMED])}{more}"


def _moved(metrics: Sequence[MetricChange]) -> list[MetricChange]:
    """Where none did, their tails."""
    moved = [metric for metric in metrics if metric.verdict in MOVED]
    return moved or [it.tail for it in metrics if it.tail_is_odd and it.tail and it.tail.verdict in MOVED]


def _in_words(metric: MetricChange) -> str:
    if metric.name == EXIT_STATUS or metric.ratio is None:
        return f"{metric.name} is {metric.verdict}: {metric.says}"
    return f"{metric.name} is {metric.verdict} ({percent(metric.ratio)})"


def _at_most(metric: MetricChange, first: Suspect) -> str:
    """Where it can be but the smaller part of the change."""
    if not (first.explains and metric.a and metric.b and metric.b.median != metric.a.median):
        return ""
    share = first.explains.high / abs(metric.b.median - metric.a.median)
    return f", at most {100 * share:.0f} % of it" if share < LESS_THAN_HALF else ""


def _can_explain(suspects: Sequence[Suspect]) -> Sequence[Suspect]:
    """Those that explain some of it, or of which nobody knows how much."""
    return [suspect for suspect in suspects if suspect.explains is None or suspect.explains.high]


def _change(suspects: Sequence[Suspect], changes: Sequence[ChangedFact]) -> str:
    first = suspects[0]
    others = len(suspects) - 1
    more = f" (and {others} more suspect{'s' * (others > 1)})" if others else ""
    on = f" on {first.on}" if first.on else ""
    fact, sides = first.facts[0], (first.before, first.after, first.unit)
    words = growth(*sides) if _has_grown(first, changes) else before_after(*sides, of=fact)
    return f"{clean(fact)} {words}{on}{more}"


def _has_grown(suspect: Suspect, changes: Sequence[ChangedFact]) -> bool:
    return _verdict(suspect, changes) == "grew"


def _verdict(suspect: Suspect, changes: Sequence[ChangedFact]) -> str:
    return next((change.verdict for change in changes if change.fact in suspect.facts), "")


def _doubt(metrics: Sequence[MetricChange]) -> str:
    """What an unassessed metric shows, else a tail: marked beyond 10 %, and never called a change."""
    tails = [metric.tail for metric in metrics if metric.tail and metric.tail_is_odd and is_marked(metric.tail)]
    marked = foremost([metric for metric in metrics if is_marked(metric)] or tails)
    return f"; {marked.name} {percent(marked.ratio)}, unassessed" if marked and marked.ratio else ""


def _dark(changes: Sequence[ChangedFact]) -> str:
    """Of a device or item that could not be read, that it could not: it is more than a fact or two."""
    dark = (change for change in changes if change.verdict == "went dark" and change.follows is None)
    first = next((change for change in dark if change.before == WAS_THERE), None)
    return f": {clean(first.fact)} went dark{f' on {first.on}' if first.on else ''}" if first else ""


def _is_lost(after: Any) -> bool:
    last = after["during"][-1] if isinstance(after, dict) and "during" in after else after
    return bool(last == {"gap": "lost"})


def _about(first: Suspect, a: str, b: str, changes: Sequence[ChangedFact]) -> str:
    """What to do about the first suspect; empty where nothing but its rule's test can be done."""
    fact = clean(first.facts[0])
    if _is_lost(first.after):
        return f"See in the kernel log why {fact} was lost, before anything is run on it again"
    if NOT_IN_FORCE in first.parts:
        return f"Start the server again: until then {fact} is not in force in {b}, whatever it holds"
    if back := command(first):
        return f"Set the first suspect back and run again: {back}"
    if first.before == WAS_THERE:
        return f"Find out why {fact} is no longer there, and run again once it is"
    if first.after == WAS_THERE:
        return f"Run again without {fact}, as in {a}"
    if _has_grown(first, changes):
        return f"Find out why {fact} grew: it stands still where all is well."
    if _verdict(first, changes) == "another part":
        return f"Compare it with {in_words(first.before)}, wherever that is now: another unit is no setting of this one"
    return _as_it_was(first, a, changes)


def _as_it_was(first: Suspect, a: str, changes: Sequence[ChangedFact]) -> str:
    fact = clean(first.facts[0])
    if first.restore or not _is_observed(first, changes):
        return f"Run again with {fact} as it was in {a}: {in_words(first.before, fact)}"
    is_told = first.reaches and first.confirm  # by `besides`
    return "" if is_told else f"Find out why {fact} is not what it was in {a}: {first.check}"


def _is_observed(suspect: Suspect, changes: Sequence[ChangedFact]) -> bool:
    """Whether it is read off what something does, and set nowhere: a daemon that runs can be stopped."""
    kind = next((change.kind for change in changes if change.fact in suspect.facts), "")
    return kind == "state" and not suspect.facts[0].endswith("/running")


def _again(run: Run) -> str:
    """The command that adds an attempt. A server was started by somebody else, and of what was imported nothing ran."""
    name, attached = run.opened.name, run.opened.attached
    if was_imported(run):
        return f"fingerprint import FILE --name {name}, once for each start"
    if not attached:
        return f"fingerprint run --name {name} --repeat 3 -- {command_of(run)}"
    ports = " ".join(f"--port {server.port}" for server in attached)
    which = ports if all(server.port for server in attached) else "--pid PID"
    return f"fingerprint attach --name {name} {which}, once it serves"


def _as_it_is(moved: MetricChange, run: Run) -> str:
    """Where nothing can be set back: chance and what has passed are told from what lasts."""
    sides = [quantity(side.median, moved.unit) for side in (moved.b, moved.a) if side]
    return f"See whether {clean(moved.name)} stays at {' or comes back to '.join(sides)}: {_again(run)}"


def next_steps(
    a: Subject,
    b: Subject,
    metrics: Sequence[MetricChange],
    suspects: Sequence[Suspect],
    changes: Sequence[ChangedFact],
    unknown: Sequence[Unknown],
    known: ProbeOf,
) -> Iterator[str]:
    moved = foremost(_moved(metrics))
    if able := _can_explain(suspects):
        if step := deciding(metrics, able) or _about(able[0], a.name, b.name, changes):
            yield step
        yield from besides(metrics, able, (a, b))
    elif moved and b.last:
        yield _as_it_is(moved, b.last)
    if b.last and any(metric.verdict == "unassessed" and metric.ratio for metric in metrics):
        yield f"Start each three times or more, as attempts of one name, on an otherwise idle machine: {_again(b.last)}"
    denied = {"gap": "denied"}
    if any("denied" in (line.a, line.b) for line in unknown) or any(denied in (c.before, c.after) for c in changes):
        yield "Take the next runs as root: some facts were denied."
    stuck = [(line.fact, (a, b)[line.b in STUCK]) for line in unknown if STUCK & {line.a, line.b}]
    stuck += [(change.fact, b) for change in changes if change.follows is None and change.after in UNREAD]
    if stuck:
        told = dict.fromkeys(_told_by(fact, side, known) for fact, side in stuck[:_NAMED])
        yield f"See why {', '.join(fact for fact, _ in stuck[:_NAMED])} could not be read: {'; '.join(told)}"


def _told_by(fact: str, side: Subject, known: ProbeOf) -> str:
    probe = known(fact.partition("/")[0])
    return tells_why(fact, side.name, of_process=probe is not None and probe.of != "host")
