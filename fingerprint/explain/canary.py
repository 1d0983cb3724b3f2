"""What the canary tells of two runs: whether the host itself was slower, or only the command was."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import expm1, inf, log
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from fingerprint.canary.names import PREFIX, at, is_canary, moments
from fingerprint.diff.changes import Folded
from fingerprint.explain.contract import Evidence, MetricChange, MetricVerdict
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.metrics import metric_changes, series_of
from fingerprint.explain.phases import resources_of_metric
from fingerprint.explain.reach import subject_of
from fingerprint.explain.sameness import listed
from fingerprint.explain.subject import Subject
from fingerprint.runs.run import Run
from fingerprint.statistics import Series, Start, assess

WORKS = {
    "cpu": "CPU work",
    "memory_copy": "memory copies",
    "system_call": "system calls",
    "wake_up": "wake-ups",
    "copy": "copies within a GPU",
    "upload": "copies to a GPU",
    "matmul": "matrix products",
    "launch": "kernel launches",
    "p2p": "copies between GPUs",
}
MOVED = ("worse", "better")
SPEED = {"worse": "slower", "better": "faster"}
AS_FAST = "as fast"
TIGHT = log(1.25)
GPU = f"{PREFIX}gpu/"
_SHARED = frozenset(("cgroup", "affinity"))
"""What a command's process has in common with the canary's: both are started in the same place."""


class Canary(NamedTuple):
    """changes: of each work. started: whether both runs started their command, where the canary was started too."""

    changes: tuple[MetricChange, ...] = ()
    started: bool = True


SILENT = Canary()


def canary(a: Subject, b: Subject, history: Iterable[Run]) -> Canary:
    """Each end of a run taken for a start of it; no changes where the canary ran in neither."""
    runs = (*a.attempts, *b.attempts)
    if not any(is_canary(name) for run in runs for name in run.metrics):
        return SILENT
    x, y = (replace(side, attempts=_ends(side.attempts)) for side in (a, b))
    found = metric_changes(x, y, _ends(history), canary=True)
    changes = tuple(_unless_mingled(change, x, y) for change in found)
    return Canary(changes, not any(run.opened.attached for run in runs))


def _ends(runs: Iterable[Run]) -> tuple[Run, ...]:
    """One that was not measured stands where neither was: it tells why."""
    return tuple(end for run in runs for end in (_end(run, "before"), _end(run, "after")))


def _end(run: Run, end: str) -> Run:
    found = {name: moments(name) for name in run.metrics if is_canary(name)}
    works = {work: run.metrics[name] for name, (moment, work) in found.items() if moment == end}
    return replace(run, metrics={PREFIX + work: replace(it, name=PREFIX + work) for work, it in works.items()})


def _unless_mingled(change: MetricChange, a: Subject, b: Subject) -> MetricChange:
    """Ends of one side that lie as far apart as the sides do show that the host moves so by itself."""
    if change.verdict not in MOVED:
        return change
    x, y = ([log(median(start.samples)) for start in series_of(side.attempts, change.name).starts] for side in (a, b))
    between = max(min(x) - max(y), min(y) - max(x))
    if between > max(max(x) - min(x), max(y) - min(y)):
        return change
    return replace(change, verdict="unassessed", says=f"{change.says}; but the ends of one run lie as far apart")


def told(a: Subject, b: Subject, canary: Sequence[MetricChange], metrics: Sequence[MetricChange]) -> str:
    """What is said beside whether it was the same experiment; nothing where the canary ran in neither."""
    if not canary:
        return ""
    known = [change for change in canary if change.ratio]
    if not known:
        return f"Canary: {canary[0].says}."
    parts = (*_moved(known, "worse"), *_moved(known, "better"), *_at_rest(known), *_uncompared(canary))
    return " ".join((f"Canary: {', '.join(parts)}{_meaning(known, metrics)}.", *_within(a), *_within(b)))


def _moved(known: Sequence[MetricChange], verdict: MetricVerdict) -> Iterator[str]:
    """Of GPUs that moved alike the one that moved most."""
    works: dict[str, list[MetricChange]] = defaultdict(list)
    for change in known:
        if change.verdict == verdict:
            works[_work(change)].append(change)
    for work, changes in works.items():
        most = max(changes, key=lambda change: abs(log(change.ratio or 1)))
        yield f"{work} {_times(most)} {SPEED[verdict]}{_on(most, len(changes))}"


def _at_rest(known: Sequence[MetricChange]) -> Iterator[str]:
    """What did not move, as far as the samples tell."""
    rest = [change for change in known if change.verdict not in MOVED]
    if tight := {_work(change): _reach(change) for change in rest if _reach(change) <= TIGHT}:
        yield f"{listed(list(tight))} as fast within {expm1(max(tight.values())):.0%}".replace("%", " %")
    if wide := dict.fromkeys(_work(change) for change in rest if _reach(change) > TIGHT):
        yield f"{listed(list(wide))} not told apart, as samples scatter"


def _uncompared(canary: Sequence[MetricChange]) -> Iterator[str]:
    """What one of them measured at least; what neither did is told by its gaps."""
    why: dict[str, list[str]] = defaultdict(list)
    for change in canary:
        if change.ratio is None and (change.a or change.b):
            why[change.says].append(_work(change))
    for says, works in why.items():
        yield f"{listed(list(dict.fromkeys(works)))} {says}"


def _work(change: MetricChange) -> str:
    return _named(change.name)


def _named(name: str) -> str:
    work = name.rpartition("/")[2]
    return WORKS.get(work, work)


def _reach(change: MetricChange) -> float:
    """How far it may have moved, as a logarithm."""
    return max(abs(log(end)) if end > 0 else inf for end in (change.ratio or 1, *(change.ci or (inf,))))


def _on(change: MetricChange, count: int) -> str:
    if not change.name.startswith(GPU):
        return ""
    gpu = change.name.removeprefix(GPU).rpartition("/")[0]
    return f" on {gpu}" + (f" and {count - 1} more" if count > 1 else "")


def _times(change: MetricChange) -> str:
    """How many times as slow or as fast, with its interval."""
    assert change.ratio is not None
    middle, *interval = [end if change.ratio > 1 else 1 / end for end in (change.ratio, *(change.ci or ()))]
    return f"{middle:.2f}x" + (f" [{min(interval):.2f}, {max(interval):.2f}]" if interval else "")


def _meaning(known: Sequence[MetricChange], metrics: Sequence[MetricChange]) -> str:
    """Nothing where what is known means nothing."""
    host, gpus = ([it for it in known if it.name.startswith(GPU) is of_gpu] for of_gpu in (False, True))
    speed, of_gpus = _speed(host), _speed(gpus)
    if speed in ("slower", "faster"):
        alone = not any(it.verdict in MOVED and it.name == f"{PREFIX}cpu" for it in host)
        return f": the host was {speed}{' in that' if alone else ''}" + (
            ", GPUs were not" if of_gpus == AS_FAST else ""
        )
    if speed != AS_FAST:
        return ""
    if of_gpus in ("slower", "faster"):
        return f": GPUs were {of_gpus}, the host was not"
    subject = subject_of(metrics)
    if subject is None or not subject.ratio or subject.verdict not in MOVED or of_gpus not in (AS_FAST, ""):
        return ""
    is_far = max(map(_reach, known)) <= abs(log(subject.ratio)) / 2
    return f": the host itself was as fast, only the command was {SPEED[subject.verdict]}" if is_far else ""


def _speed(changes: Sequence[MetricChange]) -> str:
    """Empty where there are none, or nothing that holds of all."""
    moved = {SPEED[it.verdict] for it in changes if it.verdict in MOVED}
    if moved:
        return moved.pop() if len(moved) == 1 else ""
    return AS_FAST if changes and max(map(_reach, changes)) < inf else ""


def _within(side: Subject) -> Iterator[str]:
    """That the host was not the same at both ends of a run."""
    for run in side.attempts:
        works = {moments(name)[1] for name in run.metrics if is_canary(name)}
        moved = dict.fromkeys(_named(work) for work in sorted(works) if _moved_within(run, work))
        if moved:
            yield f"From one end of {run.label} to the other the host was not the same: {listed(list(moved))}."


def _moved_within(run: Run, work: str) -> bool:
    ends = [run.metrics.get(at(moment, work)) for moment in ("before", "after")]
    before, after = (Series((Start(it.samples),)) if it and it.samples else Series() for it in ends)
    better = next((it.better for it in ends if it), None)
    return assess(before, after, better or "unknown").verdict in MOVED


def felt(change: Folded, rules: Sequence[Rule], canary: Canary, harmed: str = "") -> tuple[Evidence, ...]:
    """That work of the canary's, which waits for what the rule that knows it best moves, was slower in the worse run
    as well. That it was not says nothing: it is one thread, on a host that does little else."""
    is_shared = canary.started and bool(_SHARED & {*change.first.names})
    if not rules or (change.first.key.target and not is_shared):
        return ()
    waits = [it for it in canary.changes if resources_of_metric(it.name) & {*rules[0].moves}]
    return tuple(
        _evidence(it) for it in waits if it.verdict in MOVED and harmed in ("", "b" if it.verdict == "worse" else "a")
    )


def _evidence(it: MetricChange) -> Evidence:
    a, b = (side.median if side else None for side in (it.a, it.b))
    return Evidence(fact=it.name, a=a, b=b, says=f"{_work(it)} of the canary {_times(it)} {SPEED[it.verdict]}")
