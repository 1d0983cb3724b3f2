"""What was seen equal, in a reader's terms: by area, on how many devices, and which themes are settled by it."""

from collections.abc import Mapping
from typing import Any

import pytest

from fingerprint.diff.known import probe_of
from fingerprint.explain import explain
from fingerprint.explain.contract import Group
from fingerprint.explain.ruled_out import THEMES
from fingerprint.places import facts_of
from fingerprint.report.text import render
from fingerprint.runs.record import Process
from fingerprint.snapshot import reading_of
from probes.gpu import Gpu, Gpus
from probes.gpu.ecc import Ecc
from probes.kit.facts import Gap, Map
from probes.kit.paths import FactPath, parse_glob
from probes.libraries.sections import Libraries, Modified, Package
from tests.diff.made_up import Made
from tests.explain.subjects import START, explained, subject

SLOTS = ("0000:17:00.0", "0000:2a:00.0")
OF_LEAVES = (
    "driver/module/parameters", "process/*/env", "process/*/flags", "kernel/cmdline", "cpu/mitigations",
    "storage/*/models/*/mount/options", "storage/*/tuned/*/files", "platform/containers/toolkit",
)  # fmt: skip
"""Collections whose items are values: these are no facts of their own."""
GLOBS = [glob for themes in THEMES.values() for globs in themes.values() for glob in globs]


def gpus(**facts: Any) -> Gpus:
    return Gpus(gpus=Map({slot: gpu(**{"uuid": slot, "power_limit": 600_000, **facts}) for slot in SLOTS}))


def gpu(**facts: Any) -> Gpu:
    return Gpu(**facts)


def group(a: Gpus, b: Gpus) -> Group:
    diff = explain(subject("A", a, area="gpu"), subject("B", b, area="gpu"))
    [found] = diff.ruled_out.groups
    assert f"gpu: {found.says}" in render(diff, width=160)
    return found


def test_how_many_are_equal_on_how_many_devices_and_which_themes_are_settled() -> None:
    a = gpus(ecc=Ecc(mode_current="enabled"))
    found = group(a, a)
    assert (found.facts, found.devices, found.themes) == (7, 2, ("power limits", "ECC"))
    assert found.says == "7 equal on 2 GPUs, power limits and ECC included"


@pytest.mark.parametrize("after", [450_000, Gap("denied")])
def test_a_theme_of_which_anything_changed_or_could_not_be_read_is_not_settled(after: Any) -> None:
    a = gpus(ecc=Ecc(mode_current="enabled"), enforced_power_limit=600_000)
    b = gpus(ecc=Ecc(mode_current="enabled"), enforced_power_limit=after)
    assert group(a, b).themes == ("ECC",)


def test_what_no_card_of_the_kind_has_does_not_unsettle_a_theme() -> None:
    alike = gpus(enforced_power_limit=Gap("unsupported"))
    assert group(alike, alike).themes == ("power limits",)
    for code in ("denied", "not_observable"):
        hidden = gpus(enforced_power_limit=Gap(code))
        assert group(hidden, hidden).themes == ()


def test_an_area_without_devices_or_themes_says_how_many() -> None:
    made = Made(mode="a")
    [found] = explained(subject("A", made), subject("B", made)).ruled_out.groups
    assert (found.says, found.devices, found.themes) == ("1 equal", 0, ())


CLEAN = Package(version="1", modified=Modified(digest="clean", count=0, files=(), unsettled=0))
OPEN = Package(version="1", modified=Modified(digest="clean", count=0, files=(), unsettled=9))
UNREAD = Package(version="1")
NO_RECORD = Package(version="1", modified=Modified(digest=Gap("absent"), unsettled=Gap("absent")))


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        ({"numpy": CLEAN, "rich": CLEAN}, "edited files"),
        ({"numpy": CLEAN, "rich": UNREAD}, "edited files of numpy (--deep: of all 2 packages)"),
        ({"numpy": CLEAN, "torch": OPEN, "rich": UNREAD}, "edited files of numpy (--deep: of all 3 packages)"),
        (
            {**dict.fromkeys("abcde", CLEAN), "rich": UNREAD},
            "edited files of a, b, c and 2 more (--deep: of all 6 packages)",
        ),
        ({"numpy": CLEAN, "rich": NO_RECORD}, "edited files of 1 of 2 packages"),
        ({"torch": OPEN, "rich": UNREAD}, ""),
        ({"rich": UNREAD}, ""),
    ],
)
def test_of_edited_files_those_packages_are_told_whose_files_were_looked_at(
    packages: Mapping[str, Package], told: str
) -> None:
    reading = Process(at=START, area="libraries", target="main", reading=reading_of(Libraries(packages=Map(packages))))
    sides = [subject(name, Made(mode="a"), None, reading) for name in "AB"]
    [found] = [one for one in explain(sides[0], sides[1]).ruled_out.groups if one.title == "libraries"]
    assert found.themes == ("versions", *([told] if told else []))


def declared() -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for area in THEMES:
        probe = probe_of(area)
        assert probe is not None
        above = (area,) if probe.of == "host" else (area, "main")
        found.update({str(FactPath((*above, *names))): fact for names, fact in facts_of(probe.section).items()})
    return found


@pytest.mark.parametrize("glob", GLOBS)
def test_every_theme_is_about_lasting_facts_that_are_declared(glob: str) -> None:
    facts = declared()
    above = glob.removesuffix("/*")
    of_fact = parse_glob(above if above in OF_LEAVES else glob)
    found = [fact for path, fact in facts.items() if of_fact.matches(FactPath(path.split("/")))]
    assert found
    assert any(fact.lasting for fact in found)
