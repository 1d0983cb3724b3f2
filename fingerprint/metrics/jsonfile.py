"""Reads numbers from any JSON, or lines of JSON: `json:FILE#PATH`."""

from typing import Any

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.metric import Kind, Metric
from fingerprint.metrics.naming import better_of, is_peak, plain_unit, unit_of
from fingerprint.metrics.path import Missing, Path, Place, keys_of, walk
from fingerprint.metrics.source import Source, documents
from fingerprint.metrics.values import condensed, sample, samples
from fingerprint.metrics.wanted import Wanted


def read(source: Source, wanted: Wanted) -> Found:
    """One metric. Raises NothingRead where the path leads to no number, or to anything else."""
    told = documents(source)
    found = [place for where, document in told for place in walk(document, wanted.path, where)]
    places = [place for place in found if isinstance(place, Place)]
    missing = [place for place in found if isinstance(place, Missing)]
    if not places:
        says = missing[0].says if missing else f"{source.name} has no element at #{wanted.path}"
        raise NothingRead(f"{says}; correct the path")
    unit = wanted.unit or _unit(places, wanted.path)
    values = tuple(number for place in places for number in _numbers(place, unit))
    if not values:
        raise NothingRead(f"{source.name}: {wanted} leads to empty lists, so nothing was measured")
    return Found((_metric(wanted, unit, values, source.name),), remarks=_remarks(wanted, found, missing))


def _numbers(place: Place, unit: str) -> tuple[float, ...]:
    if isinstance(place.value, dict):
        raise NothingRead(f"{place.where} is no number but an object, so the path goes on: {keys_of(place.value)}")
    if isinstance(place.value, list):
        return samples(place.value, place.where, unit)
    return (sample(place.value, place.where, unit),)


def _unit(places: list[Place], path: Path) -> str:
    """A text called `unit` beside the value, else what the key tells."""
    beside = {_beside(place.parent) for place in places}
    if len(beside) > 1:
        raise NothingRead(f"{places[0].where}: its unit is {' and '.join(sorted(beside))} in turn; read each by itself")
    return beside.pop() or unit_of(path.key)


def _beside(parent: Any) -> str:
    unit = parent.get("unit") if isinstance(parent, dict) else None
    return plain_unit(unit) if isinstance(unit, str) else ""


def _metric(wanted: Wanted, unit: str, values: tuple[float, ...], file: str) -> Metric:
    # Values that one file lists may be readings of one course of work: independent only where the user says so.
    kind: Kind = wanted.kind or ("series" if len(values) > 1 else "repeats")
    return condensed(
        Metric(
            name=wanted.name,
            unit=unit,
            better=wanted.better or better_of(wanted.path.key, unit),
            samples=values,
            source=f"json, #{wanted.path}",
            kind=kind,
            peak=wanted.peak or is_peak(wanted.path.key),
            file=file,
        )
    )


def _remarks(wanted: Wanted, found: list[Any], missing: list[Missing]) -> tuple[str, ...]:
    if not missing:
        return ()
    left_out = f"{len(missing)} of {len(found)} elements were left out"
    return (f"{wanted.name}: {left_out}, the first because {missing[0].says}",)
