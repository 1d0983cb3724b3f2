"""What crossed the links decides whether a link can have been waited for, and shows that one fell silent."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.diff.compare import compare
from fingerprint.diff.known import probe_of
from fingerprint.explain.contract import MetricChange
from fingerprint.explain.observed import observed
from fingerprint.explain.rank import Ranked, rank
from fingerprint.explain.weights import BINDING, UNBOUND
from fingerprint.runs.record import Distribution, Growth
from probes.gpu import Gpu, Gpus
from probes.gpu.mig import Mig
from probes.gpu.nvlink import NvLinks
from probes.gpu.pcie import Pcie
from probes.gpu.peers import Peer
from probes.kit.facts import Gap, Map, Section, seen_or
from probes.kit.lanes import carries
from tests.explain.subjects import subject
from tests.report.cases import metric

ONE, TWO = "0000:17:00.0", "0000:2a:00.0"
WIDTH, ACTIVE = "gpu/*/pcie/link_width_current", "gpu/*/nvlink/active"
SLOWER = metric("verify_ms", "worse", 19.2, 29.6, unit="ms")
PEER = f"gpu/{ONE}/peers/{TWO}/p2p_read"
MB, GB = 10**6, 10**9
Samples = Mapping[str, Any]


def on_both(one: Gpu, other: Gpu | None = None) -> Gpus:
    return Gpus(gpus=Map({ONE: one, TWO: other or one}))


def wide(lanes: int) -> Gpus:
    return on_both(Gpu(pcie=Pcie(link_width_current=lanes)))


def joined(active: int | Gap = 12, p2p: str = "ok", mig: str = "disabled") -> Gpus:
    links = NvLinks(active=active)
    with_peer = Gpu(nvlink=links, peers=Map({TWO: Peer(p2p_read=p2p)}), mig=Mig(mode_current=mig))
    return on_both(with_peer, Gpu(nvlink=links, mig=Mig(mode_current=mig)))


def crossing(pcie: int, lanes: int = 16, nvlink: int | None = None, busy: float = 1.0) -> Samples:
    """B/s over each link of each GPU, sent and received. busy: the share of the time in which it worked."""
    found: dict[str, Any] = {}
    count = round(100 * busy)
    for slot in (ONE, TWO):
        ways = {f"gpu/{slot}/pcie/{way}_bytes": pcie for way in ("tx", "rx")}
        ways |= {f"gpu/{slot}/nvlink/data_{way}": nvlink for way in ("tx", "rx") if nvlink is not None}
        found |= {path: Growth(7, 7 + 10 * rate, 10 * rate, 10.0) for path, rate in ways.items()}
        most = float(seen_or(carries(4, lanes), 0))
        found[f"gpu/{slot}/pcie/link_bandwidth"] = Distribution(count, most, (most,) * 7, 100 - count)
    return found


def ranked(
    before: Section, after: Section, x: Samples, y: Samples, moved: MetricChange = SLOWER
) -> Mapping[str, Ranked]:
    a, b = subject("A", before, area="gpu", samples=x), subject("B", after, area="gpu", samples=y)
    seen = observed(a.state.samples, b.state.samples, probe_of)
    return {one.change.text: one for one in rank(compare(a.state, b.state), (), seen, [moved])}


def narrowed(x: Samples, y: Samples) -> Ranked:
    return ranked(wide(16), wide(4), x, y)[WIDTH]


def test_a_narrower_link_that_carried_a_tenth_of_what_it_can_was_waited_for() -> None:
    found = narrowed(crossing(2 * GB), crossing(2 * GB, lanes=4))
    assert (found.likelihood, found.parts["binds"]) == ("likely", BINDING)
    (evidence,) = found.evidence
    assert evidence.says == (
        "gpu/*/pcie/tx_bytes 2 -> 2 GB per second: the link carried a tenth and more of what it can"
    )


def test_a_link_that_next_to_nothing_crossed_is_not_why() -> None:
    """Width or generation, in both runs: a copy of the weights at the start is more than this."""
    found = narrowed(crossing(2 * MB), crossing(2 * MB, lanes=4))
    assert (found.likelihood, found.parts["binds"]) == ("unlikely", UNBOUND)
    assert found.against[0].fact == "gpu/*/pcie/tx_bytes"


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        (crossing(20 * MB), crossing(2 * GB, lanes=4)),  # as where NVLink was lost
        (crossing(2 * GB), crossing(2 * GB)),  # what the slot allows changed, and not what was there under load
    ],
)
def test_a_link_is_not_why_where_only_the_traffic_is_another_or_the_link_is_not(
    wider: Samples, narrower: Samples
) -> None:
    found = narrowed(wider, narrower)
    assert (found.evidence, found.against) == ((), ())


def test_of_traffic_in_between_nothing_is_said() -> None:
    found = narrowed(crossing(200 * MB), crossing(200 * MB, lanes=4))
    assert (found.likelihood, found.evidence, found.against) == ("possible", (), ())


def test_one_direction_is_enough_and_an_idle_one_says_nothing_against_the_other() -> None:
    x, y = ({**crossing(2 * MB, lanes)} for lanes in (16, 4))
    for side in (x, y):
        side[f"gpu/{TWO}/pcie/rx_bytes"] = Growth(0, 20 * GB, 20 * GB, 10.0)
    (evidence,) = narrowed(x, y).evidence
    assert evidence.fact == "gpu/*/pcie/rx_bytes"
    assert f"most on {TWO}" in evidence.says
    for side in (x, y):
        side[f"gpu/{TWO}/pcie/rx_bytes"] = Growth(0, 4 * GB, 4 * GB, 10.0)
    assert narrowed(x, y).against == ()


def test_a_run_that_mostly_waited_for_work_is_judged_by_the_time_in_which_it_worked() -> None:
    """Little over the whole run can have been much while the GPU worked: that does not speak against the link."""
    mostly_idle = [crossing(20 * MB, lanes, busy=0.05) for lanes in (16, 4)]
    assert narrowed(*mostly_idle).against == ()
    assert narrowed(*(crossing(20 * MB, lanes) for lanes in (16, 4))).against


@pytest.mark.parametrize("missing", ["tx_bytes", "link_bandwidth"])
def test_of_traffic_that_was_not_read_in_both_runs_nothing_is_said(missing: str) -> None:
    x, y = crossing(2 * GB), crossing(2 * GB, lanes=4)
    kept = {path: sample for path, sample in y.items() if missing not in path and "rx_bytes" not in path}
    found = narrowed(x, kept)
    assert (found.likelihood, found.evidence, found.against) == ("possible", (), ())


# NVLink.

LINKED, STAGED = crossing(20 * MB, nvlink=20 * GB), crossing(4 * GB, nvlink=0)
SILENT = crossing(20 * MB, nvlink=0)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (joined(12), joined(0), ACTIVE),
        (joined(p2p="ok"), joined(p2p="not_supported"), PEER),
        (joined(mig="disabled"), joined(mig="enabled"), "gpu/*/mig/mode_current"),
    ],
)
def test_links_that_fell_silent_while_more_crossed_pcie_show_that_the_way_was_lost(
    before: Gpus, after: Gpus, text: str
) -> None:
    found = ranked(before, after, LINKED, STAGED)[text]
    assert (found.likelihood, found.parts["binds"]) == ("likely", BINDING)
    (evidence,) = found.evidence
    assert evidence.fact.endswith("/nvlink/data_tx")
    assert "NVLink fell silent, and more crossed PCIe" in evidence.says


def test_the_same_shows_the_other_way_round() -> None:
    found = ranked(joined(0), joined(12), STAGED, LINKED)[ACTIVE]
    assert found.parts["binds"] == BINDING


def test_a_way_that_was_lost_in_one_run_does_not_silence_the_links_of_the_other() -> None:
    assert ranked(joined(12), joined(0), STAGED, LINKED)[ACTIVE].evidence == ()
    assert ranked(joined(p2p="not_supported"), joined(), LINKED, STAGED)[PEER].evidence == ()


def test_links_that_fell_silent_because_nobody_worked_show_nothing() -> None:
    assert ranked(joined(12), joined(0), LINKED, SILENT)[ACTIVE].evidence == ()


def test_links_that_nothing_crossed_in_either_run_are_not_why() -> None:
    found = ranked(joined(12), joined(8), SILENT, SILENT)[ACTIVE]
    assert (found.likelihood, found.parts["binds"]) == ("unlikely", UNBOUND)
    assert found.against[0].says.endswith("in neither run was it seen that anything crossed NVLink")


def test_that_something_crossed_them_is_no_evidence() -> None:
    found = ranked(joined(12), joined(8), LINKED, LINKED)[ACTIVE]
    assert (found.likelihood, found.evidence, found.against) == ("possible", (), ())


def test_a_way_that_is_lost_whole_and_that_as_much_crosses_all_the_same_is_not_why() -> None:
    found = ranked(joined(p2p="ok"), joined(p2p="not_supported"), LINKED, LINKED)[PEER]
    assert (found.likelihood, found.parts["binds"]) == ("unlikely", UNBOUND)
    assert ranked(joined(12), joined(0), LINKED, LINKED)[ACTIVE].against


def test_links_whose_traffic_is_not_told_are_neither_for_nor_against() -> None:
    found = ranked(joined(12), joined(0), LINKED, crossing(4 * GB))[ACTIVE]
    assert (found.likelihood, found.evidence, found.against) == ("possible", (), ())


@given(st.integers(1, 30 * GB), st.integers(1, 30 * GB), st.integers(0, 30 * GB), st.integers(0, 30 * GB))
def test_swapped_runs_are_judged_alike(pcie_a: int, pcie_b: int, nvlink_a: int, nvlink_b: int) -> None:
    x, y = crossing(pcie_a, nvlink=nvlink_a), crossing(pcie_b, nvlink=nvlink_b)
    there, back = ranked(joined(12), joined(0), x, y)[ACTIVE], ranked(joined(0), joined(12), y, x)[ACTIVE]
    assert [one.says.partition(": ")[2] for one in there.evidence] == [
        one.says.partition(": ")[2] for one in back.evidence
    ]


def test_of_a_run_that_ended_traffic_tells_nothing() -> None:
    """What came to its end over a slower link did so without much that it had to carry."""
    fast, slow = (on_both(Gpu(pcie=Pcie(link_gen_max=generation))) for generation in (3, 2))
    found = ranked(fast, slow, crossing(2 * MB), crossing(2 * MB), metric("exit_status", "better", 1.0, 0.0))
    assert [(one.evidence, one.against) for one in found.values()] == [((), ())]
