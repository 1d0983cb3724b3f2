"""Metrics and workload facts that the user gives in words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fingerprint.metrics.metric import Better, Kind, Metric
from fingerprint.metrics.naming import better_of, is_peak, plain_unit, unit_of
from fingerprint.metrics.values import condensed, samples
from fingerprint.metrics.wanted import check_metric_name
from fingerprint.trouble import Trouble


def given_metric(
    name: str, values: Sequence[float], unit: str = "", better: "Better | None" = None, kind: Kind = "repeats"
) -> Metric:
    """In the order measured. Raises Trouble for a name that is taken, and for values that nothing can measure."""
    check_metric_name(name)
    unit = plain_unit(unit) or unit_of(name)
    return condensed(
        Metric(
            name,
            unit,
            better or better_of(name, unit),
            samples(values, name, unit),
            source="given",
            kind=kind,
            peak=is_peak(name),
        )
    )


def workload_facts(texts: Iterable[str]) -> Mapping[str, Any]:
    """Of each KEY=VALUE. Raises Trouble, also for one KEY with two values."""
    facts: dict[str, Any] = {}
    for key, value in map(workload_fact, texts):
        if facts.setdefault(key, value) != value:
            raise Trouble(f"--workload {key} is given twice, as {facts[key]} and as {value}; leave one out")
    return facts


def workload_fact(text: str) -> tuple[str, Any]:
    """Of KEY=VALUE. A value that is a JSON number, true or false is one; any other is a text. Raises Trouble."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not text.isprintable():
        raise Trouble(f"--workload {text}: it takes KEY=VALUE, as in concurrency=8")
    try:
        return key.strip(), msgspec.json.decode(value, type=bool | int | float)
    except msgspec.MsgspecError:
        return key.strip(), value
