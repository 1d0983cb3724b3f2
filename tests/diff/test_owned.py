"""Libraries that a package brought follow what changed of the package; others stand for themselves."""

from typing import Any

import pytest

from fingerprint.diff.compare import compare
from probes.kit.facts import Map, Section
from probes.libraries.sections import Libraries, Package
from probes.mapped.sections import File, Library, Mapped
from tests.diff.made_up import state_of

VERSION = "libraries/main/packages/nvidia-nccl-cu12/version"


def server(release: str, target: str = "main", owner: str = "pip nvidia-nccl-cu12", **file: Any) -> dict[str, Section]:
    libraries = Map({"libnccl": Library(owner=owner, version=release, build_id=f"build {release}", copies=1, **file)})
    packages = Map({"nvidia-nccl-cu12": Package(version=release)})
    return {"libraries/main": Libraries(packages=packages), f"mapped/{target}": Mapped(libraries=libraries)}


def follows(a: dict[str, Section], b: dict[str, Section]) -> dict[str, str | None]:
    return {change.text: change.follows for change in compare(state_of(a), state_of(b)).changes}


@pytest.mark.parametrize("target", ["main", "sglang-30000.tp3"])
def test_an_upgrade_is_one_change_with_the_libraries_that_came_along(target: str) -> None:
    assert follows(server("2.27.3", target), server("2.28.9", target)) == {
        VERSION: None,
        f"mapped/{target}/libraries/libnccl/version": VERSION,
        f"mapped/{target}/libraries/libnccl/build_id": VERSION,
    }


def test_a_library_that_only_the_new_release_brings_comes_with_it() -> None:
    a, b = server("2.27.3"), server("2.28.9")
    a["mapped/main"] = Mapped(libraries=Map({}))
    assert follows(a, b)["mapped/main/libraries/libnccl"] == VERSION


def test_a_further_copy_follows_the_package_that_brought_it() -> None:
    def copied(release: str) -> dict[str, Section]:
        other = Map({"2": File(owner="pip nvidia-nccl-cu12", version=release)})
        library = Library(owner="dpkg libnccl2", version="2.20.5", copies=2, others=other)
        return {**server(release), "mapped/main": Mapped(libraries=Map({"libnccl": library}))}

    assert follows(copied("2.27.3"), copied("2.28.9"))["mapped/main/libraries/libnccl/others/2/version"] == VERSION


@pytest.mark.parametrize("owner", ["pip torch", "dpkg libnccl2", ""])
def test_a_library_of_another_package_is_a_change_of_its_own(owner: str) -> None:
    found = follows(server("2.27.3", owner=owner), server("2.28.9", owner=owner))
    assert found["mapped/main/libraries/libnccl/version"] is None


def test_a_name_is_compared_as_the_index_normalises_it() -> None:
    owner = "pip NVIDIA_nccl.cu12"
    assert (
        follows(server("1", owner=owner), server("2", owner=owner))["mapped/main/libraries/libnccl/version"] == VERSION
    )
