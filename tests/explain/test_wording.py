"""What an answer says of a suspect is about this one: its mechanism, what was seen of it, and what can be done."""

from typing import Any

import pytest

from fingerprint.diff.known import probe_of
from fingerprint.explain import explain
from fingerprint.explain.answer import next_steps
from fingerprint.explain.contract import Diff
from fingerprint.explain.mechanisms import rule
from fingerprint.runs.record import Growth
from probes.driver import Driver
from probes.driver.daemons import Daemon
from probes.gpu import Gpu, Gpus
from probes.gpu.pcie import Pcie
from probes.kit.facts import Map, Section
from probes.platform import Platform
from probes.platform.daemons import Daemon as HostDaemon
from probes.platform.daemons import Daemons
from tests.explain.subjects import subject
from tests.explain.test_weights import SLOWER
from tests.report.cases import changed, suspect

SLOTS = ("0000:17:00.0", "0000:2a:00.0")
CAPPED = "clocks_event_reasons_counters/sw_power_cap"


def of_driver(name: str, *, runs: bool) -> Driver:
    return Driver(daemons=Map({name: Daemon(running=runs)}))


def of_host(name: str, *, runs: bool) -> Platform:
    return Platform(daemons=Daemons(programs=Map({name: HostDaemon(running=runs)})))


def between(area: str, before: Section, after: Section) -> Diff:
    a, b = (subject(n, made, None, *m, area=area) for n, made, m in zip("AB", (before, after), SLOWER, strict=True))
    return explain(a, b)


@pytest.mark.parametrize(
    ("area", "before", "after"),
    [
        ("driver", of_driver("nvidia-powerd", runs=True), of_driver("nvidia-powerd", runs=False)),
        ("platform", of_host("irqbalance", runs=True), of_host("irqbalance", runs=False)),
    ],
)
def test_of_a_daemon_that_a_rule_names_the_rule_tells_why(area: str, before: Section, after: Section) -> None:
    (suspect,) = between(area, before, after).suspects
    assert suspect.mechanism == (rule(suspect.rules[0]).why,)


def test_of_a_daemon_that_no_rule_names_the_fact_tells_why() -> None:
    (suspect,) = between("platform", of_host("x", runs=True), of_host("x", runs=False)).suspects
    assert suspect.mechanism[0] != rule(suspect.rules[0]).why


def lanes(count: int) -> Gpus:
    return Gpus(gpus=Map({slot: Gpu(pcie=Pcie(link_width_current=count)) for slot in SLOTS}))


def test_what_is_seen_and_set_nowhere_is_not_asked_to_be_as_it_was() -> None:
    diff = between("gpu", lanes(16), lanes(4))
    assert diff.suspects[0].confirm
    assert diff.next == (f"To confirm the first suspect: {diff.suspects[0].confirm}",)


@pytest.mark.parametrize(
    ("told", "step"),
    [
        ({}, "Find out why x/state is not what it was in A: cat /x"),
        ({"confirm": "try"}, "To confirm the first suspect: try"),
        ({"confirm": "try", "reaches": False}, "Find out why x/state is not what it was in A: cat /x"),
        ({"restore": "renice -n 1 -p PID", "confirm": "try"}, "Run again with x/state as it was in A: 1"),
    ],
)
def test_what_is_seen_and_set_nowhere_is_found_out_about_where_no_test_is_told(told: dict[str, Any], step: str) -> None:
    first = suspect(1, "x/state", 1, 2, check="cat /x", **told)
    sides = subject("A"), subject("B")
    steps = next_steps(*sides, (), [first], [changed("x/state", 1, 2, kind="state")], (), probe_of)
    assert next(steps) == step


def test_of_a_daemon_it_is_asked_that_it_runs_as_it_did() -> None:
    diff = between("driver", of_driver("nvidia-powerd", runs=True), of_driver("nvidia-powerd", runs=False))
    assert diff.next[0] == "Run again with driver/daemons/nvidia-powerd/running as it was in A: true"


def capped(*counts: int) -> Diff:
    """counts: us of ten seconds, on each GPU of B."""
    (a, b) = (
        subject(
            name, Gpus(gpus=Map({slot: Gpu(power_limit=limit) for slot in SLOTS})), None, *moved, area="gpu",
            samples={f"gpu/{s}/{CAPPED}": Growth(0, count, count, 10.0) for s, count in zip(SLOTS, each, strict=True)},
        )
        for name, limit, each, moved in zip("AB", (600_000, 450_000), ((0, 0), counts), SLOWER, strict=True)
    )  # fmt: skip
    return explain(a, b)


@pytest.mark.parametrize(
    ("counts", "is_told"), [((0, 0), False), ((9_000_000, 9_000_000), False), ((9_000_000, 1_000_000), True)]
)
def test_of_devices_that_are_all_alike_none_is_said_to_be_that_of_most(counts: tuple[int, int], is_told: bool) -> None:
    suspect = capped(*counts).suspects[0]
    told = [line.says for line in (*suspect.evidence, *suspect.against) if CAPPED in line.fact]
    assert [f"most on {SLOTS[0]}" in line for line in told] == [is_told]
