"""The commands that a suspect names: how to look at it, and how to set it back."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from fingerprint.catalog import facts
from fingerprint.diff.changes import Change, Folded
from fingerprint.explain.experiment import command
from fingerprint.explain.suspects import check, restore
from fingerprint.places import place_of
from fingerprint.snapshot import Key
from fingerprint.sources import LOOKED_AT, looked_at
from probes.cpu import Cpu
from probes.gpu import Gpus
from probes.kit.facts import Section
from probes.libraries.sections import Libraries
from probes.process.sections import Process
from tests.report.cases import suspect

OF: Mapping[str, type[Section]] = {"process": Process, "libraries": Libraries, "cpu": Cpu, "gpu": Gpus}
FOLDERS = ("/fd", "/cache", "/cpuidle", "/cpufreq", "/powercap", "/vulnerabilities", "/intel_uncore_frequency")


def changed(area: str, names: str, before: Any = 1, after: Any = 2) -> Folded:
    parts = tuple(names.split("/"))
    place = place_of(OF[area], parts)
    assert place is not None
    change = Change(
        key=Key(area, "" if area in ("cpu", "gpu") else "main"), names=parts, pattern=parts,
        item=(*parts, "")[area != "gpu"],
        fact=place.fact, verdict="changed", before=before, after=after,
    )  # fmt: skip
    return Folded(first=change, changes=(change,), text=str(change.path), on="")


def test_a_variable_is_looked_at_by_a_command() -> None:
    told = "tr '\\0' '\\n' < /proc/PID/environ | grep '^OMP_NUM_THREADS='"
    assert check(changed("process", "env/OMP_NUM_THREADS")) == told


def test_what_has_a_command_is_told_by_it_whatever_else_its_source_says() -> None:
    known = [fact.source for fact in facts() if re.split(r"[,;] ", fact.source)[0] in LOOKED_AT]
    assert {source: looked_at(source) for source in known if not looked_at(source)} == {}
    assert looked_at("/dev/kmsg, NVRM: Xid") == "dmesg | grep -F 'NVRM: Xid'"


def test_a_limit_is_set_back_as_prlimit_takes_it() -> None:
    folded = changed("process", "limits/memlock", (8388608, "unlimited"), ("unlimited", "unlimited"))
    assert restore(folded) == "prlimit --memlock=8388608:unlimited COMMAND"


@pytest.mark.parametrize(
    ("names", "before", "told"),
    [
        ("0/mig/mode_current", "disabled", "nvidia-smi -i 0 -mig DISABLED # some products want a reset afterwards"),
        ("0/ecc/mode_current", "enabled", "nvidia-smi -i 0 -e ENABLED # takes effect at the next reset or reboot"),
        ("0/power_limit", 600_000, "nvidia-smi -i 0 -pl 600"),
    ],
)
def test_a_command_holds_no_sum_that_is_left_to_the_shell(names: str, before: Any, told: str) -> None:
    assert restore(changed("gpu", names, before)) == told


def test_what_a_module_is_loaded_with_is_told_as_the_module_takes_it() -> None:
    told = restore(changed("gpu", "0/gsp/mode_current", "disabled", "enabled"))
    assert told is not None
    assert told.startswith("echo options nvidia NVreg_EnableGpuFirmware=0 > ")


def test_a_package_is_set_back_without_those_that_it_would_bring_along() -> None:
    assert restore(changed("libraries", "packages/torch/version", "2.9.0", "2.10.0")) == (
        "pip install --no-deps torch==2.9.0"
    )


@pytest.mark.parametrize(
    ("package", "version", "told"),
    [
        ("torch", "2.8.0+cu128", "--index-url https://download.pytorch.org/whl/cu128"),
        ("torchaudio", "2.8.0+cpu", "--index-url https://download.pytorch.org/whl/cpu"),
        ("torchvision", "0.23.0+rocm6.4", "--index-url https://download.pytorch.org/whl/rocm6.4"),
        ("torch", "2.8.0+git12ab", None),
        ("torch", "2.9.0.dev20250801+cu128", None),
        ("torch", "2.9.0.dev20250801", None),
        ("vllm", "0.10.2+cu128", None),
    ],
)
def test_a_build_that_pypi_does_not_hold_is_set_back_from_the_index_that_does_or_by_no_command(
    package: str, version: str, told: str | None
) -> None:
    folded = changed("libraries", f"packages/{package}/version", version, "9.0")
    whole = replace(folded, changes=(replace(folded.first, item=package),), first=replace(folded.first, item=package))
    assert restore(whole) == (told and f"pip install --no-deps {package}=={version} {told}")


def test_of_builds_of_several_indices_no_command_sets_all_back() -> None:
    folded = changed("libraries", "packages/torch/version", "2.8.0+cu128", "9.0")
    first = replace(folded.first, item="torch")
    for other, is_told in (("2.8.0+cu128", True), ("2.8.0+cu126", False)):
        both = replace(folded, changes=(first, replace(first, before=other)), first=first)
        assert bool(restore(both)) is is_told


@pytest.mark.parametrize(
    ("area", "names", "told"),
    [
        ("process", "cwd", "readlink /proc/PID/cwd"),
        ("process", "interpreter/path", "readlink /proc/PID/exe"),
        ("process", "oom_score_adj", "cat /proc/PID/oom_score_adj"),
        ("cpu", "mitigations/meltdown", "grep -r . /sys/devices/system/cpu/vulnerabilities"),
    ],
)
def test_a_link_and_a_folder_are_not_looked_at_by_cat(area: str, names: str, told: str) -> None:
    assert check(changed(area, names)) == told


def test_no_fact_is_said_to_be_read_by_cat_where_that_shows_nothing() -> None:
    """Of every fact there is: a new one that comes from a folder, a link or a stream needs a command of its own."""
    folded = changed("process", "cwd")
    for fact in facts():
        first = replace(folded.first, fact=replace(folded.first.fact, source=fact.source))
        told = check(replace(folded, first=first))
        assert not told.startswith("cat ") or not told.endswith((*FOLDERS, "/exe", "/cwd", "/dev/kmsg")), fact.path


def test_a_command_with_a_word_to_fill_in_is_none_to_run_as_it_stands() -> None:
    """Of every fact there is: what is written in capitals stands for something that only the reader knows."""
    for fact in facts():
        template = fact.restore.partition(" # ")[0]
        if re.search(r"\b[A-Z]{2,}\b", template.replace("tr a-z A-Z", "")):
            assert command(suspect(1, fact.path, 1, 2, restore=template)) == "", fact.path


def test_a_limit_of_a_control_group_is_set_back_under_the_name_that_each_version_has_for_it() -> None:
    """Of every such fact: what is the value of two files is no command for one of them alone."""
    told = {fact.path: fact.restore for fact in facts() if "/sys/fs/cgroup/" in fact.restore}
    assert [path for path, restore in told.items() if "# v1: " not in restore] == ["process/*/cgroup/memory_high"]
    folded = changed("process", "cgroup/cpu_max", "50000 100000", "max")
    assert restore(folded) == (
        "echo '50000 100000' > /sys/fs/cgroup/CGROUP/cpu.max # v1: cpu/CGROUP/cpu.cfs_quota_us, cpu.cfs_period_us"
    )


def test_only_lines_of_the_kernels_log_are_picked_by_what_a_source_says_of_them() -> None:
    told = {command for fact in facts() if (command := looked_at(fact.source)) and " | grep -F " in command}
    assert {command.partition(" | ")[0] for command in told} == {"dmesg"}
