"""Telemetry that was sampled, but hardly ever in the condition that it needs: nothing is known of it."""

from collections.abc import Iterator

from fingerprint.diff.changes import NotKnown
from fingerprint.diff.known import ProbeOf, split
from fingerprint.diff.settling import ENOUGH, TOO_FEW, counted
from fingerprint.places import place_of
from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Distribution, Uncounted
from probes.kit.paths import parse_path


def hardly_counted(a: Samples, b: Samples, known: ProbeOf) -> Iterator[NotKnown]:
    """What both runs sampled, and too few samples of one of them count."""
    for path in a:
        x, y = a[path], b.get(path)
        if not (isinstance(x, (Distribution, Uncounted)) and isinstance(y, (Distribution, Uncounted))):
            continue
        if min(x.count, y.count) >= ENOUGH:
            continue
        key, names = split(parse_path(path), known)
        probe = known(key.area)
        place = place_of(probe.section, names) if probe else None
        if place and place.fact.kind == "telemetry" and place.fact.settled != "always":
            says = f"A: {counted(place.fact, x)}; B: {counted(place.fact, y)}"
            yield NotKnown(key, names, _code(x), _code(y), says=says)


def _code(sample: Distribution | Uncounted) -> str:
    return "seen" if sample.count >= ENOUGH else TOO_FEW.detail
