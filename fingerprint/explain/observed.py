"""What was observed while both runs ran, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import msgspec

from fingerprint.diff.changes import Paired
from fingerprint.diff.known import ProbeOf, fact_at
from fingerprint.diff.pairing import keys_of_b
from fingerprint.explain.contract import During
from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Distribution, Growth, Sample
from fingerprint.words import quantities
from probes.kit.facts import Fact
from probes.kit.paths import FactPath, parse_path

CALM = 0.05
"""Share of the time that some task waited for a CPU up to which a host counts as idle enough to time a command."""
NOTABLE = 2.0
LONG_ENOUGH = 5.0
"""Seconds, or samples, from which the growth or the distribution of one run says something about another."""
CPU_WAIT = "pressure/cpu/some/total"


class Observed(msgspec.Struct, frozen=True):
    """A fact that was sampled in both runs. fact: None where this release declares none."""

    path: str
    fact: Fact | None
    a: Distribution | Growth
    b: Distribution | Growth

    @property
    def unit(self) -> str:
        return self.fact.unit if self.fact else ""


def observed(a: Samples, b: Samples, known: ProbeOf) -> tuple[Observed, ...]:
    """Without who else was at work: that is told only of a run that was held up, by `held_up`. Nor states: what they
    held is compared."""
    found = []
    for path, x in a.items():
        y = b.get(path)
        if _moves(x) and _moves(y) and type(x) is type(y) and not path.startswith("neighbours/"):
            fact = fact_at(parse_path(path), known)
            found.append(Observed(path, fact, x, y))
    return tuple(found)


def _moves(sample: Sample | None) -> TypeGuard[Distribution | Growth]:
    return isinstance(sample, (Distribution, Growth))


def under_keys_of_a(samples: Samples, pairing: Sequence[Paired]) -> Samples:
    """Those of B, each device under the key of the one of A that it is paired with."""
    keys = keys_of_b(pairing)
    return {_renamed(parse_path(path), keys): sample for path, sample in samples.items()} if keys else samples


def _renamed(path: FactPath, keys: Mapping[str, str]) -> str:
    return str(FactPath(keys.get(name, name) for name in path))


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
    words = quantities(level(o.a), level(o.b), o.unit)
    if isinstance(o.a, Growth):
        return f"{words} per second"
    return f"median {words}{_left_out(o)}"


def _left_out(o: Observed) -> str:
    """`; 41 and 38 samples, 3 and 12 left out: not gpu busy`."""
    if not (isinstance(o.a, Distribution) and isinstance(o.b, Distribution) and o.fact):
        return ""
    if not (o.a.left_out or o.b.left_out):
        return ""
    counts = f"{o.a.count} and {o.b.count} samples"
    return f"; {counts}, {o.a.left_out} and {o.b.left_out} left out: not {o.fact.settled}"


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
