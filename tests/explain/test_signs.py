"""What shows that a suspect was at work."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fingerprint.diff.compare import compare
from fingerprint.diff.known import probe_of
from fingerprint.explain.contract import MetricChange
from fingerprint.explain.counters import grew
from fingerprint.explain.observed import observed
from fingerprint.explain.rank import Ranked, rank
from fingerprint.explain.weights import QUIET, SHOWN
from fingerprint.runs.record import Distribution, Growth
from probes.gpu import Gpu, Gpus
from probes.gpu.pcie import Pcie
from probes.kit.facts import Map
from probes.kit.flags import flags
from probes.process import Process
from tests.explain.subjects import subject
from tests.report.cases import metric

SLOW = metric("decode_ms", "worse", 11.0, 44.0, unit="ms")
THREADS, ALGORITHM, ARGUMENTS = (
    "process/main/env/OMP_NUM_THREADS",
    "process/main/env/NCCL_ALGO",
    "process/main/flags/--threads",
)
THROTTLED = "usage/main/cgroup/nr_throttled"
FREE, HELD = {THROTTLED: Growth(0, 0, 0, 10.0)}, {THROTTLED: Growth(0, 90, 90, 10.0)}


def program(arguments: Sequence[str] = (), **variables: str) -> Process:
    return Process(flags=flags(arguments).flags, env=Map(dict(variables)))


def ranked(x: Process, y: Process, seen_x: Mapping[str, Any], seen_y: Mapping[str, Any]) -> dict[str, Ranked]:
    a, b = subject("A", None, x, samples=seen_x), subject("B", None, y, samples=seen_y)
    seen = observed(a.state.samples, b.state.samples, probe_of)
    found = rank(compare(a.state, b.state), tuple(grew(seen, probe_of)), seen, [SLOW])
    return {one.change.text: one for one in found}


@pytest.mark.parametrize(
    ("before", "after", "suspect"),
    [
        (program(OMP_NUM_THREADS="4"), program(), THREADS),
        (program(["--threads", "7"]), program(["--threads", "48"]), ARGUMENTS),
    ],
)
def test_a_throttled_group_is_evidence_under_the_threads_that_were_asked_for_and_not_their_rival(
    before: Process, after: Process, suspect: str
) -> None:
    found = ranked(before, after, FREE, HELD)
    assert list(found) == [suspect]
    assert [evidence.fact for evidence in found[suspect].evidence] == [THROTTLED]
    assert (found[suspect].likelihood, found[suspect].parts["shows"]) == ("likely", SHOWN)


def test_that_nothing_was_throttled_does_not_speak_against_them() -> None:
    found = ranked(program(OMP_NUM_THREADS="4"), program(), FREE, FREE)[THREADS]
    assert (found.likelihood, found.evidence, found.against) == ("possible", (), ())


DELAY = "usage/main/run_delay"
CALM, PRESSED, BOTH_PRESSED = ({DELAY: Growth(0, ns, ns, 10.0)} for ns in (0, 10**10, 5 * 10**9))


@pytest.mark.parametrize(
    ("seen_x", "seen_y", "part"),
    [(CALM, CALM, QUIET), (CALM, PRESSED, None), (BOTH_PRESSED, BOTH_PRESSED, None), ({}, {}, None)],
)
def test_what_shows_wherever_it_does_harm_is_a_little_less_likely_where_that_did_not_move(
    seen_x: Mapping[str, Any], seen_y: Mapping[str, Any], part: float | None
) -> None:
    """It is no proof: nothing is said against it. Where nobody looked, or it was there in both, it may be at work."""
    found = ranked(Process(affinity="0-15"), Process(affinity="0-3"), seen_x, seen_y)["process/main/affinity"]
    assert (found.parts.get("quiet"), found.against) == (part, ())
    assert found.likelihood == ("likely" if seen_y is PRESSED else "possible")


def test_of_what_harms_in_other_ways_too_its_silence_tells_nothing() -> None:
    assert "quiet" not in ranked(program(OMP_NUM_THREADS="4"), program(), FREE, FREE)[THREADS].parts


def test_the_gpus_that_worked_show_which_ones_were_visible() -> None:
    first, second = ("gpu/17/busy", "gpu/2a/busy")
    on, off = Distribution(100, 1.0, (1.0,) * 7), Distribution(100, 0.0, (0.0,) * 7)
    x, y = program(CUDA_VISIBLE_DEVICES="0"), program(CUDA_VISIBLE_DEVICES="1")
    found = ranked(x, y, {first: on, second: off}, {first: off, second: on})["process/main/env/CUDA_VISIBLE_DEVICES"]
    assert (found.likelihood, found.evidence[0].fact) == ("likely", "gpu/*/busy")
    same = ranked(x, y, {first: on, second: off}, {first: on, second: off})
    assert {one.likelihood for one in same.values()} == {"possible"}


def test_a_setting_that_makes_slower_can_be_why_a_command_works() -> None:
    """By a rule that says that it can end a run."""
    works = metric("exit_status", "better", 1.0, 0.0)
    a, b = (
        subject(name, Gpus(gpus=Map({"17": Gpu(pcie=Pcie(link_gen_max=speed))})), area="gpu")
        for name, speed in (("A", 3), ("B", 2))
    )
    metrics: list[MetricChange] = [works]
    (found,) = rank(compare(a.state, b.state), (), (), metrics)
    assert (found.likelihood, found.against) == ("possible", ())
