"""The gate, part by part."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from fingerprint.gate.live import Live
from fingerprint.gate.waivers import Waived, Waivers
from fingerprint.imports.nvidia_smi import sections
from fingerprint.snapshot import Key, Provenance, Reading, Snapshot, reading_of
from probes.gpu import Gpu, Gpus
from probes.kit.facts import Map, Section
from tests.imports.capture import load, xml_of

TODAY = dt.date(2026, 11, 30)
ONE, OTHER = "0000:17:00.0", "0000:2a:00.0"


def gpus(**by_slot: Gpu) -> Gpus:
    return Gpus(gpus=Map(by_slot))


def two(one: Gpu, other: Gpu) -> Live:
    return live({"gpu": Gpus(gpus=Map({ONE: one, OTHER: other}))})


def readings(found: Mapping[str, Section]) -> dict[Key, Reading]:
    """By area, or AREA/TARGET."""
    return {Key(*name.split("/")): reading_of(section) for name, section in found.items()}


def live(found: Mapping[str, Section]) -> Live:
    return Live(readings(found))


def snapshot(found: Mapping[str, Section], host: str = "h1", uid: int = 0) -> Snapshot:
    return Snapshot("01", 10**18, 5, host, Provenance("0", "3.11", uid, "k"), readings(found))


def captured(name: str) -> Mapping[str, Section]:
    """The sections of a recorded log of nvidia-smi."""
    return sections(xml_of(load(name)))


def waivers(*given: Waived) -> Waivers:
    return Waivers(given, TODAY)


def waived(fact: str, **more: Any) -> Waived:
    told: dict[str, Any] = {"reason": "ordered", "owner": "ops", "expires": TODAY, "source": "p.toml:9", **more}
    return Waived(fact, **told)
