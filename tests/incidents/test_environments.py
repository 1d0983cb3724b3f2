"""The environments that incidents are played back in, and what changes in them beside what a row is about."""

from collections import Counter
from random import Random
from typing import Literal

import pytest
from msgspec.structs import replace

from benchmarks.incidents.environments import REBUILT, UPGRADE, bumps, environments, packages_of, packages_told, pairs
from benchmarks.incidents.machines import WITHOUT_RDMA
from benchmarks.incidents.pairs import Changed, runs_of
from benchmarks.incidents.rows import CATEGORIES, Incident, incidents
from benchmarks.incidents.scores import Answer, ranks
from benchmarks.incidents.surroundings import (
    LIBRARIES,
    MAPPED,
    MODEL,
    PROCESS,
    follow,
    load,
    mappable,
    not_imported,
    scene,
    scene_of,
)
from fingerprint.diff.compare import compare
from fingerprint.explain.machine import machine
from fingerprint.explain.mechanisms import rules_of
from fingerprint.explain.mechanisms.packages import RULES
from probes.kit.paths import FactPath
from probes.mapped.objects import name_of

VLLM = ("/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "/models/m")
LLAMA = ("/usr/local/bin/llama-server", "-m", "/models/m.gguf")
OF_VERSIONS = [row for row in incidents() if packages_told(row)]


def knows_best(package: str) -> str:
    return rules_of(FactPath(("libraries", "main", "packages", package, "version")))[0].name


def test_an_engine_has_a_hundred_packages_and_every_program_of_python_some() -> None:
    assert {of: len(each.packages) > 100 for of, each in environments().items()} == {
        "vllm": True, "sglang": True, "torch": False,
    }  # fmt: skip
    assert packages_of(("/usr/bin/python3", "train.py"), nvidia=True)["torch"]
    assert packages_of(("/usr/local/bin/llama-server",), nvidia=True) == {}


def test_a_machine_without_gpus_of_nvidia_has_none_of_their_libraries() -> None:
    with_them, without = (packages_of(VLLM, nvidia=nvidia) for nvidia in (True, False))
    assert {name.split("-")[0] for name in with_them.keys() - without.keys()} == {"nvidia"}


@pytest.mark.parametrize("row", OF_VERSIONS, ids=lambda row: row.id)
def test_an_upgrade_brings_other_packages_along_and_none_that_its_row_tells_of(row: Incident) -> None:
    found = bumps(row, nvidia=True, random=Random(row.id))
    assert len(found) <= UPGRADE[1]
    assert not {bump.package for bump in found} & packages_told(row)
    assert all(before != after for _, (before, after), _ in found)


def test_upgrades_bring_five_packages_or_more_and_environments_that_were_made_anew_a_few() -> None:
    upgraded = [len(bumps(row, nvidia=True, random=Random(row.id))) for row in OF_VERSIONS]
    others = [len(bumps(row, nvidia=True, random=Random(row.id))) for row in incidents() if row not in OF_VERSIONS]
    assert sum(count >= UPGRADE[0] for count in upgraded) > 0.8 * len(upgraded)
    assert 0 < max(others) <= REBUILT[1]


def test_pairs_come_from_somewhere_and_what_was_rebuilt_has_the_same_engine_and_torch() -> None:
    assert all(pair.told.startswith("two ") and pair.packages for pair in pairs())
    rebuilt = [pair for pair in pairs() if pair.rebuilt]
    assert {pair.of for pair in rebuilt} == environments().keys()
    assert not any({pair.of, "torch"} & pair.packages.keys() for pair in rebuilt)


def test_how_often_packages_drift_is_what_was_counted() -> None:
    rebuilt = [pair for pair in pairs() if pair.rebuilt]
    counted = Counter(rule for pair in rebuilt for rule in {knows_best(package) for package in pair.packages})
    assert len(rebuilt) == 16
    assert {rule.name: rule.drifted for rule in RULES if rule.drifted} == counted


def test_what_is_mapped_is_of_the_packages_that_are_there() -> None:
    libraries = scene("h100x8", VLLM)[MAPPED]["libraries"]["items"]
    assert libraries["libtorch_cuda"]["path"].startswith("/opt/venv/lib/python3.12/site-packages/torch/lib/")
    assert "libggml-cuda" not in libraries
    assert "libnccl" not in scene("cpu", VLLM)[MAPPED]["libraries"]["items"]
    assert all(bool(each.package) != bool(each.programs) for each in mappable())


@pytest.mark.parametrize("argv", [VLLM, ("/usr/bin/python3", "train.py"), LLAMA, ("/usr/bin/wrk", "http://h")])
def test_what_the_probe_leaves_out_is_told_of_nobody(argv: tuple[str, ...]) -> None:
    mapped = scene("cpu", argv)[MAPPED]["libraries"]["items"]
    assert mapped.keys() & {"libc", "libm", "ld-linux-x86-64"} == set()


@pytest.mark.parametrize("argv", [VLLM, LLAMA])
def test_what_is_preloaded_is_in_memory_beside_what_is_mapped(argv: tuple[str, ...]) -> None:
    sections = scene_of("h100x8", argv)
    before = sections[MAPPED]["libraries"]["items"].copy()
    there = name_of(next(iter(before.values()))["path"])
    named = f"/usr/lib/libjemalloc.so.2 /usr/lib/{there}.so.6 /opt/hami/libvgpu.so"
    sections[PROCESS]["env"]["items"]["LD_PRELOAD"] = named
    follow(sections)
    after = sections[MAPPED]["libraries"]["items"]
    assert after.keys() - before.keys() == {"libjemalloc", "libvgpu"}
    assert after["libvgpu"]["path"] == "/opt/hami/libvgpu.so"
    assert after[there]["path"] == before[there]["path"], "what was mapped already stays the file that it was"


@pytest.mark.parametrize("value", [None, {"$": "redacted"}, ""])
def test_what_is_preloaded_by_a_name_that_nobody_tells_is_not_known(value: object) -> None:
    sections = scene_of("h100x8", VLLM)
    before = set(sections[MAPPED]["libraries"]["items"])
    if value is not None:
        sections[PROCESS]["env"]["items"]["LD_PRELOAD"] = value
    follow(sections)
    assert set(sections[MAPPED]["libraries"]["items"]) == before


@pytest.mark.parametrize(
    ("computes", "there", "absent"),
    [
        ("torch", {"libtorch_cuda", "libtriton", "libscipy_openblas64_"}, set()),
        ("jax", {"libscipy_openblas64_"}, {"libtorch_cuda", "libtriton"}),
        ("nothing", set(), {"libtorch_cuda", "libtriton", "libscipy_openblas64_", "libcublas"}),
    ],
)
def test_what_a_script_computes_with_is_in_memory_and_nothing_else_of_its_environment(
    computes: Literal["torch", "jax", "nothing"], there: set[str], absent: set[str]
) -> None:
    sections = scene_of("h100x8", ("/usr/bin/python3", "train.py"))
    load(sections, (), not_imported(computes))
    mapped = {*sections[MAPPED]["libraries"]["items"]}
    assert (there - mapped, absent & mapped) == (set(), set())


@pytest.mark.parametrize(("name", "adapters"), [*((name, 0) for name in WITHOUT_RDMA), ("h100x8", 4)])
def test_a_workstation_tells_that_it_has_no_adapter_of_rdma_and_a_server_how_many(name: str, adapters: int) -> None:
    row = next(row for row in incidents() if row.machine == name)
    assert machine(*runs_of(row, [], Random(1))).adapters == adapters


def test_of_another_version_the_wheel_and_all_that_is_mapped_from_it_are_others() -> None:
    before, after = scene_of("h100x8", VLLM), scene_of("h100x8", VLLM)
    after[LIBRARIES]["packages"]["items"]["torch"]["version"] = "2.9.0"
    for sections in (before, after):
        follow(sections)
    of_torch = {name_of(each.path) for each in mappable() if each.package == "torch"}
    x, y = (sections[MAPPED]["libraries"]["items"] for sections in (before, after))
    assert {name for name in x if x[name]["build_id"] != y[name]["build_id"]} == of_torch
    x, y = (sections[LIBRARIES]["packages"]["items"] for sections in (before, after))
    assert {name for name in x if x[name]["record"] != y[name]["record"]} == {"torch"}


def test_a_package_that_changed_is_one_suspect_whatever_it_brought() -> None:
    row = next(row for row in incidents() if row.id == "pytorch-166122-conv3d-amp-29")
    a, b = runs_of(row, [Changed(row.id, row.trigger)], Random(1))
    told = compare(a.state, b.state).changes
    assert [folded.text for folded in told if folded.follows is None] == ["libraries/main/packages/torch/version"]
    assert any(folded.text.startswith("mapped/main/libraries/libtorch_cuda") for folded in told)


def test_a_program_has_the_model_that_it_was_told_to_serve() -> None:
    assert scene("h100x8", VLLM)[MODEL]["models"]["items"]["target"]["path"] == "/models/m"
    assert MODEL not in scene("h100x8", ("/usr/local/bin/all_reduce_perf", "-b", "8"))


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("libraries/main/packages/torch/version", "versions"),
        ("libraries/main/packages/vllm/modified/digest", "local patches"),
        ("libraries/main/packages/vllm/record", "local patches"),
        ("mapped/main/libraries/libnccl/version", "versions"),
        ("process/main/env/NCCL_ALGO", "variables"),
        ("process/main/flags/--tp", "arguments"),
        ("container/main/shm_size", "containers"),
        ("process/main/cgroup/cpu_max", "containers"),
        ("gpu/*/power_limit", "GPUs"),
        ("kernel/cmdline/iommu", "host"),
    ],
)
def test_a_row_is_of_the_kind_that_its_trigger_is_of(path: str, category: str) -> None:
    row = incidents()[0]
    assert replace(row, trigger={path: (1, 2)}).category == category


def test_ranks_are_told_by_category() -> None:
    def answer(category: str, rank: int, *, strong: bool) -> Answer:
        return Answer(
            row="x", category=category, kind="trigger", seed=0, strong=strong, rank=rank, first="", abstains=True,
            likely=0, decisive=None, words={}, drift=1.0,
        )  # fmt: skip

    told = [answer("versions", 1, strong=True), answer("versions", 4, strong=False), answer("host", 0, strong=True)]
    of_all, strong = ranks(told, strong=False), ranks(told, strong=True)
    assert list(of_all) == list(CATEGORIES)
    assert (of_all["versions"].top1.share, of_all["versions"].top3.share) == (0.5, 0.5)
    assert (strong["versions"].top1.share, strong["host"].top3.share) == (1.0, 0.0)
