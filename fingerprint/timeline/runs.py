"""A run as a timeline publishes it."""

from collections.abc import Callable, Iterator

from fingerprint.canary.names import is_canary
from fingerprint.explain.contract import EVERY_RUN
from fingerprint.runs.record import Opener
from fingerprint.runs.run import ended, state_of
from fingerprint.timeline.contract import Mark, Measured, Run
from fingerprint.timeline.found import Loaded
from fingerprint.words import moment


def published(it: Loaded, mark: Mark, alive: Callable[[Opener], bool]) -> Run:
    run, opened = it.run, it.run.opened
    state = state_of(run.closed, run.closed is None and alive(opened.opener))
    return Run(
        id=run.id,
        name=opened.name,
        attempt=opened.attempt,
        host=opened.host,
        benchmark=opened.benchmark,
        started=moment(opened.at),
        ended="" if state == "open" else moment(it.until),
        how=ended(run.closed, state),
        mark=mark,
        good=run.good,
        by_service=opened.service,
        metrics=tuple(sorted(_measured(it), key=lambda metric: metric.name in EVERY_RUN)),
    )


def _measured(it: Loaded) -> Iterator[Measured]:
    for metric in it.run.metrics.values():
        if (value := metric.typical) is not None and not is_canary(metric.name):
            yield Measured(name=metric.name, unit=metric.unit, better=metric.better, value=value)
