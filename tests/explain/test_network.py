"""A card or a port is a suspect where something crossed it; what was lost or sent again on it is told."""

from collections.abc import Mapping
from typing import Any

import pytest

from fingerprint.diff.compare import compare
from fingerprint.diff.known import probe_of
from fingerprint.explain import explain
from fingerprint.explain.observed import observed, on_item
from fingerprint.explain.rank import Ranked, rank
from fingerprint.runs.record import Growth
from probes.kernel import Kernel
from probes.kernel.net import Core, Net
from probes.kernel.sysctls import Sysctl
from probes.kit.facts import Map
from probes.network import Network
from probes.network.interfaces import Interface
from probes.network.peer_memory import PeerMemory
from probes.network.ports import Counters, Port
from probes.network.rdma import Device
from probes.network.statistics import Statistics
from tests.explain.subjects import subject
from tests.report.cases import metric

SLOWER = metric("busbw", "worse", 180.0, 20.0, unit="GB/s", better="higher")
GB, KB = 10**9, 10**3
RATE, SPEED = "network/rdma/mlx5_0/ports/1/rate", "network/interfaces/eth0/speed"


def cards(speed: int, **more: Any) -> Network:
    return Network(interfaces=Map({"eth0": Interface(speed=speed, **more), "eth1": Interface(speed=400_000)}))


def ports(rate: int) -> Network:
    devices = {
        "mlx5_0": Device(ports=Map({"1": Port(rate=rate)})),
        "mlx5_1": Device(ports=Map({"1": Port(rate=400_000)})),
    }
    return Network(rdma=Map(devices))


def crossing(**rates: int) -> Mapping[str, Growth]:
    """B/s over each card or adapter, in and out."""
    found: dict[str, Growth] = {}
    for name, rate in rates.items():
        start = (
            f"network/interfaces/{name}/statistics" if name[:3] == "eth" else f"network/rdma/{name}/ports/1/counters"
        )
        ways = ("rx_bytes", "tx_bytes") if name[:3] == "eth" else ("port_rcv_data", "port_xmit_data")
        found |= {f"{start}/{way}": Growth(0, 10 * rate, 10 * rate, 10.0) for way in ways}
    return found


def suspect(text: str, before: Network, after: Network, samples: Mapping[str, Growth]) -> Ranked:
    a, b = (subject(name, side, area="network", samples=samples) for name, side in (("A", before), ("B", after)))
    seen = observed(a.state.samples, b.state.samples, probe_of)
    return {one.change.text: one for one in rank(compare(a.state, b.state), (), seen, [SLOWER])}[text]


@pytest.mark.parametrize(
    ("text", "before", "after", "idle"),
    [
        (SPEED, cards(400_000), cards(100_000), crossing(eth0=KB, eth1=20 * GB)),
        (RATE, ports(400_000), ports(100_000), crossing(mlx5_0=KB, mlx5_1=20 * GB)),
    ],
)
def test_what_nothing_crossed_is_not_why_however_much_crossed_the_next_one(
    text: str, before: Network, after: Network, idle: Mapping[str, Growth]
) -> None:
    found = suspect(text, before, after, idle)
    assert (found.likelihood, len(found.against)) == ("unlikely", 1)


@pytest.mark.parametrize(
    ("text", "before", "after", "busy"),
    [
        (SPEED, cards(400_000), cards(100_000), crossing(eth0=5 * GB, eth1=KB)),
        (RATE, ports(400_000), ports(100_000), crossing(mlx5_0=5 * GB, mlx5_1=KB)),
    ],
)
def test_what_carried_the_traffic_may_be_why_and_explains_at_most_its_ratio(
    text: str, before: Network, after: Network, busy: Mapping[str, Growth]
) -> None:
    found = suspect(text, before, after, busy)
    assert (found.likelihood, found.against) == ("possible", ())
    assert [rule.bound.by for rule in found.rules if rule.bound] == ["ratio"]


def test_a_condition_on_a_collection_within_is_of_its_item() -> None:
    assert on_item("network/rdma/*/ports/*/rate", "mlx5_0") == "network/rdma/mlx5_0/ports/*/rate"
    assert on_item("gpu/*/power/draw", "a/b") == "gpu/a%2Fb/power/draw"
    assert on_item("gpu/*/power/draw", "") == "gpu/*/power/draw"
    assert on_item("cpu/frequency/median", "x") == "cpu/frequency/median"


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (
            Statistics(rx_missed_errors=5), Statistics(rx_missed_errors=900),
            "network/interfaces/eth0/statistics/rx_missed_errors",
        ),
        (Statistics(tx_dropped=0), Statistics(tx_dropped=70), "network/interfaces/eth0/statistics/tx_dropped"),
    ],
)  # fmt: skip
def test_packets_that_were_lost_in_one_run_alone_are_told(before: Statistics, after: Statistics, text: str) -> None:
    calm, lossy = (cards(400_000, statistics=statistics) for statistics in (before, after))
    a = subject("A", calm, area="network", after=calm)
    b = subject("B", calm, area="network", after=lossy)
    assert text in str(explain(a, b).suspects)


def test_a_port_that_was_trained_anew_in_one_run_alone_is_told() -> None:
    calm, anew = (
        Network(rdma=Map({"mlx5_0": Device(ports=Map({"1": Port(counters=Counters(link_downed=downed))}))}))
        for downed in (2, 3)
    )
    a, b = (subject(name, calm, area="network", after=after) for name, after in (("A", calm), ("B", anew)))
    assert "network/rdma/mlx5_0/ports/1/counters/link_downed" in str(explain(a, b).suspects)


@pytest.mark.parametrize("grown", [0, 70])
def test_a_backlog_is_why_where_clients_found_no_place_in_it(grown: int) -> None:
    sides = (Kernel(sysctl=Sysctl(net=Net(core=Core(somaxconn=most)))) for most in (4096, 16))
    before, after = ({"network/stack/tcp/listen_overflows": Growth(0, count, count, 10.0)} for count in (0, grown))
    a, b = (
        subject(name, side, area="kernel", samples=samples)
        for name, side, samples in zip("AB", sides, (before, after), strict=True)
    )
    seen = observed(a.state.samples, b.state.samples, probe_of)
    (found,) = rank(compare(a.state, b.state), (), seen, [metric("wall_time", "worse", 1.0, 4.0, unit="s")])
    assert found.rules[0].name == "connection-intake"
    assert (found.likelihood == "unlikely") is bool(found.against) is (grown == 0)
    assert bool(found.evidence) is (grown > 0)


def test_a_peer_memory_module_that_is_gone_is_a_suspect_with_what_it_was_worth() -> None:
    there, gone = (Network(peer_memory=PeerMemory(module=word)) for word in ("nvidia_peermem", "none"))
    found = suspect("network/peer_memory/module", there, gone, {})
    assert found.rules[0].name == "gpu-direct-rdma"
    assert found.rules[0].usual == (1.2, 18.0)
