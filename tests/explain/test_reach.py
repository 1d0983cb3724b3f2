"""Which way a change pushes a number, of what is at its worst with some values."""

from typing import Any

import pytest

from fingerprint.explain import explain
from fingerprint.explain.contract import Suspect
from fingerprint.explain.reach import _helps
from fingerprint.explain.weights import RARELY
from probes.kit.facts import Gap, Map
from probes.process import Process
from tests.explain.subjects import subject
from tests.explain.test_weights import FASTER, SLOWER, rule

ABSENT = Gap("absent", "not given")


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        ("fast", "slow", False),
        ("slow", "fast", True),
        (("slow",), ("fast",), True),
        ("FAST", "SLOW", False),
        (("Slowest",), ("fast",), True),
        ("slow", "SLOW", None),
        (ABSENT, "slowest", False),
        ("slowest", ABSENT, True),
        ("fast", "other", None),
        ("slow", "slowest", None),
        ("fast", ABSENT, None),
    ],
)
def test_to_a_worst_value_it_hurts_and_from_one_it_helps(before: Any, after: Any, helps: bool | None) -> None:
    """However they are written. Of two others, or two of the worst, nobody says which is better."""
    assert _helps(rule(worst=("slow", "slowest")), before, after) is helps
    assert _helps(rule(), before, after) is None


def attention(before: str, after: str, *, slower: bool) -> Suspect:
    levels, values = SLOWER if slower else FASTER, (before, after)
    tasks = [Process(flags=Map({"--attention-backend": (value,)})) for value in values]
    a, b = (subject(name, None, task, *its) for name, task, its in zip("AB", tasks, levels, strict=True))
    (found,) = explain(a, b).suspects
    return found


@pytest.mark.parametrize(
    ("before", "after", "slower", "part"),
    [
        ("flashinfer", "torch_native", False, RARELY),
        ("flashinfer", "torch_native", True, None),
        ("FLASHINFER", "TORCH_NATIVE", False, RARELY),
        ("torch_native", "flashinfer", True, RARELY),
        ("torch_native", "flashinfer", False, None),
        ("flashinfer", "triton", True, None),
        ("flashinfer", "triton", False, None),
    ],
)
def test_kernels_of_attention_that_are_the_slowest_rarely_make_it_faster(
    before: str, after: str, slower: bool, part: float | None
) -> None:
    """They are pushed down, and nothing proves that it was not them."""
    found = attention(before, after, slower=slower)
    assert (found.parts.get("rarely"), found.against, found.likelihood) == (part, (), "possible")
    if part:
        assert found.score < attention(before, after, slower=not slower).score
