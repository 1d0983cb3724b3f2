"""The commands that a suspect names: how to look at it, and how to set it back."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from fingerprint.catalog import facts
from fingerprint.diff.changes import Change, Folded
from fingerprint.explain.suspects import check, restore
from fingerprint.places import place_of
from fingerprint.snapshot import Key
from probes.cpu import Cpu
from probes.kit.facts import Section
from probes.libraries.sections import Libraries
from probes.process.sections import Process

OF: Mapping[str, type[Section]] = {"process": Process, "libraries": Libraries, "cpu": Cpu}
FOLDERS = ("/fd", "/cache", "/cpuidle", "/cpufreq", "/powercap", "/vulnerabilities", "/intel_uncore_frequency")


def changed(area: str, names: str, before: Any = 1, after: Any = 2) -> Folded:
    parts = tuple(names.split("/"))
    place = place_of(OF[area], parts)
    assert place is not None
    change = Change(
        key=Key(area, "" if area == "cpu" else "main"), names=parts, pattern=parts, item=(*parts, "")[1],
        fact=place.fact, verdict="changed", before=before, after=after,
    )  # fmt: skip
    return Folded(first=change, changes=(change,), text=str(change.path), on="")


def test_a_limit_is_set_back_as_prlimit_takes_it() -> None:
    folded = changed("process", "limits/memlock", (8388608, "unlimited"), ("unlimited", "unlimited"))
    assert restore(folded) == "prlimit --memlock=8388608:unlimited COMMAND"


def test_a_package_is_set_back_without_those_that_it_would_bring_along() -> None:
    assert restore(changed("libraries", "packages/torch/version", "2.9.0", "2.10.0")) == (
        "pip install --no-deps torch==2.9.0"
    )


@pytest.mark.parametrize(
    ("area", "names", "command"),
    [
        ("process", "cwd", "readlink /proc/PID/cwd"),
        ("process", "interpreter/path", "readlink /proc/PID/exe"),
        ("process", "oom_score_adj", "cat /proc/PID/oom_score_adj"),
        ("cpu", "mitigations/meltdown", "grep -r . /sys/devices/system/cpu/vulnerabilities"),
    ],
)
def test_a_link_and_a_folder_are_not_looked_at_by_cat(area: str, names: str, command: str) -> None:
    assert check(changed(area, names)) == command


def test_no_fact_is_said_to_be_read_by_cat_where_that_shows_nothing() -> None:
    """Of every fact there is: a new one that comes from a folder, a link or a stream needs a command of its own."""
    folded = changed("process", "cwd")
    for fact in facts():
        first = replace(folded.first, fact=replace(folded.first.fact, source=fact.source))
        told = check(replace(folded, first=first))
        assert not told.startswith("cat ") or not told.endswith((*FOLDERS, "/exe", "/cwd", "/dev/kmsg")), fact.path
