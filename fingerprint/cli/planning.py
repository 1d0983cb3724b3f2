"""Before a run: what its repetitions can resolve, by the history of its benchmark."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation


def told(invocation: "Invocation", benchmark: str, starts: int) -> str:
    """A line for each metric that earlier runs measured; what is assumed where there are none. starts: on each side."""
    from fingerprint.cli.comparing import of_benchmark
    from fingerprint.explain.metrics import EXIT_STATUS, series_of
    from fingerprint.statistics import plan

    runs = of_benchmark(invocation.stores, benchmark)
    names = dict.fromkeys(name for run in runs for name in run.metrics if name != EXIT_STATUS)
    measured = {name: series_of(runs, name) for name in names}
    lines = [f"{name}: {plan(series, starts).says}" for name, series in measured.items() if series.starts]
    return "\n".join(lines or [f"{benchmark} has no run yet. {plan(None, starts).says}"])
