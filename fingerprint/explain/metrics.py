"""Is the change of a metric real? The starts of both sides, mapped to fingerprint.statistics and back."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import log

from msgspec.structs import replace

from fingerprint.canary.names import is_canary
from fingerprint.explain.contract import EVERY_RUN, MOST_VALUES, MetricChange, MetricVerdict, Spread
from fingerprint.explain.observed import is_calm
from fingerprint.explain.subject import Subject, ended, unlike_ends
from fingerprint.explain.tails import is_odd, tail
from fingerprint.explain.values import percent
from fingerprint.metrics import Metric
from fingerprint.runs.run import Run
from fingerprint.statistics import SMALL, Series, Start, Verdict, assess

EXIT_STATUS = "exit_status"
TIMES = ("wall_time", "cpu_time")
# Of what every run measures: below these, in its unit, starting a process alone makes the difference.
NOISE_FLOOR = {"wall_time": 0.02, "cpu_time": 0.02, "peak_memory": 8 << 20}
MOVED: tuple[MetricVerdict, ...] = ("worse", "better", "changed")
_NAMED = 3
_OF_A_SHELL = {126: "it cannot be executed", 127: "it was not found"}


def calls_for_a_cause(metric: MetricChange) -> bool:
    return metric.verdict in MOVED or is_marked(metric)


def is_marked(metric: MetricChange) -> bool:
    """Whether an unassessed metric differs by enough to be pointed at."""
    if metric.verdict != "unassessed" or not metric.ratio or metric.a is None or metric.b is None:
        return False
    return abs(log(metric.ratio)) >= SMALL and not _is_in_noise(metric)


def _is_in_noise(metric: MetricChange) -> bool:
    assert metric.a is not None
    assert metric.b is not None
    return abs(metric.b.median - metric.a.median) <= NOISE_FLOOR.get(metric.name, 0)


def metric_changes(
    a: Subject, b: Subject, history: Iterable[Run], only: str | None = None, *, canary: bool = False
) -> tuple[MetricChange, ...]:
    """Of every metric that either side has, none where one is a snapshot. `history`: other runs of the same benchmark;
    those that ended otherwise than A did are no witnesses. `only`: this metric alone. The benchmark's own are first.
    `canary`: those of the canary, and else no other of them."""
    if a.last is None or b.last is None:
        return ()
    ours = {run.id for run in (*a.attempts, *b.attempts)}
    others = [run for run in history if run.id not in ours and (a.last is None or ended(run) == ended(a.last))]
    known = dict.fromkeys(name for run in (*a.attempts, *b.attempts) for name in run.metrics)
    names = sorted(known, key=lambda name: name in EVERY_RUN)
    return tuple(
        _change(name, a, b, others) for name in names if name == only or (only is None and is_canary(name) is canary)
    )


def _change(name: str, a: Subject, b: Subject, others: Sequence[Run]) -> MetricChange:
    metric = _described(name, (*counted(b), *counted(a), *b.attempts, *a.attempts))
    sides = series_of(counted(a), name), series_of(counted(b), name)
    found = _assessed(metric, a, b, sides, [run for run in others if _is_alike(run, metric)])
    medians = found.medians or tuple(side.median if side.starts else None for side in sides)
    slow = _tail(metric, a, b, others) if all(side.starts for side in sides) else None
    change = MetricChange(
        name=name,
        unit=", then ".join(_units(name, a, b)) or metric.unit,
        better=metric.better,
        a=_spread(medians[0], sides[0].samples),
        b=_spread(medians[1], sides[1].samples),
        ratio=found.ratio if name != EXIT_STATUS else None,
        ci=found.ci,
        verdict=found.verdict,
        says="; ".join(filter(None, (found.says, *found.notes, found.more))),
        tail=slow,
        tail_is_odd=is_odd(slow, found),
    )
    return _unless_in_noise(change)


def _tail(metric: Metric, a: Subject, b: Subject, others: Sequence[Run]) -> MetricChange | None:
    if _not_comparable(metric.name, a, b):
        return None
    return tail(metric, counted(a), counted(b), [run for run in others if _is_alike(run, metric)])


def _spread(median: float | None, samples: Sequence[float]) -> Spread | None:
    return None if median is None else Spread(median=median, n=len(samples), each=tuple(_some(samples)))


def _some(samples: Sequence[float]) -> Sequence[float]:
    if len(samples) <= MOST_VALUES:
        return samples
    ordered, last = sorted(samples), len(samples) - 1
    return [ordered[rank * last // (MOST_VALUES - 1)] for rank in range(MOST_VALUES)]


def _described(name: str, runs: Sequence[Run]) -> Metric:
    """By the first that measured it, in the first direction that is known: a gap tells neither unit nor source."""
    found = sorted((run.metrics[name] for run in runs if name in run.metrics), key=lambda metric: bool(metric.gap))
    better = next((metric.better for metric in found if metric.better != "unknown"), "unknown")
    return replace(found[0], better=better)


def _unless_in_noise(change: MetricChange) -> MetricChange:
    if change.verdict not in MOVED or change.a is None or change.b is None or not _is_in_noise(change):
        return change
    return replace(change, verdict="same", says=f"{change.says}; but starting a process alone makes such a difference")


def counted(subject: Subject) -> tuple[Run, ...]:
    """The attempts that ended as the last one did: one that failed has measured something else."""
    return tuple(run for run in subject.attempts if subject.last and ended(run) == ended(subject.last))


def series_of(runs: Iterable[Run], name: str) -> Series:
    """One start a run that measured it, its epoch the boot, its state by the run's name."""
    measured = [(run, run.metrics[name]) for run in runs if name in run.metrics and not run.metrics[name].gap]
    starts = tuple(
        Start(values, run.opened.opener.boot_id, run.opened.name)
        for run, metric in measured
        if (values := _values(metric))
    )
    last = measured[-1][1] if measured else Metric(name)
    return Series(starts, "peak" if any(metric.peak for _, metric in measured) else last.kind)


def _values(metric: Metric) -> tuple[float, ...]:
    """Its samples, or what a summary tells in their place."""
    if metric.samples or metric.typical is None:
        return metric.samples
    return (metric.typical,)


def _is_alike(run: Run, metric: Metric) -> bool:
    measured = run.metrics.get(metric.name)
    return measured is not None and (measured.source, measured.unit) == (metric.source, metric.unit)


def _assessed(metric: Metric, a: Subject, b: Subject, sides: tuple[Series, Series], others: Sequence[Run]) -> Verdict:
    if not all(side.starts for side in sides):
        return Verdict(verdict="unassessed", says=_not_measured(metric.name, a, b, sides))
    if metric.name == EXIT_STATUS:
        x, y = (side.starts[-1].samples[-1] for side in sides)
        return _exit_status(x, y, _uncounted(a, b))
    if why := _not_comparable(metric.name, a, b):
        return Verdict(verdict="unassessed", says=f"not comparable: {why}")
    found = assess(*sides, metric.better, series_of(others, metric.name))
    doubt = _doubt(metric.name, a, b) if found.verdict in MOVED else ""
    if not doubt:
        return found
    apart = f"{percent(found.ratio)}, " if found.ratio else ""
    return replace(found, verdict="unassessed", says=f"{apart}{doubt}")


def _uncounted(a: Subject, b: Subject) -> tuple[str, ...]:
    """What no metric counts, said once."""
    alike = {run.id for side in (a, b) for run in counted(side)}
    odd = [f"{run.label} {ended(run)}" for side in (a, b) for run in side.attempts if run.id not in alike]
    more = f" and {len(odd) - _NAMED} more" if len(odd) > _NAMED else ""
    return (f"{', '.join(odd[:_NAMED])}{more}: unlike the last of that name, so not counted",) if odd else ()


def _exit_status(x: float, y: float, uncounted: tuple[str, ...]) -> Verdict:
    if x == y:
        return Verdict(verdict="unassessed" if uncounted else "same", says="equal", medians=(x, y), notes=uncounted)
    says = f"the command ended with {_in_words(int(x))}, then with {_in_words(int(y))}"
    verdict: MetricVerdict = "changed" if 0 not in (x, y) else "worse" if x == 0 else "better"
    return Verdict(verdict=verdict, says=says, medians=(x, y), notes=uncounted)


def _in_words(status: int) -> str:
    """With what a shell or the kernel means by it."""
    if status in _OF_A_SHELL:
        return f"{status} ({_OF_A_SHELL[status]})"
    import signal

    names = {128 + number: number.name for number in signal.Signals}
    return f"{status} ({names[status]})" if status in names else f"{status}"


def _not_measured(name: str, a: Subject, b: Subject, sides: tuple[Series, Series]) -> str:
    missing: dict[str, list[str]] = defaultdict(list)
    for subject, side in zip((a, b), sides, strict=True):
        if not side.starts:
            gap = next((run.metrics[name].gap for run in subject.attempts if name in run.metrics), "")
            missing[f": {gap}" if gap else ""].append(subject.name)
    return "; ".join(f"not measured in {' and '.join(names)}{why}" for why, names in missing.items())


def _not_comparable(name: str, a: Subject, b: Subject) -> str:
    if ends := unlike_ends(a, b):
        return ends
    sources = list(dict.fromkeys(metric.source or "one that is not told" for metric in _measured(name, a, b)))
    if len(sources) > 1:
        return f"measured in two ways, {' and '.join(sources)}"
    units = _units(name, a, b)
    return f"measured in {' and '.join(units)}" if len(units) > 1 else ""


def _measured(name: str, a: Subject, b: Subject) -> list[Metric]:
    return [m for run in (*counted(a), *counted(b)) if (m := run.metrics.get(name)) and not m.gap]


def _units(name: str, a: Subject, b: Subject) -> list[str]:
    """One, unless they measured in several; A's first."""
    units = list(dict.fromkeys(metric.unit for metric in _measured(name, a, b)))
    return units if len(units) <= 1 else [unit or "no unit" for unit in units]


def _doubt(name: str, a: Subject, b: Subject) -> str:
    """Why two single times say nothing, however far apart they are."""
    if name not in TIMES or (len(a.attempts) > 1 and len(b.attempts) > 1):
        return ""
    busy = [subject.name for subject in (a, b) if not is_calm(subject.state.samples)]
    return f"one run each, and whether CPUs were free is not known or not so in {' and '.join(busy)}" if busy else ""
