"""What an exit status tells of its cause."""

import pytest

from fingerprint.explain import explain
from fingerprint.explain.endings import is_told_by, was_killed
from fingerprint.explain.mechanisms import rules_of
from fingerprint.explain.weights import CANNOT_RUN, TOLD_BY_STATUS
from fingerprint.runs.record import Growth
from probes.kit.facts import Map
from probes.kit.paths import parse_path
from probes.process import Process
from probes.process.sections import Cgroup
from tests.explain.subjects import CALM, subject
from tests.explain.test_weights import ended, only
from tests.report.cases import metric

PRELOAD, PATH, EARLYOOM = (
    "process/main/env/LD_PRELOAD", "process/main/activation/PATH", "platform/daemons/programs/earlyoom/running",
)  # fmt: skip
MEMORY = "process/main/cgroup/memory_max"
BATCH = "process/main/flags/--max-num-seqs"


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (1, set()),
        (2, set()),
        (126, {PATH}),
        (127, {PATH}),
        (134, {PRELOAD}),
        (137, {MEMORY, EARLYOOM}),
        (139, {PRELOAD}),
        (143, {EARLYOOM}),
    ],
)
def test_what_a_shell_or_the_kernel_leaves_tells_of_what_it_is_left_by(status: int, told: set[str]) -> None:
    number = metric("exit_status", "worse", 0, status)
    paths = {text: parse_path(text) for text in (PRELOAD, PATH, EARLYOOM, MEMORY, BATCH)}
    assert {text for text, path in paths.items() if is_told_by(path, rules_of(path), number)} == told
    assert was_killed(number) is (status == 137)


def test_another_number_is_no_exit_status() -> None:
    number = metric("decode_ms", "worse", 11, 137)
    assert not was_killed(number)
    assert not was_killed(None)
    assert not is_told_by(parse_path(MEMORY), rules_of(parse_path(MEMORY)), number)


@pytest.mark.parametrize(("status", "is_against"), [(137, False), (1, True)])
def test_of_a_run_that_was_killed_nobody_saw_the_end(status: int, is_against: bool) -> None:
    """A counter that stood still tells nothing of the moment in which it was killed."""
    still = {**CALM, "usage/main/cgroup/memory_events/max": Growth(first=0, last=0, grown=0, seconds=10.0)}
    a, b = (
        subject(name, None, Process(cgroup=Cgroup(memory_max=size)), ended(left), samples=still)
        for name, size, left in (("A", 2**34, 0), ("B", 2**30, status))
    )
    (found,) = explain(a, b).suspects
    assert bool(found.against) is is_against


@pytest.mark.parametrize(("status", "part"), [(127, CANNOT_RUN), (126, CANNOT_RUN), (134, TOLD_BY_STATUS), (1, None)])
def test_what_hardly_anything_else_leaves_tells_most(status: int, part: float | None) -> None:
    preload, path = (Process(env=Map({"LD_PRELOAD": value})) for value in ("/a.so", "/b.so")), "/opt/venv/bin"
    searched = (Process(activation=Map({"PATH": value})) for value in (path, "/usr/bin"))
    a, b = preload if status == 134 else searched
    assert only(a, b, [ended(0)], [ended(status)]).parts.get("told by status") == part


@pytest.mark.parametrize(
    ("status", "told"), [(1, "1"), (127, "127 (it was not found)"), (137, "137 (SIGKILL)"), (139, "139 (SIGSEGV)")]
)
def test_a_status_is_told_in_words(status: int, told: str) -> None:
    diff = explain(subject("A", None, None, ended(0)), subject("B", None, None, ended(status)))
    assert diff.headline.startswith("exit_status is worse: the command ended with 0, then with ")
    assert f"then with {told}" in diff.headline
