"""Which way a change pushes a number, of what is at its worst with some values."""

from typing import Any

import pytest

from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Suspect
from fingerprint.explain.reach import _helps
from fingerprint.explain.weights import RARELY
from probes.kernel import Kernel
from probes.kernel.sysctls import FsParameters, Sysctl
from probes.kit.facts import Gap, Map
from probes.process import Process
from tests.explain.subjects import subject
from tests.explain.test_weights import FASTER, SLOWER, ended, only, rule

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


@pytest.mark.parametrize(
    ("before", "after", "against"),
    [
        ("INFO", "WARNING", True),
        ("WARNING", "INFO", False),
        ("debug", "info", True),
        ("WARN", "WARNING", False),
        ("critical", "fatal", False),
        ("INFO", "other", False),
    ],
)
def test_levels_of_logs_have_an_order_and_words_for_one_level_have_none(before: str, after: str, against: bool) -> None:
    """Quieter logs make nothing slower."""
    a, b = (Process(env=Map({"VLLM_LOGGING_LEVEL": level})) for level in (before, after))
    found = only(a, b, *SLOWER)
    assert any("should have made decode_ms better" in one.says for one in found.against) is against


@pytest.mark.parametrize(("before", "after", "against"), [(8192, 1048576, True), (1048576, 8192, False)])
def test_a_limit_that_was_raised_ended_no_run(before: int, after: int, against: bool) -> None:
    def limited(name: str, watches: int, status: int) -> Subject:
        kernel = Kernel(sysctl=Sysctl(fs=FsParameters(inotify_max_user_watches=watches)))
        return subject(name, kernel, None, ended(status), area="kernel")

    (found,) = explain(limited("A", before, 0), limited("B", after, 1)).suspects
    assert bool(found.against) is against
