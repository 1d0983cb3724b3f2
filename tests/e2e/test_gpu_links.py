"""Links of GPUs, to the host and to each other: one that is less than it was is named; at rest it is no change."""

import json
from pathlib import Path

import pytest

from tests.e2e.gpu_host import ONE, OTHER, MakeHost, Snapshot, needs_root
from tests.e2e.test_gpu_load import working

GENERATION, WIDTH = "nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth"
FABRIC = "nvmlDeviceGetGpuFabricInfoV"
P2P = "nvmlDeviceGetP2PStatus"
REPLAYS, CRC_ERRORS, SPEED, STATE = 161, 163, 164, 165  # NVML_FI_DEV_NVLINK_*
CHIPSET_NOT_SUPPORTED = 1
YOUNG = 'mount --bind "$1" /proc/uptime; shift; exec "$@"'


def of_link(field: int, link: int) -> str:
    return f"nvmlDeviceGetFieldValues({field},{link})"


@pytest.mark.long
def test_a_slower_or_narrower_link_under_load_is_the_suspect(gpu_host: MakeHost) -> None:
    host = working(gpu_host("A10G", 2))
    host.put({GENERATION: 4})
    host.run("a")
    host.put({GENERATION: 2}, OTHER)
    host.run("slower")
    host.put({GENERATION: 4, WIDTH: 8}, OTHER)
    host.run("narrower")
    slower = host.diff("a", "slower")
    assert slower.causes == {f"gpu/{OTHER}/pcie/link_gen_current": ("1/2", 4, 2)}
    assert (slower.with_it, slower.others) == ({f"gpu/{OTHER}/pcie/link_speed"}, {})
    narrower = host.diff("a", "narrower")
    assert narrower.causes == {f"gpu/{OTHER}/pcie/link_width_current": ("1/2", 16, 8)}
    assert "16 -> 8 lanes on 1/2" in narrower.line


@pytest.mark.long
def test_a_link_that_is_slower_at_rest_is_not_comparable_and_one_that_is_not_is_said_to_be_equal(
    gpu_host: MakeHost,
) -> None:
    host = gpu_host("A10G", 2)
    host.run("a")
    host.put({GENERATION: 2, "nvmlDeviceGetPcieSpeed": 5000}, OTHER)
    host.run("b")
    told = host.diff("a", "b")
    assert told.causes == {}
    assert told.others == dict.fromkeys(
        (f"gpu/{OTHER}/pcie/link_gen_current", f"gpu/{OTHER}/pcie/link_speed"), "not comparable"
    )
    assert "compared only while gpu busy; A: gpu busy in 0 of " in told.line
    alike = {unknown["fact"]: unknown["says"] for unknown in told.json["not_known"]}
    assert alike[f"gpu/{ONE}/pcie/link_gen_current"].startswith("equal, and read while not gpu busy")


def test_an_nvlink_that_is_down_leads_its_count_and_its_errors_are_told(gpu_host: MakeHost) -> None:
    host = working(gpu_host("H100 SXM", 2))
    host.run("a")
    host.put({of_link(STATE, 3): 0, of_link(SPEED, 3): 0, "nvmlDeviceGetNvLinkState(3)": 0}, ONE)
    host.run("b", meanwhile=lambda: host.put({of_link(REPLAYS, 5): 70, of_link(CRC_ERRORS, 5): 7}, ONE))
    told = host.diff("a", "b")
    link = f"gpu/{ONE}/nvlink/links/3"
    errors = {f"gpu/{ONE}/nvlink/errors/{name}" for name in ("replay", "crc")}
    assert told.causes.keys() == {f"{link}/state", *errors}
    assert told.causes[f"{link}/state"] == ("1/36", "active", "inactive")
    found = {c["fact"]: (c["before"], c["after"], c["follows"]) for c in told.json["changes"] if c["follows"]}
    assert found == {
        f"{link}/speed": (26562, 0, f"{link}/state"),
        f"gpu/{ONE}/nvlink/active": (18, 17, f"{link}/state"),
    }


def test_a_fabric_that_failed_is_one_change_of_all_gpus(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 4)
    before = host.snapshot()
    joined = host.nvml.scenario["devices"][ONE][FABRIC]
    host.put({FABRIC: {**joined, "status": 999}})
    failed = host.snapshot()
    host.put({FABRIC: {**joined, "state": 1}})
    not_started = host.snapshot()
    assert failed.fact(f"gpu/{ONE}/fabric/status") == "unknown"
    assert host.diff(before, failed).causes == {"gpu/*/fabric/status": ("4/4", "success", "unknown")}
    told = host.diff(before, not_started)
    assert told.causes == {"gpu/*/fabric/state": ("4/4", "completed", "not_started")}
    assert told.with_it == {f"gpu/*/fabric/{name}" for name in ("status", "clique_id", "cluster_uuid")}
    assert told.others == {}


@pytest.mark.root
@needs_root
def test_right_after_boot_a_fabric_that_is_not_joined_yet_is_settling(gpu_host: MakeHost, tmp_path: Path) -> None:
    host = gpu_host("H100 SXM", 2)
    before = host.snapshot()
    host.put({FABRIC: {**host.nvml.scenario["devices"][ONE][FABRIC], "state": 2}})
    uptime = tmp_path / "uptime"
    uptime.write_text("42.00 80.00\n")
    before_it = ("unshare", "-m", "sh", "-ec", YOUNG, "sh", str(uptime))
    answer = json.loads(host.cli("snapshot", "--area", "gpu", "--format", "json", before=before_it).stdout)
    young = Snapshot(answer["id"], answer["sections"])
    assert young.fact(f"gpu/{ONE}/fabric/state") == "settling"
    told = host.diff(before, young)
    assert told.causes == {}
    assert told.others["gpu/*/fabric/state"] == "went dark"
    assert "completed -> (settling) went dark on 2/2" in told.line


def test_peers_that_no_longer_reach_each_other_are_one_change(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 4)
    before = host.snapshot()
    for slot, answers in host.nvml.scenario["devices"].items():
        host.put({key: CHIPSET_NOT_SUPPORTED for key in answers if key.startswith(P2P)}, slot)
    told = host.diff(before, host.snapshot())
    assert told.causes == {"gpu/*/peers/*/p2p_read": ("12/12", "ok", "chipset_not_supported")}
    assert told.with_it == {f"gpu/*/peers/*/p2p_{name}" for name in ("write", "nvlink", "atomics")}
    assert told.others == {}


def test_a_pair_that_no_longer_reach_each_other_is_named_from_both_sides(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 4)
    before = host.snapshot()
    host.put({f"{P2P}({OTHER},{index})": CHIPSET_NOT_SUPPORTED for index in range(4)}, ONE)
    told = host.diff(before, host.snapshot())
    assert told.causes == {"gpu/*/peers/*/p2p_read": ("2/12", "ok", "chipset_not_supported")}
    pairs = {change["fact"]: change["on"] for change in told.json["changes"]}
    assert pairs["gpu/*/peers/*/p2p_nvlink"] == "2/12"
