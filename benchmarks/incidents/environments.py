"""The Python environment that a program runs in: packages as an index had them on some day, and what follows from them.

An upgrade names one package and bumps many: which ones is drawn from pairs of environments of others.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from random import Random
from typing import NamedTuple

import msgspec

from benchmarks.incidents.programs import is_interpreted, name_of
from benchmarks.incidents.putting import Plain
from benchmarks.incidents.rows import DATA, Incident
from fingerprint.explain.stream import release
from probes.libraries.watched import is_watched

PREFIX = "/opt/venv"
SITE = "lib/python3.12/site-packages"
VERSION = "libraries/main/packages/{}/version"
UPGRADE = (5, 20)
"""Packages that come along where one is what the row is about."""
REBUILT = (0, 5)
"""Of one that was made anew."""
OF_NVIDIA = "nvidia-"
_OF_ANY = "torch"


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """of: the program, or `torch` for every other one."""

    of: str
    told: str = msgspec.field(name="from")
    packages: Mapping[str, str]


class Bumped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Versions that differed between two environments of one program. rebuilt: with one release of it and of torch,
    so that nobody meant to change them."""

    of: str
    told: str = msgspec.field(name="from")
    rebuilt: bool
    packages: Mapping[str, tuple[str, str]]


class Bump(NamedTuple):
    package: str
    versions: tuple[str, str]
    origin: str


@cache
def environments() -> Mapping[str, Environment]:
    lines = msgspec.json.Decoder(Environment).decode_lines((DATA / "environments.jsonl").read_bytes())
    return {each.of: each for each in lines}


@cache
def pairs() -> tuple[Bumped, ...]:
    return tuple(msgspec.json.Decoder(Bumped).decode_lines((DATA / "bumps.jsonl").read_bytes()))


def packages_of(program: Sequence[str], nvidia: bool) -> Mapping[str, str]:
    """None of a program that no interpreter runs. nvidia: whether it has a GPU of this maker, and the libraries."""
    if not is_interpreted(program):
        return {}
    found = environments().get(name_of(program), environments()[_OF_ANY]).packages
    return {name: version for name, version in found.items() if nvidia or not name.startswith(OF_NVIDIA)}


def bumps(incident: Incident, nvidia: bool, random: Random) -> tuple[Bump, ...]:
    """What came along with what the row is about, as in one of the pairs, or what changed in an environment that was
    made anew; nothing that the row tells of itself."""
    there = packages_of(incident.program, nvidia)
    if not there:
        return ()
    of = name_of(incident.program) if name_of(incident.program) in environments() else _OF_ANY
    told = packages_told(incident)
    pair = random.choice([pair for pair in pairs() if pair.of == of and (told or pair.rebuilt)])
    names = sorted(there.keys() & pair.packages.keys() - told)
    least, most = UPGRADE if told else REBUILT
    chosen = random.sample(names, min(random.randint(least, most), len(names)))
    back = _way(pair.packages.values()) * _way(_versions_told(incident)) < 0
    return tuple(Bump(name, _turned(pair.packages[name], back), pair.told) for name in chosen)


def _versions_told(incident: Incident) -> Iterable[tuple[str, str]]:
    return [
        (before, after)
        for facts in (incident.trigger, incident.also)
        for path, (before, after) in facts.items()
        if path.endswith("/version") and isinstance(before, str) and isinstance(after, str)
    ]


def _way(versions: Iterable[tuple[str, str]]) -> int:
    """Which way most of them go: what comes along with an upgrade is one, too."""
    found = [(release(before), release(after)) for before, after in versions]
    return sum((after > before) - (after < before) for before, after in found)


def _turned(versions: tuple[str, str], back: bool) -> tuple[str, str]:
    return (versions[1], versions[0]) if back else versions


def packages_told(incident: Incident) -> frozenset[str]:
    """Of which the row says what they did."""
    return packages_in((*incident.trigger, *incident.also, *incident.decisive))


def packages_in(facts: Iterable[str]) -> frozenset[str]:
    """Whose version, wheel or checkout they are about."""
    paths = (path.split("/") for path in facts)
    return frozenset(path[3] for path in paths if path[:1] == ["libraries"] and len(path) > 3)


def libraries(packages: Mapping[str, str]) -> Plain:
    """As the probe tells an environment that nobody touched since it was installed."""
    return {
        "environment": PREFIX,
        "python": "3.12",
        "folders": ["/usr/lib/python312.zip", "/usr/lib/python3.12", "/usr/lib/python3.12/lib-dynload", SITE],
        "packages": {"$": "map", "items": {name: _package(name, version) for name, version in packages.items()}},
        **{name: {"$": "map", "items": {}} for name in ("origins", "shadowed", "hooks", "customisations")},
        "engines": {"$": "map", "items": {name: _engine() for name in ("vllm", "sglang") if name in packages}},
    }


def _package(name: str, version: str) -> Plain:
    checked = {"modified": {"digest": "clean", "count": 0, "files": []}} if is_watched(name) else {}
    return {"version": version, "found_in": "environment", **checked}


def _engine() -> Plain:
    return {"listed": 120, "unknown": {"$": "map", "items": {}}}


def record_wheels(section: Plain) -> None:
    """Another version is another wheel: its RECORD as the versions stand after all that was changed, where no row tells
    of another wheel of the same version."""
    for name, package in section["packages"]["items"].items():
        package.setdefault("record", digest(name, package.get("version")))


def digest(*of: object) -> str:
    return blake2b(repr(of).encode(), digest_size=10).hexdigest()
