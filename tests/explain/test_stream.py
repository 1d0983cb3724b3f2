"""Packages that went another way than most of their environment."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.diff.changes import Changes
from fingerprint.diff.compare import compare
from fingerprint.explain.rank import rank
from fingerprint.explain.stream import against_the_stream, release
from fingerprint.explain.subject import Subject
from fingerprint.explain.weights import AGAINST_THE_STREAM
from fingerprint.runs.record import Process
from fingerprint.snapshot import reading_of
from probes.kit.facts import Map
from probes.libraries.sections import Libraries, Package
from tests.explain.subjects import START, subject
from tests.report.cases import metric

CUDNN = "libraries/main/packages/nvidia-cudnn-cu12/version"
UPGRADE = {
    "torch": ("2.8.0", "2.9.1"),
    "triton": ("3.4.0", "3.5.1"),
    "numpy": ("2.2.6", "2.3.1"),
    "nvidia-cudnn-cu12": ("9.15.1.9", "9.10.2.21"),
}


def side(name: str, versions: Mapping[str, str]) -> Subject:
    found = Libraries(packages=Map({of: Package(version=version) for of, version in versions.items()}))
    return subject(name, None, None, Process(at=START, area="libraries", target="main", reading=reading_of(found)))


def changes(packages: Mapping[str, tuple[str, str]]) -> Changes:
    a, b = (side(name, {of: pair[i] for of, pair in packages.items()}) for i, name in enumerate("AB"))
    return compare(a.state, b.state)


def told(packages: Mapping[str, tuple[str, str]]) -> Mapping[str, str]:
    return against_the_stream(changes(packages).changes)


def test_a_package_that_went_back_while_the_others_went_forward_is_told() -> None:
    assert told(UPGRADE) == {
        CUDNN: "3 of 4 packages went to later releases, and this one to an earlier: something put it there, or holds "
        "it no more."
    }


def test_so_is_one_that_went_forward_while_the_others_went_back() -> None:
    says = told({name: (after, before) for name, (before, after) in UPGRADE.items()})
    assert list(says) == [CUDNN]
    assert "went to earlier releases, and this one to a later" in says[CUDNN]


@pytest.mark.parametrize("left", [2, 3])
def test_of_few_packages_nobody_says_which_way_the_others_went(left: int) -> None:
    assert told(dict(list(UPGRADE.items())[-left:])) == {}


def test_where_they_went_both_ways_none_went_against_the_others() -> None:
    assert told({**UPGRADE, "vllm": ("0.11.0", "0.10.2"), "xgrammar": ("0.1.25", "0.1.23")}) == {}


def test_another_build_of_one_release_went_no_way() -> None:
    assert told({**UPGRADE, "nvidia-cudnn-cu12": ("9.10.2.21+a", "9.10.2.21+b")}) == {}


def test_it_weighs_and_the_suspect_says_why() -> None:
    found = rank(changes(UPGRADE), (), (), [metric("decode_ms", "worse", 10, 20, unit="ms")])
    first = found[0]
    assert first.change.text == CUDNN
    assert first.parts["against the stream"] == AGAINST_THE_STREAM
    assert first.says.startswith("3 of 4 packages")
    assert all("against the stream" not in other.parts for other in found[1:])


@given(st.lists(st.integers(0, 99), min_size=2, max_size=4), st.sampled_from(["", "rc1", ".post1", "+cu128", ".dev0"]))
def test_what_stands_behind_a_release_and_zeros_at_its_end_tell_no_other_release(numbers: list[int], more: str) -> None:
    plain = ".".join(map(str, numbers))
    assert release(plain) == release(f"v{plain}{more}") == release(f"{plain}.0")
    assert release(f"{plain}.1") > release(plain)


@pytest.mark.parametrize("version", ["unknown", None, "9e107d9", "20250101", "1!1.0", "7", "v7", "rc1.2"])
def test_what_is_no_version_has_no_release(version: object) -> None:
    """A hash may begin with numbers, and an epoch stands before the release; what has no dot may be either."""
    assert release(version) == ()
