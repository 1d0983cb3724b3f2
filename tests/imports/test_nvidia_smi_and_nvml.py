"""What nvidia-smi printed of real boards and an NVML that answers the same give the same facts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fingerprint.imports.nvidia_smi import sections
from fingerprint.imports.nvidia_smi_table import GPU, told_before_nvml
from fingerprint.sections import leaves
from probes.driver import driver
from probes.gpu import gpu
from probes.kit.facts import NOT_READ, Gap, Section, Seen
from probes.kit.host import Host
from probes.kit.probe import HOST
from tests.imports.capture import load, names, xml_of
from tests.imports.logs import LOGS
from tests.nvml.fake import FakeNvml
from tests.nvml.from_xml import scenario_of_xml

R = TypeVar("R")

PRODUCTS, FACTS, VALUES = 15, 156, 1862
"""What is compared, at least: it grows with the captures and never falls."""


def values(section: Section) -> Mapping[tuple[str, ...], Any]:
    return {leaf.names: leaf.value for leaf in leaves(section)}


class NvmlAlone(Host):
    """Not even files: a container that the tests run in would hide whether persistence is on."""

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        return live() if call.startswith("nvml") else Gap("absent")


def both(xml: str, fake_nvml: FakeNvml) -> list[tuple[tuple[str, ...], Any, Any]]:
    """Path, as imported, as NVML answers: of each fact that the log tells."""
    host = NvmlAlone(nvml=fake_nvml(scenario_of_xml(xml)).options())
    asked = {"gpu": gpu.read(host, HOST), "driver": driver.read(host, HOST)}
    found = []
    for area, section in sections(xml).items():
        answers = values(asked[area])
        found += [((area, *path), value, answers.get(path, NOT_READ)) for path, value in values(section).items()]
    return found


def unlike(xml: str, fake_nvml: FakeNvml) -> list[tuple[tuple[str, ...], Any, Any]]:
    """But for a GPU's number, which is its place in the log, and which the stand-in for NVML does not tell."""
    found = both(xml, fake_nvml)
    ahead = {"index", *told_before_nvml(next(value for path, value, _ in found if path[-1] == "driver_version"))}
    return [row for row in found if row[1] != row[2] and "/".join(row[0][2:]) not in ahead]


@pytest.mark.parametrize("name", names())
def test_a_recorded_board_gives_one_set_of_facts_both_ways(name: str, fake_nvml: FakeNvml) -> None:
    assert unlike(xml_of(load(name)), fake_nvml) == []


@pytest.mark.skipif(not LOGS, reason="FINGERPRINT_CORPUS holds no logs of nvidia-smi")
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_board_of_the_corpus_gives_one_set_of_facts_both_ways(log: Path, fake_nvml: FakeNvml) -> None:
    assert unlike(log.read_text(), fake_nvml) == []


def test_what_is_compared_never_becomes_less() -> None:
    told = [row for name in names() for row in values(sections(xml_of(load(name)))["gpu"]).items()]
    valued = [(path, value) for path, value in told if len(path) > 1 and not isinstance(value, Gap)]
    facts = {"/".join(path[1:]) for path, _ in valued} & GPU.keys()
    products = {value for path, value in valued if path[1:] == ("name",)}
    print(f"{len(products)} products, {len(facts)} facts, {len(valued)} values and {len(told) - len(valued)} gaps")
    assert (len(products) >= PRODUCTS, len(facts) >= FACTS, len(valued) >= VALUES) == (True, True, True)
