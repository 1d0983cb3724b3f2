"""A GPU that goes, and errors that come, while a run lasts: the run ends well, and they are said first."""

from typing import Any

import pytest

from tests.e2e.gpu_host import ONE, OTHER, GpuHost, MakeHost, needs_root
from tests.e2e.test_gpu_load import working
from tests.nvml.fake import lose

CORRECTED, DRAM_CORRECTED = "nvmlDeviceGetTotalEccErrors(0,0)", "nvmlDeviceGetMemoryErrorCounter(0,0,2)"
REPLAYS = "nvmlDeviceGetFieldValues(94)"


def lost_in(host: GpuHost) -> dict[str, Any]:
    """What is said of a run in the middle of which the second GPU was lost, beside one in which none was."""
    host.run("a")
    host.run("b", meanwhile=lambda: lose(host.nvml, OTHER))
    told = host.diff("a", "b")
    [(fact, (on, before, after))] = told.causes.items()
    assert (fact, on, before) == (f"gpu/{OTHER}", "1/4", "seen")
    assert told.with_it == {f"gpu/*/peers/{OTHER}"}
    assert told.others == {}
    assert told.line.startswith(f"gpu/{OTHER} seen -> ")
    assert f"gpu/{OTHER} seen -> (" in " ".join(host.cli("show", "b").stdout.split())
    samples = host.samples("b")
    assert samples[f"gpu/{OTHER}/clocks/sm"]["count"] < samples[f"gpu/{ONE}/clocks/sm"]["count"]
    found: dict[str, Any] = after
    return found


def test_a_gpu_that_goes_while_a_run_lasts_is_said_first_and_the_run_goes_on(gpu_host: MakeHost) -> None:
    assert lost_in(working(gpu_host("H100 SXM", 4))) == {"during": ["seen", {"gap": "absent"}]}


@pytest.mark.long
@pytest.mark.root
@needs_root
def test_one_that_its_driver_holds_to_the_end_is_said_to_be_lost(gpu_host: MakeHost) -> None:
    assert lost_in(working(gpu_host("H100 SXM", 4, around=True))) == {"during": ["seen", {"gap": "lost"}]}


@pytest.mark.long
def test_errors_count_by_what_they_grew_while_the_run_lasted(gpu_host: MakeHost) -> None:
    host = working(gpu_host("H100 SXM", 4))
    host.put({CORRECTED: 5, DRAM_CORRECTED: 5, REPLAYS: 150})
    host.run("a")
    host.run("b", meanwhile=lambda: host.put({CORRECTED: 17, DRAM_CORRECTED: 17, REPLAYS: 190}, ONE))
    host.run("c")
    told = host.diff("a", "b")
    grown = {
        f"gpu/{ONE}/ecc/volatile/dram_corrected": (0, 12, "1/4"),
        f"gpu/{ONE}/pcie/errors/replay_counter": (0, 40, "1/4"),
    }
    assert {s["facts"][0]: (s["before"], s["after"], s["on"]) for s in told.json["suspects"]} == grown
    with_them = {s["facts"][0]: s["consequences"] for s in told.json["suspects"]}
    assert with_them[f"gpu/{ONE}/ecc/volatile/dram_corrected"] == [f"gpu/{ONE}/ecc/volatile/corrected"]
    assert "replay_counter stood still -> grew by 40 on 1/4" in told.line
    assert {suspect["bracket"] is not None for suspect in told.json["suspects"]} == {True}
    assert host.samples("b")[f"gpu/{ONE}/pcie/errors/replay_counter"]["grown"] == 40
    assert host.samples("b")[f"gpu/{ONE}/ecc/volatile/corrected"]["grown"] == 12
    assert f"Find out why {next(iter(told.causes))} grew" in told.line
    later = host.diff("a", "c")
    assert (later.causes, later.others) == ({}, {})
    assert later.line.startswith("Nothing changed: ")
