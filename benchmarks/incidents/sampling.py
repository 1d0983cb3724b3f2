"""What is sampled in a run that is played back: a host as it was recorded, GPUs at work, what a row says was seen."""

from collections.abc import Iterable, Mapping
from functools import cache
from random import Random

import msgspec

from benchmarks.incidents.putting import Place, Plain, Sections, places, put, type_of, value
from benchmarks.incidents.rows import DATA
from fingerprint.places import facts_of, place_of
from fingerprint.runs.record import Distribution, Growth, Held, Sample
from fingerprint.snapshot import Key
from probes.kit.facts import Fact
from probes.kit.lanes import carries

SECONDS = 60.0
TICKS = 300
SPREAD = 0.004
"""Of telemetry while nothing changes, as a share."""
MICROSECONDS = 1e6
GPUS = Key("gpu")
_QUANTILES = (-2.5, -1.6, -0.7, 0.0, 0.7, 1.6, 2.5)

Samples = dict[str, Sample]

AT_WORK: Mapping[str, tuple[str, float]] = {
    "clocks/graphics": ("clocks/max/graphics", 0.94),
    "clocks/sm": ("clocks/max/sm", 0.94),
    "clocks/mem": ("clocks/max/mem", 1.0),
    "power/draw": ("power_min_limit", 0.9),
    "utilization/gpu": ("", 97),
    "utilization/memory": ("", 55),
    "temperature/gpu": ("", 61),
    "busy": ("", 1),
    "pcie/link_gen_current": ("pcie/link_gen_max", 1),
    "pcie/link_speed": ("pcie/link_speed_max", 1),
}
"""Of a GPU at work: so much of another fact, or in its own unit. Of everything else, what it is at rest. It draws less
than any limit that may be set: what reaches one says so."""

TRAFFIC: Mapping[str, float] = {"pcie/tx_bytes": 0.02e9, "pcie/rx_bytes": 0.02e9}
BETWEEN: Mapping[str, float] = {"pcie/tx_bytes": 0.1e9, "pcie/rx_bytes": 0.1e9}
LINKED: Mapping[str, float] = {**TRAFFIC, "nvlink/data_tx": 2e9, "nvlink/data_rx": 2e9}
"""What crosses the links of a GPU at work, B/s: of one by itself, of several that have PCIe alone, of those that have
NVLink. Over PCIe as two boards were seen to decode, 0.01 to 0.12 GB/s each way (club-3090#1098). Over NVLink by what
tensor parallelism of a model of 80 layers and 8192 dimensions says: two sums of 16 KiB a layer and token, 2.6 MB a
token, at 800 tokens a second."""


def host_samples(sections: Sections, random: Random) -> Samples:
    """Of one of the recorded runs of a machine on which nothing was changed in between; and at which clocks the CPUs of
    this machine ran, which that one does not tell."""
    clocks = {place.path: value(sections, place) for place in places(sections, "cpu/frequency/*")}
    held = {path: held_at(level, random) for path, level in clocks.items() if isinstance(level, int)}
    return {**random.choice(_recorded()), **held}


@cache
def _recorded() -> tuple[Samples, ...]:
    decoder = msgspec.json.Decoder(dict[str, Sample])
    return tuple(decoder.decode_lines((DATA / "samples.jsonl").read_bytes()))


def gpu_samples(sections: Sections, random: Random) -> Samples:
    """Telemetry, counters and what settles under load, of every GPU of the machine."""
    found: Samples = {}
    crossing = _crossing(sections)
    facts = facts_of(type_of(GPUS))
    for names, fact in facts.items():
        if fact.kind in ("telemetry", "counter") or not fact.lasting:
            pattern = "/".join(("gpu", *names))
            found.update({place.path: sample for place, sample in _of(pattern, fact, sections, crossing, random)})
    return found


def _crossing(sections: Sections) -> Mapping[str, float]:
    """By what the machine has: how many GPUs, and whether any of their links is up."""
    if len(places(sections, "gpu/*/name")) < 2:
        return TRAFFIC
    active = [value(sections, place) for place in places(sections, "gpu/*/nvlink/active")]
    return LINKED if any(isinstance(links, int) and links for links in active) else BETWEEN


def _of(
    pattern: str, fact: Fact, sections: Sections, crossing: Mapping[str, float], random: Random
) -> Iterable[tuple[Place, Sample]]:
    for place in places(sections, pattern):
        level = _at_work(sections, place)
        if fact.kind == "counter" and isinstance(level, int):
            yield place, grown(crossing.get("/".join(place.names[1:]), 0))
        elif fact.kind == "telemetry" and isinstance(level, (int, float)):
            yield place, held_at(level, random)
        elif fact.kind == "state" and isinstance(level, (int, str)):
            yield place, Held(((level, TICKS),))


def _at_work(sections: Sections, place: Place) -> object:
    slot, *names = place.names
    if "/".join(names) not in AT_WORK:
        return value(sections, place)
    of, share = AT_WORK["/".join(names)]
    whole = value(sections, Place(place.key, (slot, *of.split("/")))) if of else 1
    return round(share * whole) if isinstance(whole, int) else None


def held_at(level: float, random: Random) -> Distribution:
    if level <= 1:
        return flag(level)
    level *= 1 + random.gauss(0, SPREAD)
    quantiles = tuple(float(level * (1 + SPREAD * away)) for away in _QUANTILES)
    return Distribution(TICKS, level, quantiles)


def flag(share: float) -> Distribution:
    """Of what is 0 or 1: on in this share of the samples."""
    return Distribution(TICKS, float(share), tuple(float(share > at) for at in (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)))


def grown(rate: float, first: int = 0) -> Growth:
    amount = round(rate * SECONDS)
    return Growth(first, first + amount, amount, SECONDS)


def add(samples: Samples, sections: Sections, pattern: str, level: float, random: Random) -> None:
    """Lets a fact be seen at this level, or growing at this rate, wherever this machine has it."""
    for place in places(sections, pattern) or [_sampled_only(pattern)]:
        fact = facts_of_place(place)
        samples[place.path] = grown(level) if fact.kind == "counter" else held_at(level, random)


def _sampled_only(pattern: str) -> Place:
    area, target, *names = pattern.split("/")
    return Place(Key(area, target), tuple(names))


def facts_of_place(place: Place) -> Fact:
    """Raises LookupError where no probe declares it."""
    found = place_of(type_of(place.key), place.names)
    if found is None:
        raise LookupError(f"no probe declares {place.path}")
    return found.fact


def fit(samples: Samples, sections: Sections, random: Random) -> None:
    """What each link to the host carries, as it stands after all that was changed."""
    for place in places(sections, "gpu/*/pcie/link_width_current"):
        of = f"gpu/{place.names[0]}/pcie"
        generation, lanes = samples.get(f"{of}/link_gen_current"), value(sections, place)
        if isinstance(generation, Held) and isinstance(lanes, int):
            most = carries(generation.values[0][0], lanes)
            assert isinstance(most, int)
            samples[f"{of}/link_bandwidth"] = held_at(most, random)


def settle(samples: Samples, place: Place, wanted: Plain | str | int | None) -> None:
    """What counts under load alone is what the samples held."""
    if isinstance(wanted, (str, int)):
        samples[place.path] = Held(((wanted, TICKS),))


def count_on(after: Sections, samples: Samples) -> None:
    """Counters stand in the snapshot after a run where the samples say that they went."""
    for path, sample in samples.items():
        if isinstance(sample, Growth) and sample.grown:
            for place in places(after, path.replace("%2F", "/")):
                first = value(after, place)
                if isinstance(first, int):
                    put(after, place, first + sample.grown)
