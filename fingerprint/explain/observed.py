"""What was observed while both runs ran, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

import msgspec

from fingerprint.diff.changes import Paired
from fingerprint.diff.known import ProbeOf, fact_at
from fingerprint.diff.pairing import keys_of_b
from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Distribution, Growth, Sample
from probes.kit.facts import Fact
from probes.kit.paths import FactPath, parse_path

CALM = 0.05
"""Share of the time that some task waited for a CPU up to which a host counts as idle enough to time a command."""
CPU_WAIT = "pressure/cpu/some/total"
_OF_OTHERS = "neighbours/"


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
        if _moves(x) and _moves(y) and type(x) is type(y) and not path.startswith(_OF_OTHERS):
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


def on_item(glob: str, key: str) -> str:
    """The path of what a glob names on one item of a collection, or what is left of the glob, as where there are
    collections within; the glob itself where there is no item."""
    parts = glob.split("/")
    if key and "*" in parts:
        parts[parts.index("*")] = str(FactPath((key,)))
    return "/".join(parts)


def bulk(distribution: Distribution) -> tuple[float, float]:
    return distribution.quantiles[1], distribution.quantiles[-2]


def level(sample: Distribution | Growth) -> float:
    """The median, or the growth per second."""
    if isinstance(sample, Distribution):
        return sample.quantiles[len(sample.quantiles) // 2]
    return sample.grown / sample.seconds if sample.seconds else 0.0


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
