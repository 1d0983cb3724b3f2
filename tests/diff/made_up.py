"""Areas that exist in tests only, and effective states made of their sections."""

from collections.abc import Mapping
from typing import Any

from fingerprint.runs.effective import Effective, effective_of_snapshot
from fingerprint.snapshot import Key, Provenance, Reading, Snapshot, reading_of
from probes.kit.facts import Document, Map, Redacted, Section, Seen, config, counter, identity, state, telemetry
from probes.kit.probe import Probe


class Device(Section):
    uuid: Seen[str] = identity("which unit", "made up")
    limit: Seen[int] = config("a cap", "/sys/made/up/limit", "mW", restore="set {key} {value}")
    speed: Seen[int] = state("settles under load", "made up", settled="gpu busy")


class Links(Section):
    width: Seen[int] = config("how wide", "made up", tolerance=1)


class Made(Section):
    """One of everything."""

    mode: Seen[str] = config("a mode", "/sys/made/up/mode", restore="echo {value} > /sys/made/up/mode")
    after_mode: Seen[int] = config("moves with the mode", "made up", follows=("made/mode",))
    after_that: Seen[int] = config("moves with what moves", "made up", follows=("made/after_mode",))
    ratio: Seen[int] = config("zeroes bytes", "made up", follows=("made/bytes",))
    bytes: Seen[int] = config("zeroes ratio", "made up", follows=("made/ratio",))
    name: Seen[str] = identity("who", "made up", context=True)
    heat: Seen[int] = telemetry("moves always", "made up")
    events: Seen[int] = counter("only grows", "made up")
    links: Links = Links()
    devices: Seen[Map[Device]] = config("the devices", "made up")
    variables: Seen[Map[Seen[str | Redacted]]] = config("the variables", "made up")
    document: Seen[Document] = config("opaque", "made up")


class Cgroup(Section):
    cpu_max: Seen[str] = config("a quota", "made up")


class Task(Section):
    cgroup: Cgroup = Cgroup()
    nice: Seen[int] = config("share", "made up", restore="renice {value}")
    weight: Seen[int] = config("moves with nice", "made up", follows=("process/*/nice",))
    operands: Seen[tuple[str | Redacted, ...]] = config(
        "flags", "made up", follows=("process/**/operands", "process/**/env/*")
    )
    env: Seen[Map[Seen[str | Redacted]]] = config("variables", "made up")
    cap: Seen[int] = config("moves with the host's mode", "made up", follows=("made/mode",))


class Lane(Section):
    name: Seen[str] = config("which one", "made up")
    replays: Seen[int] = counter("stands still where all is well", "made up", trouble=True)


class Peer(Section):
    status: Seen[str] = config("whether each reaches the other", "made up")


class Card(Section):
    """A device that tells whether it is busy."""

    uuid: Seen[str] = identity("which unit", "made up")
    limit: Seen[int] = config("a cap", "made up", "mW", restore="set {key} {value}")
    mode: Seen[str] = config("a mode", "made up")
    slot: Seen[int] = config("where", "made up")
    busy: Seen[int] = telemetry("whether the others count", "made up", tells="gpu busy")
    clock: Seen[int] = telemetry("counts while busy", "made up", "MHz", settled="gpu busy")
    width: Seen[int] = state("settles under load", "made up", settled="gpu busy")
    reasons: Seen[tuple[str, ...]] = state("what holds the clock back", "made up", settled="gpu busy")
    errors: Seen[int] = counter("stands still where all is well", "made up", "errors", trouble=True)
    losses: Seen[int] = counter("counts the errors again", "made up", trouble=True, follows=("rack/*/errors",))
    lanes: Seen[Map[Lane]] = config("its lanes", "made up")
    peers: Seen[Map[Peer]] = config("the other cards", "made up")


class Rack(Section):
    """One collection of devices and nothing else."""

    cards: Seen[Map[Card]] = config("the cards", "made up")


class Used(Section):
    nr_throttled: Seen[int] = counter("stands still unless a quota binds", "made up", "periods", trouble=True)


class Usage(Section):
    cgroup: Used = Used()


def _unread(host: Any, target: Any) -> Any:
    raise AssertionError("nothing is read here")


KNOWN: Mapping[str, Probe[Section]] = {
    "made": Probe("made", "host", Made, _unread, 1.0, "border"),
    "process": Probe("process", "process", Task, _unread, 1.0, "border"),
    "rack": Probe("rack", "host", Rack, _unread, 1.0, "border"),
    "usage": Probe("usage", "process", Usage, _unread, 1.0, "tick"),
}


def known(area: str) -> Probe[Section] | None:
    return KNOWN.get(area)


def readings(sections: Mapping[str, Section | Reading]) -> dict[Key, Reading]:
    """`made` or `process/main` -> reading."""
    found = {}
    for name, section in sections.items():
        area, _, target = name.partition("/")
        found[Key(area, target)] = section if isinstance(section, Reading) else reading_of(section)
    return found


def snapshot(
    sections: Mapping[str, Section | Reading], *, host: str = "h", at: int = 10**18, id_: str = "s"
) -> Snapshot:
    return Snapshot(id_, at, 1.0, host, Provenance("0", "3", 0, "k"), readings(sections))


def state_of(sections: Mapping[str, Section | Reading], **more: Any) -> Effective:
    return effective_of_snapshot(snapshot(sections, **more))


def rack(**cards: Card) -> Rack:
    return Rack(cards=Map(dict(cards)))


def made(**facts: Any) -> Effective:
    return state_of({"made": Made(**facts)})
