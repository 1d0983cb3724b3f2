"""Memory of a GPU that others held beside a run: as the samples tell, or what held it before and after."""

from typing import Any

import pytest

from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Diff
from fingerprint.runs.record import Attached, Distribution
from probes.driver import Driver
from probes.driver.module import Module
from probes.gpu import Gpu, Gpus
from probes.gpu.memory import Memory
from probes.gpu.processes import Process
from probes.kit.facts import Gap, Map
from tests.explain.subjects import on_host, subject
from tests.explain.test_weights import SLOWER

SLOT, GB = "0000:17:00.0", 10**9
PATH = f"gpu/{SLOT}/unowned_memory"
SAYS = f"others held 40 GB of GPU {SLOT}, 50 % of its memory, beside B; A: 0 %"


def gpus(unowned: Any = 0, **processes: int) -> Gpus:
    """processes: bytes, by `p` and the pid."""
    told = Map({pid[1:]: Process(used_memory=size) for pid, size in processes.items()})
    return Gpus(gpus=Map({SLOT: Gpu(memory=Memory(total=80 * GB), unowned_memory=unowned, processes=told)}))


def side(name: str, before: Gpus, after: Gpus | None = None, sampled: int | None = None, **more: Any) -> Subject:
    held = {} if sampled is None else {PATH: Distribution(20, float(sampled), (float(sampled),) * 7)}
    return subject(name, before, None, *SLOWER[name == "B"], samples=held, after=after or before, area="gpu", **more)


def told(b: Subject, a: Subject | None = None) -> Diff:
    return explain(a or side("A", gpus()), b)


def test_what_was_sampled_stands_with_what_held_a_run_up_and_in_the_headline() -> None:
    diff = told(side("B", gpus(), sampled=40 * GB), side("A", gpus(), sampled=0))
    (line,) = diff.held_up
    assert (line.fact, line.a, line.b, line.says) == (PATH, 0.0, 0.5, SAYS)
    assert diff.headline.endswith(f"; {SAYS}.")
    assert "repeat B without them" in diff.next[0]
    assert PATH not in {item.fact for item in diff.during}
    assert diff.blind == ()


def test_a_suspect_that_nobody_saw_at_work_does_not_hide_it() -> None:
    def on(side: Subject, version: str) -> Subject:
        return on_host(side, driver=Driver(module=Module(version=version)))

    a, b = side("A", gpus(), sampled=0), side("B", gpus(), sampled=40 * GB)
    diff = told(on(b, "580.82.07"), on(a, "580.65.06"))
    assert "first suspect: driver/module/version" in diff.headline
    assert diff.headline.endswith(f"; {SAYS}.")
    assert "repeat B without them" in diff.next[0]


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        (gpus(40 * GB), gpus(40 * GB), 0.5),  # what a worker that crashed left
        (gpus(p7=40 * GB), gpus(p7=48 * GB), 0.5),  # another tenant
        (gpus(p7=40 * GB), gpus(p8=40 * GB), None),  # who came and who went may never have met the run
        (gpus(40 * GB), gpus(), None),
        (gpus(2 * GB), gpus(2 * GB), None),
        (gpus(Gap("not_observable")), gpus(Gap("not_observable")), None),
    ],
)
def test_of_what_was_not_sampled_that_counts_which_was_held_before_and_after(
    before: Gpus, after: Gpus, share: float | None
) -> None:
    assert [line.b for line in told(side("B", before, after)).held_up] == [share] * (share is not None)


def test_the_server_that_a_run_is_attached_to_is_no_other() -> None:
    attached = (Attached(target="vllm-8000", pid=7, started=1, port=8000),)
    held = gpus(p7=40 * GB)
    assert [line.b for line in told(side("B", held)).held_up] == [0.5]
    assert told(side("B", held, attached=attached)).held_up == ()


def test_what_was_held_beside_both_is_told_below_and_not_in_the_headline() -> None:
    held = gpus(40 * GB)
    diff = told(side("B", held), side("A", held))
    assert [(line.a, line.b) for line in diff.held_up] == [(0.5, 0.5)]
    assert "others held" not in diff.headline
