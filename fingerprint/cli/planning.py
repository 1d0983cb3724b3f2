"""Before a run: what its repetitions can resolve, by the history of its benchmark."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.run import Run
    from fingerprint.statistics import Series


def told(invocation: "Invocation", benchmark: str, starts: int) -> str:
    """A line for each metric that earlier runs measured; what is assumed where there are none.

    starts: on each side. Each name stands for one state: how the medians of two names differ is no spread of starts.
    """
    from fingerprint.canary.names import is_canary
    from fingerprint.comparing import of_benchmark
    from fingerprint.explain.metrics import EXIT_STATUS, series_of
    from fingerprint.statistics import plan

    states: dict[str, list[Run]] = {}
    for run in of_benchmark(invocation.stores, benchmark):
        states.setdefault(run.opened.name, []).append(run)
    names = dict.fromkeys(name for runs in states.values() for run in runs for name in run.metrics)
    lines = []
    for name in names:
        history = [series for runs in states.values() if (series := series_of(runs, name)).starts]
        if history and name != EXIT_STATUS and not is_canary(name):
            lines.append(f"{name}: {_resolved(history, starts)}")
    return "\n".join(lines or [f"{benchmark} has no run yet. {plan(None, starts).says}"])


def _resolved(history: "Sequence[Series]", starts: int) -> str:
    from fingerprint.statistics import plan

    if min(sample for series in history for sample in series.samples) > 0:
        return plan(history, starts).says
    return "A value is not above 0, so a change has no ratio to plan for; ranks tell from four starts on each side."
