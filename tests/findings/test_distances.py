"""Distances between GPUs that the bus tells otherwise than NVML."""

import pytest

from fingerprint.findings import Finding, one_sided
from probes.gpu import Gpu, Gpus
from probes.gpu.peers import Peer
from probes.kit.facts import Gap, Map, Section
from probes.pcie.sections import Gpu as OnTheBus
from probes.pcie.sections import Pcie
from tests.findings.servers import effective, found, section_of

A, B, C = "0000:19:00.0", "0000:1a:00.0", "0000:97:00.0"


def host(nvml: str | Gap, bus: str | Gap = "PIX") -> dict[str, Section]:
    """Three GPUs: A and B as given, C at another socket of both."""
    topology, distances = {(A, B): nvml}, {(A, B): bus}
    return {
        "pcie": Pcie(gpus=Map({one: OnTheBus(distances=Map(_others(one, distances))) for one in (A, B, C)})),
        "gpu": Gpus(
            gpus=Map({
                one: Gpu(peers=Map({other: Peer(topology=told) for other, told in _others(one, topology).items()}))
                for one in (A, B, C)
            })
        ),
    }  # fmt: skip


def _others(one: str, told: dict[tuple[str, str], str | Gap]) -> dict[str, str | Gap]:
    return {other: told.get((min(one, other), max(one, other)), "SYS") for other in (A, B, C) if other != one}


@pytest.mark.parametrize("nvml", ["PIX", "PSB", Gap("unsupported"), Gap("not_read")])
def test_where_both_say_the_same_or_one_says_nothing_there_is_none(nvml: str | Gap) -> None:
    assert found(host(nvml)) == ()
    assert found(host("PIX", Gap("unsupported"))) == ()


def test_a_pair_that_stands_otherwise_is_told_once_with_both_facts() -> None:
    [finding] = found(host("PIX", "PHB"))
    assert finding.identity == ("distance-told-otherwise", "PHB as PIX")
    assert finding.facts == (f"pcie/gpus/{A}/distances/{B}", f"gpu/{A}/peers/{B}/topology")
    assert finding.says == f"{A} and {B}: PHB apart by the kernel's bus, and PIX as NVML says."


def test_without_either_area_there_is_none() -> None:
    both = host("PIX", "PHB")
    assert [found({area: both[area]}) for area in both] == [(), ()]


def test_a_diff_tells_it_of_the_run_that_has_it() -> None:
    def sides(a: dict[str, Section], b: dict[str, Section]) -> tuple[tuple[Finding, ...], ...]:
        return one_sided(effective(a), effective(b), section_of)

    of_a, of_b = sides(host("PIX"), host("PIX", "PHB"))
    assert (of_a, [finding.rule for finding in of_b]) == ((), ["distance-told-otherwise"])
    assert sides(host("PIX", "PHB"), host("PIX", "PHB")) == ((), ())
