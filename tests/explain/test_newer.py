"""Versions: whether the worse run has the later one, whether two are of one branch, and what comes with a kernel's."""

from collections.abc import Callable

import pytest

from fingerprint.diff.compare import compare
from fingerprint.explain import explain
from fingerprint.explain.contract import Suspect
from fingerprint.explain.rank import rank
from fingerprint.explain.suspects import PATCHED
from fingerprint.explain.versions import NEWER_IS_BETTER, NEWER_IS_WORSE, PATCH, newer
from fingerprint.explain.weights import AGAINST_THE_STREAM
from fingerprint.runs.record import AnyRecord
from probes.driver import Driver
from probes.driver.answers import Answers
from probes.driver.module import Module as NvidiaModule
from probes.kernel import Kernel
from probes.kernel.modules import Module
from probes.kit.facts import Map, Section
from probes.libraries.sections import Libraries, Origin, Package
from probes.mapped.sections import Library, Mapped
from tests.explain.subjects import reading, subject
from tests.explain.test_stream import CUDNN, UPGRADE, changes
from tests.explain.test_weights import FASTER, SLOWER
from tests.report.cases import metric

Versions = Callable[[str], AnyRecord]


def package(version: str) -> AnyRecord:
    return reading("libraries", Libraries(packages=Map({"torch": Package(version=version)})))


def commit(version: str) -> AnyRecord:
    return reading("libraries", Libraries(origins=Map({"torch": Origin(commit=version)})))


def library(version: str) -> AnyRecord:
    return reading("mapped", Mapped(libraries=Map({"libnccl": Library(version=version)})))


def build(version: str) -> AnyRecord:
    return reading("mapped", Mapped(libraries=Map({"libnccl": Library(build_id=version)})))


def of_process(read: Versions, before: str, after: str, *, slower: bool = True) -> Suspect:
    levels = SLOWER if slower else FASTER
    a, b = (subject(name, None, None, *levels[i], read((before, after)[i])) for i, name in enumerate("AB"))
    (found,) = explain(a, b).suspects
    return found


def of_host(area: str, before: Section, after: Section) -> Suspect:
    sides = zip("AB", (before, after), SLOWER, strict=True)
    a, b = (subject(name, made, None, *levels, area=area) for name, made, levels in sides)
    (found,) = explain(a, b).suspects
    return found


@pytest.mark.parametrize("read", [package, library])
@pytest.mark.parametrize(
    ("before", "after", "slower", "part"),
    [
        ("2.8.0", "2.9.1", True, NEWER_IS_WORSE),
        ("2.9.1", "2.8.0", True, NEWER_IS_BETTER),
        ("2.8.0", "2.9.1", False, NEWER_IS_BETTER),
        ("2.9.1", "2.8.0", False, NEWER_IS_WORSE),
        ("2.9.1", "2.10.0", True, NEWER_IS_WORSE),
        ("2.8.0+cu126", "2.8+cu128", True, None),
        ("2.8.0", "unknown", True, None),
        ("unknown", "2.8.0", True, None),
    ],
)
def test_of_a_package_or_library_the_later_release_is_more_often_the_worse(
    read: Versions, before: str, after: str, slower: bool, part: float | None
) -> None:
    """By number and not by letter; builds of one release and names that are none tell no later one."""
    assert of_process(read, before, after, slower=slower).parts.get("newer") == part


@pytest.mark.parametrize("read", [commit, build])
def test_what_is_no_version_is_no_later_one_although_it_begins_with_a_number(read: Versions) -> None:
    found = of_process(read, "2.8", "2.9")
    assert found.facts[0].endswith(("commit", "build_id"))
    assert "newer" not in found.parts


def test_of_a_later_kernel_or_driver_that_was_never_counted() -> None:
    kernel = of_host("kernel", Kernel(release="5.15.0"), Kernel(release="6.8.0"))
    driver = of_host("driver", *(Driver(module=NvidiaModule(version=v)) for v in ("570.86.15", "580.65.06")))
    assert not {"newer"} & {*kernel.parts, *driver.parts}


@pytest.mark.parametrize("verdict", ["changed", "within noise", "unassessed"])
def test_of_a_number_of_which_nobody_says_whether_it_is_worse_no_release_is_the_worse_one(verdict: str) -> None:
    (folded,) = changes({"torch": ("2.8.0", "2.9.1")}).changes
    assert newer(folded, metric("decode_ms", verdict, 10, 20, unit="ms")) == newer(folded, None) == 0
    assert newer(folded, metric("decode_ms", "worse", 10, 20, unit="ms")) == NEWER_IS_WORSE


def test_what_went_against_the_stream_is_weighed_by_that_alone() -> None:
    """Whichever way: 26 of 31 tells of packages that went as most do."""
    found = rank(changes(UPGRADE), (), (), [metric("decode_ms", "worse", 10, 20, unit="ms")])
    told = {one.change.text: (one.parts.get("against the stream"), one.parts.get("newer")) for one in found}
    assert told.pop(CUDNN) == (AGAINST_THE_STREAM, None)
    assert {*told.values()} == {(None, NEWER_IS_WORSE)}


# Of one branch.


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("6.8.0-45-generic", "6.8.0-60-generic", PATCH),
        ("6.8.1", "6.8.12", PATCH),
        ("7.0.0-1019-nvidia", "7.0.5-1002-nvidia", PATCH),
        ("5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.31.1.el9_4.x86_64", PATCH),
        ("4.18.0-553.el8_10.x86_64", "4.18.0-553.5.1.el8_10.x86_64", PATCH),
        ("5.14.0-427.el9.x86_64", "5.14.0-503.el9.x86_64", None),
        ("6.4.0-150600.23.7-default", "6.4.0-150600.23.14-default", PATCH),
        ("6.4.0-150600.23.7-default", "6.4.0-150700.51.1-default", None),
        ("4.12.14-122.80-default", "4.12.14-95.6-default", None),
        ("6.11.2-1-default", "6.11.3-2-default", PATCH),
        ("6.8.0-45-generic", "6.11.0-26-generic", None),
        ("6.8.1", "5.8.1", None),
        ("6.1.55", "6.12.55", None),
        ("6.8.0-45-generic", "6.8.0-45-lowlatency", None),
        ("6.8.0-45-generic", "6.8.0-60-lowlatency", None),
        ("6.8.0-45", "6.8.0-45-generic", None),
        ("custom", "patched", None),
        ("6.8.0", "custom", None),
    ],
)
def test_kernels_are_of_one_branch_where_their_first_two_numbers_are_the_same(
    before: str, after: str, part: float | None
) -> None:
    """Those of one flavour: another one is set up for other work."""
    found = of_host("kernel", Kernel(release=before), Kernel(release=after))
    assert (found.facts, found.parts.get("patch")) == (("kernel/release",), part)


@pytest.mark.parametrize(
    ("read", "before", "after", "part"),
    [
        (lambda v: Driver(nvml=Answers(cuda_version=v)), "12.2", "12.9", PATCH),
        (lambda v: Driver(nvml=Answers(cuda_version=v)), "12.9", "13.0", None),
        (lambda v: Driver(nvml=Answers(driver_version=v)), "570.86.15", "570.133.20", PATCH),
        (lambda v: Driver(nvml=Answers(driver_version=v)), "57.1", "570.1", None),
        (lambda v: Driver(nvml=Answers(driver_branch=v)), "570.1", "570.2", None),
    ],
)
def test_drivers_and_the_cuda_that_they_take_are_of_one_branch_where_the_first_number_is(
    read: Callable[[str], Driver], before: str, after: str, part: float | None
) -> None:
    """The name of the branch is that of another one where it differs."""
    assert of_host("driver", read(before), read(after)).parts.get("patch") == part


# What comes with another kernel.


def test_with_another_kernel_a_module_that_is_loaded_or_not_is_a_suspect_beside_it_and_its_build_is_none() -> None:
    old, new = Module(version="1", srcversion="1F"), Module(version="2", srcversion="2E")
    before = Kernel(release="5.15.0", modules=Map({"ib_core": old, "nvidia_peermem": old}))
    after = Kernel(release="6.8.0", modules=Map({"ib_core": new}))
    sides = tuple(subject(name, made, area="kernel") for name, made in zip("AB", (before, after), strict=True))
    for a, b in (sides, sides[::-1]):
        follows = {one.text: one.follows for one in compare(a.state, b.state).changes}
        assert follows == {
            "kernel/release": None,
            "kernel/modules/nvidia_peermem": None,
            "kernel/modules/ib_core/version": "kernel/release",
            "kernel/modules/ib_core/srcversion": "kernel/release",
        }
        assert {one.facts for one in explain(a, b).suspects} == {(text,) for text, of in follows.items() if of is None}


def test_of_another_release_of_one_branch_it_is_not_said_what_was_reported_of_other_branches() -> None:
    def why(area: str, before: Section, after: Section) -> str:
        return of_host(area, before, after).mechanism[0]

    def driver(version: str) -> Driver:
        return Driver(module=NvidiaModule(version=version))

    assert why("driver", driver("580.65.06"), driver("580.82.07")) == PATCHED
    assert "the median is" in why("driver", driver("570.133.20"), driver("580.82.07"))
    assert why("kernel", Kernel(release="6.8.0-71-generic"), Kernel(release="6.8.0-79-generic")) == PATCHED
    assert "42 times" in why("kernel", Kernel(release="6.8.0-71-generic"), Kernel(release="6.11.0-26-generic"))
