"""Is the change of a metric real, or within the spread of its benchmark?"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from fingerprint.explain.contract import MetricChange, MetricVerdict, Spread
from fingerprint.explain.observed import is_calm
from fingerprint.explain.subject import Subject, ended, unlike_ends
from fingerprint.explain.values import percent
from fingerprint.metrics import Metric
from fingerprint.runs.run import Run
from fingerprint.statistics import FEWEST, LEAST, widest_by_chance

EXIT_STATUS = "exit_status"
SIZES = ("peak_memory",)
# Below these, in the unit, starting a process alone makes the difference.
NOISE_FLOOR = {"s": 0.02, "ms": 20.0, "B": 8 << 20}


def is_marked(metric: MetricChange) -> bool:
    """Whether an unassessed metric differs by enough to be pointed at."""
    if metric.verdict != "unassessed" or not metric.ratio or metric.a is None or metric.b is None:
        return False
    return _is_apart(metric.unit, metric.a.median, metric.b.median)


def _is_apart(unit: str, x: float, y: float) -> bool:
    return max(x / y, y / x) > LEAST and abs(y - x) > NOISE_FLOOR.get(unit, 0)


def metric_changes(a: Subject, b: Subject, history: Iterable[Run], only: str | None = None) -> tuple[MetricChange, ...]:
    """Of every metric that either side has, none where one is a snapshot. `history`: other runs of the same benchmark;
    those that ended otherwise than A did are no witnesses. `only`: this metric alone."""
    if a.last is None or b.last is None:
        return ()
    ours = {run.id for run in (*a.attempts, *b.attempts)}
    others = [run for run in history if run.id not in ours and (a.last is None or ended(run) == ended(a.last))]
    names = dict.fromkeys(name for run in (*a.attempts, *b.attempts) for name in run.metrics)
    return tuple(_change(name, a, b, others) for name in names if only in (None, name))


def _values(runs: Iterable[Run], name: str) -> list[float]:
    """One value a run: the median of its samples, which are no independent measurements of the host's state."""
    return [median(run.metrics[name].samples) for run in runs if name in run.metrics and run.metrics[name].samples]


def _change(name: str, a: Subject, b: Subject, others: Sequence[Run]) -> MetricChange:
    left, right = _values(a.attempts, name), _values(b.attempts, name)
    x, y = (median(values) if values else None for values in (left, right))
    metric = next(run.metrics[name] for run in (*b.attempts, *a.attempts) if name in run.metrics)
    alike = [run for run in others if name in run.metrics and run.metrics[name].source == metric.source]
    verdict, says = _assessed(metric, x, y, a, b, _values(alike, name))
    return MetricChange(
        name=name,
        unit=metric.unit,
        better=metric.better,
        a=None if x is None else Spread(median=x, n=len(left)),
        b=None if y is None else Spread(median=y, n=len(right)),
        ratio=y / x if x and y is not None and name != EXIT_STATUS else None,
        ci=None,
        verdict=verdict,
        says=says,
    )


def _assessed(
    metric: Metric, x: float | None, y: float | None, a: Subject, b: Subject, others: Sequence[float]
) -> tuple[MetricVerdict, str]:
    if x is None or y is None:
        return "unassessed", _not_measured(metric.name, a, b)
    if metric.name == EXIT_STATUS:
        return _exit_status(x, y)
    if ends := unlike_ends(a, b):
        return "unassessed", f"not comparable: {ends}"
    if unlike := _unlike_sources(metric.name, a, b):
        return "unassessed", unlike
    if x <= 0 or y <= 0:
        return ("same", "equal") if x == y else ("unassessed", "no ratio: a value is not above 0")
    return _against_chance(metric, x, y, _unassessable(metric, a, b), widest_by_chance(others), len(others))


def _against_chance(
    metric: Metric, x: float, y: float, doubt: str, widest: float | None, known: int
) -> tuple[MetricVerdict, str]:
    ratio = y / x
    apart = max(ratio, 1 / ratio)
    if widest is None:
        mark = percent(ratio) if _is_apart(metric.unit, x, y) else "too near to mark"
        return "unassessed", f"{mark}, unassessed: spread unknown, it takes {FEWEST} other runs of this benchmark"
    if apart <= widest or abs(y - x) <= NOISE_FLOOR.get(metric.unit, 0):
        return "same", f"{percent(ratio)}, within what {known} other runs show two runs to differ by (x {widest:.2f})"
    if doubt:
        return "unassessed", f"{percent(ratio)}, unassessed: {doubt}"
    says = f"{percent(ratio)}, beyond what {known} other runs show two runs to differ by (x {widest:.2f})"
    return _direction(metric, ratio), says


def _direction(metric: Metric, ratio: float) -> MetricVerdict:
    if metric.better == "unknown":
        return "changed"
    return "better" if (ratio < 1) == (metric.better == "lower") else "worse"


def _exit_status(x: float, y: float) -> tuple[MetricVerdict, str]:
    if x == y:
        return "same", "equal"
    says = f"the command ended with {x:.0f}, then with {y:.0f}"
    if 0 not in (x, y):
        return "changed", says
    return ("worse" if x == 0 else "better"), says


def _not_measured(name: str, a: Subject, b: Subject) -> str:
    missing: dict[str, list[str]] = defaultdict(list)
    for subject in (a, b):
        if not _values(subject.attempts, name):
            gap = next((run.metrics[name].gap for run in subject.attempts if name in run.metrics), "")
            missing[f": {gap}" if gap else ""].append(subject.name)
    return "; ".join(f"not measured in {' and '.join(names)}{why}" for why, names in missing.items())


def _unlike_sources(name: str, a: Subject, b: Subject) -> str:
    sources = list(dict.fromkeys(run.metrics[name].source for run in (*a.attempts, *b.attempts) if name in run.metrics))
    return f"not comparable: measured in two ways, {' and '.join(sources)}" if len(sources) > 1 else ""


def _unassessable(metric: Metric, a: Subject, b: Subject) -> str:
    """Why two single values of a time say nothing, however far apart they are."""
    if metric.name in SIZES or (len(a.attempts) > 1 and len(b.attempts) > 1):
        return ""
    busy = [subject.name for subject in (a, b) if not is_calm(subject.state.samples)]
    return f"one run each, and whether CPUs were free is not known or not so in {' and '.join(busy)}" if busy else ""
