"""Whether something held a run up that is no lasting state: others on its CPUs, its quota, the hypervisor, disks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from fingerprint.diff.known import ProbeOf
from fingerprint.explain.bystanders import Start, bystanders, in_the_way, is_crowded_by_itself, starts
from fingerprint.explain.contract import Evidence, HeldUp, Likelihood, MetricChange, Neighbour, Suspect
from fingerprint.explain.in_force import NOT_IN_FORCE
from fingerprint.explain.rank import Ranked
from fingerprint.explain.reach import subject_of
from fingerprint.explain.subject import Subject
from fingerprint.explain.waiting import (
    OF_MAIN,
    OF_SERVERS,
    RUN_DELAY,
    STOLEN,
    THROTTLED,
    ready,
    stalled,
    stolen,
    throttled,
    used,
    was_at_work,
)
from fingerprint.runs.effective import Samples
from fingerprint.words import clean

LEAST = 0.05
"""Share of its time from which a run was held up; and by which two runs differ where the headline says so."""

LESS = 0.2
"""Of a suspect whose whole evidence is a wait for which others account."""

SEEN = frozenset(("grew", "lost", NOT_IN_FORCE))
"""Parts of the score of what was seen itself, and needs no other run to show it."""


class Wait(NamedTuple):
    """One thing to wait for. bears: whether it can have held this run up. words: with {name} and {share}."""

    fact: str
    share: Callable[[Samples], float | None]
    bears: Callable[[Samples], bool]
    words: str
    remedy: str


class Waited(NamedTuple):
    """share: of its time; None where that is not known. counted: as far as it can have held the run up."""

    start: Start
    share: float | None
    counted: float


class Held(NamedTuple):
    """unlike: whether one run was held up clearly more than the other."""

    line: HeldUp
    unlike: bool
    remedy: str


def _always(_samples: Samples) -> bool:
    return True


def _cannot_tell(samples: Samples) -> bool:
    return ready(samples) is None and was_at_work(samples)


def _host(resource: str, bears: Callable[[Samples], bool], what: str) -> Wait:
    """Of the whole host: the run's own tasks are among those that waited."""
    fact = f"pressure/{resource}/some/total"
    words = f"tasks of the host waited {{share}} of the time for {what} while {{name}} ran"
    return Wait(fact, partial(stalled, path=fact), bears, words, "Repeat {name} on an otherwise idle machine.")


CPU = Wait(
    RUN_DELAY,
    ready,
    _always,
    "{name} waited {share} of its time for a CPU",
    "Repeat {name} on an otherwise idle machine: who took the CPUs that it waited for was not seen.",
)
WAITS = (
    CPU,
    _host("cpu", _cannot_tell, "a CPU"),
    Wait(
        THROTTLED,
        throttled,
        _always,
        "a quota held CPUs of {name} back for {share} of its time",
        "Raise the CPU quota of the control group of {name} (cpu.max), or start fewer threads.",
    ),
    Wait(
        STOLEN,
        stolen,
        was_at_work,
        "the hypervisor gave {share} of the CPU time to others while {name} ran",
        "Repeat {name} on CPUs that the hypervisor shares with nobody, or at another hour.",
    ),
    _host("memory", was_at_work, "memory"),
    _host("io", was_at_work, "a disk"),
)


def held_up(a: Subject, b: Subject, known: ProbeOf) -> tuple[Held, ...]:
    """What either run waited for by at least a twentieth of its time; nothing of snapshots and of runs too short."""
    if a.last is None or b.last is None:
        return ()
    sides = starts(a, known), starts(b, known)
    return tuple(held for wait in WAITS if (held := _held(wait, _middle(wait, sides[0]), _middle(wait, sides[1]))))


def _middle(wait: Wait, of_side: Sequence[Start]) -> Waited:
    """Of several starts, like a metric, the one in the middle; of an even number the more held up of the two."""
    each = sorted((_waited(wait, start) for start in of_side), key=lambda waited: waited.counted)
    known = [waited for waited in each if waited.share is not None] or each
    return known[len(known) // 2]


def _waited(wait: Wait, start: Start) -> Waited:
    share = wait.share(start.samples)
    return Waited(start, share, share if share and wait.bears(start.samples) else 0.0)


def _held(wait: Wait, a: Waited, b: Waited) -> Held | None:
    less, most = (a, b) if a.counted <= b.counted else (b, a)
    if most.counted < LEAST:
        return _not_known((a, b)) if wait is CPU else None
    by = bystanders((a.start, b.start), (a.counted, b.counted), LEAST) if wait is CPU else ()
    took = in_the_way(most.start, most.counted) if wait is CPU else {}
    meanwhile = f"{_summed(most)}{_meanwhile(most, took)}" if wait is CPU else ""
    said = wait.words.format(name=most.start.name, share=_percent(most.share))
    says = f"{said}{meanwhile}; {less.start.name}: {_percent(less.share)}"
    unlike = abs((most.share or 0) - (less.share or 0)) >= LEAST
    return Held(_line(wait, (a, b), says, by), unlike, _remedy(wait, most, took))


def _line(wait: Wait, both: Sequence[Waited], says: str, by: tuple[Neighbour, ...] = ()) -> HeldUp:
    a, b = (None if waited.share is None else round(waited.share, 4) for waited in both)
    return HeldUp(fact=_fact(wait, both), a=a, b=b, by=by, says=says)


def _fact(wait: Wait, both: Sequence[Waited]) -> str:
    """Where it was read: of runs of several servers in the tree of each."""
    is_mains = any(path.startswith(OF_MAIN) for waited in both for path in waited.start.samples)
    return wait.fact if is_mains else wait.fact.replace(OF_MAIN, OF_SERVERS)


def _not_known(both: Sequence[Waited]) -> Held | None:
    """That nobody can tell is said of a run that lasted long enough to have been able to."""
    dark = [start.name for start, share, _ in both if share is None and used(start.samples) is not None]
    says = f"whether {' and '.join(dark)} waited for a CPU is not known: the kernel does not count it"
    return Held(_line(CPU, both, says), unlike=False, remedy="") if dark else None


def _meanwhile(most: Waited, took: Mapping[str, float]) -> str:
    if took:
        return f" while {', '.join(f'{clean(name)} took {_cpus(share)}' for name, share in took.items())}"
    if is_crowded_by_itself(most.start, most.counted):
        return f" while its own threads used {used(most.start.samples):.2f} of the {most.start.may_use:.0f} it may use"
    return ""


def _percent(share: float | None) -> str:
    return "not known" if share is None else f"{share * 100:.0f} %"


def _summed(most: Waited) -> str:
    return " (summed over its processes)" if most.counted > 1 else ""


def _cpus(share: float) -> str:
    return f"{share * 100:.0f} % of a CPU" if share < 0.995 else f"{share:.1f} CPUs"


def _remedy(wait: Wait, most: Waited, took: Mapping[str, float]) -> str:
    name = most.start.name
    if took:
        programs = ", ".join(map(clean, took))
        return f"Run {name} again without {programs} beside it, or pin each to CPUs of its own (taskset -c)."
    if wait is CPU and is_crowded_by_itself(most.start, most.counted):
        return f"Start fewer threads in {name}, or let it use more CPUs."
    return wait.remedy.format(name=name)


def held_against(ranked: Iterable[Ranked], held: Iterable[Held]) -> tuple[Ranked, ...]:
    """A wait for which others account, who took more beside the run that waited, makes no setting likely."""
    others = {each.line.fact: each.line for each in held if each.unlike and _took_more(each.line)}
    return tuple(sorted((_weighed(one, others) for one in ranked), key=lambda one: one.order))


def _took_more(line: HeldUp) -> bool:
    """Beside the run that waited more."""
    more = sum((one.b or 0) - (one.a or 0) for one in line.by)
    return abs(more) >= LEAST and (more > 0) == ((line.b or 0) > (line.a or 0))


def _weighed(one: Ranked, others: Mapping[str, HeldUp]) -> Ranked:
    shown = {evidence.fact for evidence in one.evidence}
    if not shown or not shown <= others.keys():
        return one
    lines = [others[fact] for fact in sorted(shown)]
    against = tuple(Evidence(fact=line.fact, a=line.a, b=line.b, says=_of_others(line)) for line in lines)
    score, parts = round(max(0.01, one.score - LESS), 3), {**one.parts, "others took the CPUs": -LESS}
    likelihood: Likelihood = "possible" if one.likelihood == "likely" else one.likelihood
    return one._replace(score=score, parts=parts, likelihood=likelihood, against=(*one.against, *against))


def _of_others(line: HeldUp) -> str:
    return (
        f"{', '.join(clean(one.program) for one in line.by)} took CPUs that it waited for, more than beside the other"
    )


def worse_of(metrics: Sequence[MetricChange]) -> str:
    """Which run was worse, a or b, by the number that is to be explained; empty where none tells."""
    moved = subject_of(metrics)
    return {"worse": "b", "better": "a"}.get(moved.verdict, "") if moved else ""


def beside(held: Iterable[Held], worse: str) -> tuple[Held, ...]:
    """Wherein the runs are clearly unlike, and the worse one had more of: that may be why it was worse. All wherein
    they are unlike where none is known to be."""
    unlike = (each for each in held if each.unlike)
    return tuple(each for each in unlike if worse in ("", _more(each.line)))


def _more(line: HeldUp) -> str:
    """Which run was held up more."""
    return "b" if (line.b or 0) > (line.a or 0) else "a"


def told_first(held: Iterable[Held]) -> str:
    """For the headline: the first wait in which the runs are clearly unlike, or nothing."""
    return next((f"; {each.line.says}" for each in held if each.unlike), "")


def then_next(
    held: Sequence[Held], steps: Iterable[str], suspects: Sequence[Suspect], worse: str = ""
) -> tuple[str, ...]:
    """The next steps with what would keep a run from waiting: behind those of the suspects, if there are any. Who took
    what the worse run needs comes first, unless the first suspect was seen."""
    told = [each for each in held if each.unlike or each.line.by]
    others = [each for each in beside(told, worse) if each.line.by or each.line.fact.startswith("gpu/")]
    first = told if not suspects else [] if _was_seen(suspects) else others
    ahead, remedies = (tuple(dict.fromkeys(each.remedy for each in some)) for some in (first, told))
    return (*ahead, *steps, *(remedy for remedy in remedies if remedy not in ahead))


def _was_seen(suspects: Sequence[Suspect]) -> bool:
    """Of the first, whether it was seen at work, to grow or to be lost, or known to be in force in no process yet."""
    return was_seen_at_work(suspects) or bool(SEEN & suspects[0].parts.keys())


def was_seen_at_work(suspects: Sequence[Suspect]) -> bool:
    """Whether the first is likely or has evidence: then nothing that held a run up is told before it or beside it."""
    return bool(suspects) and (suspects[0].likelihood == "likely" or bool(suspects[0].evidence))
