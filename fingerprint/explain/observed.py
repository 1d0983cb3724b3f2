"""What was observed while both runs ran, side by side."""

from collections.abc import Iterator
from typing import Any

import msgspec

from fingerprint.diff.known import ProbeOf, fact_at
from fingerprint.explain.contract import During
from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Distribution, Growth
from probes.kit.paths import parse_path

CALM = 0.05
"""Share of the time that some task waited for a CPU up to which a host counts as idle enough to time a command."""
NOTABLE = 2.0
LONG_ENOUGH = 5.0
"""Seconds, or samples, from which the growth or the distribution of one run says something about another."""
CPU_WAIT = "pressure/cpu/some/total"


class Observed(msgspec.Struct, frozen=True):
    """A fact that was sampled in both runs."""

    path: str
    unit: str
    a: Distribution | Growth
    b: Distribution | Growth


def observed(a: Samples, b: Samples, known: ProbeOf) -> tuple[Observed, ...]:
    """Without who else was at work: that is told only of a run that was held up, by `held_up`."""
    both = [path for path in a if path in b and not path.startswith("neighbours/")]
    return tuple(Observed(path, _unit(path, known), a[path], b[path]) for path in both)


def _unit(path: str, known: ProbeOf) -> str:
    fact = fact_at(parse_path(path), known)
    return fact.unit if fact else ""


def notable(seen: tuple[Observed, ...]) -> tuple[During, ...]:
    """What was clearly not alike, by its ratio: bulks (5-95 %) that do not touch, rates that differ twofold."""
    differing = sorted((o for o in seen if _differs(o)), key=lambda o: (-_ratio(o), o.path))
    return tuple(During(fact=o.path, unit=o.unit, a=_plain(o.a), b=_plain(o.b), says=_says(o)) for o in differing)


def _differs(o: Observed) -> bool:
    if isinstance(o.a, Distribution) and isinstance(o.b, Distribution):
        (low, high), (other_low, other_high) = bulk(o.a), bulk(o.b)
        enough = min(o.a.count, o.b.count) >= LONG_ENOUGH
        return enough and (high < other_low or other_high < low) and _ratio(o) >= NOTABLE
    if isinstance(o.a, Growth) and isinstance(o.b, Growth):
        return min(o.a.seconds, o.b.seconds) >= LONG_ENOUGH and _ratio(o) >= NOTABLE
    return False


def bulk(distribution: Distribution) -> tuple[float, float]:
    return distribution.quantiles[1], distribution.quantiles[-2]


def _ratio(o: Observed) -> float:
    low, high = sorted((abs(level(o.a)), abs(level(o.b))))
    return high / low if low else float("inf") if high else 1.0


def level(sample: Distribution | Growth) -> float:
    """The median, or the growth per second."""
    if isinstance(sample, Distribution):
        return sample.quantiles[len(sample.quantiles) // 2]
    return sample.grown / sample.seconds if sample.seconds else 0.0


def _plain(sample: Distribution | Growth) -> Any:
    return msgspec.to_builtins(sample)


def _says(o: Observed) -> str:
    unit = f" {o.unit}" if o.unit else ""
    if isinstance(o.a, Growth):
        return f"{level(o.a):.4g} -> {level(o.b):.4g}{unit} per second"
    return f"median {level(o.a):.4g} -> {level(o.b):.4g}{unit}"


def waited_for_cpu(samples: Samples) -> float | None:
    """The share of the run's time in which some task of the host waited for a CPU; None where it was not sampled."""
    growth = samples.get(CPU_WAIT)
    if not isinstance(growth, Growth) or not growth.seconds:
        return None
    return growth.grown / (growth.seconds * 1e6)


def is_calm(samples: Samples) -> bool:
    share = waited_for_cpu(samples)
    return share is not None and share <= CALM


def reset(a: Samples, b: Samples) -> Iterator[str]:
    """Counters of the host that fell while a run ran. Those of a process tree fall when a process of it ends."""
    for path in {**a, **b}:
        fell = any(isinstance(s, Growth) and s.resets for s in (a.get(path), b.get(path)))
        if fell and not path.startswith("usage/"):
            yield path
