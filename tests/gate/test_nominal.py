"""The gate of a new user: recorded hosts against their own defaults and maxima."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pynvml
import pytest

from fingerprint.catalog import can_mean, facts
from fingerprint.gate.baseline import GIVEN, Baseline
from fingerprint.gate.contract import Check, Verdict
from fingerprint.gate.expectation import Beside, Each
from fingerprint.gate.nominal import LIMITS, MOMENT
from fingerprint.gate.verdict import Asked, decide
from fingerprint.imports.nvidia_smi import sections
from fingerprint.snapshot import reading_of
from fingerprint.testing import Replay, load
from probes.cpu import Cpu
from probes.cpu.processor import Processor
from probes.driver import Driver
from probes.gpu import Gpu, Gpus
from probes.kernel import Kernel
from probes.kit.facts import Gap, Map, Section
from probes.kit.probe import HOST, discover
from probes.network import Network
from probes.network.ipv4 import Routes
from probes.network.ports import Port
from probes.network.rdma import Device
from probes.pcie import pcie
from probes.pcie.sections import Pcie
from probes.process.sections import Cgroup, Process
from tests.gate import ONE, OTHER, TODAY, captured, snapshot
from tests.imports.capture import names
from tests.nvml.fake import Fake, FakeNvml
from tests.nvml.profiles import host_of
from tests.probes.pcie import server as s
from tests.probes.pcie.bus import NIC, NVME, ROOT_PORT, Function, Link, space

HOSTS = Path(__file__).parent.parent / "hosts"
RULES = (*LIMITS, *MOMENT)


def verdict(found: Mapping[str, Section]) -> Verdict:
    return decide(Asked(), snapshot(found), {}, TODAY)


def told(it: Verdict, *states: str) -> dict[str, Check]:
    return {check.rule: check for check in it.checks if check.state in (states or ("failed", "warned", "unknown"))}


def recorded(name: str) -> Mapping[str, Section]:
    host = Replay(load(HOSTS / name))
    return {area: probe.read(host, HOST) for area, probe in discover().items() if probe.of == "host"}


def asked(fake: Fake) -> Mapping[str, Section]:
    return {"gpu": discover(["gpu"])["gpu"].read(fake.host(), HOST)}


# Link


@pytest.mark.parametrize("capture", ["l40s-595.91.07", "t4-595.91.07", "a10g-515.105.01"])
def test_a_guest_whose_slot_is_wired_for_8_lanes_is_not_called_degraded(capture: str) -> None:
    it = verdict(captured(capture))
    assert "link-width" not in told(it)
    assert it.outcome == "pass"
    [note] = [note for note in it.notes if "lanes" in note]
    assert "8 lanes, not at least 16 lanes: a guest is not told what the slot is wired for" in note


def test_a_link_at_rest_is_not_called_degraded() -> None:
    """The A10G's generation is 1 of 4, in P8."""
    assert "link-generation" not in told(verdict(captured("a10g-515.105.01")))


@pytest.mark.parametrize(
    ("call", "value", "rule", "says"),
    [
        (
            "nvmlDeviceGetCurrPcieLinkWidth",
            8,
            "link-width",
            "link_width_current is 8 lanes, expected at least 16",
        ),
        ("nvmlDeviceGetCurrPcieLinkGeneration", 3, "link-generation", "link_gen_current is 3, expected at least 5"),
    ],
)
def test_an_h100_with_a_downgraded_link_is_degraded(
    fake_nvml: FakeNvml, call: str, value: int, rule: str, says: str
) -> None:
    fake = fake_nvml(host_of("H100 SXM", 2))
    assert verdict(asked(fake)).outcome == "pass"
    fake.put(ONE, call, value)
    it = verdict(asked(fake))
    assert it.outcome == "fail"
    check = told(it)[rule]
    assert (check.state, check.on) == ("failed", "1/2")
    assert check.says.startswith(f"gpu/{ONE}/pcie/{says}")


def test_the_same_in_a_guest_is_excused(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("H100 SXM", 2))
    fake.put(ONE, "nvmlDeviceGetCurrPcieLinkWidth", 8)
    it = verdict({**asked(fake), "cpu": Cpu(processor=Processor(hypervisor=True))})
    assert "link-width" not in told(it)


def test_a_narrow_slot_of_a_desktop_warns() -> None:
    it = verdict(captured("p2000-525.125.06"))
    assert told(it)["link-width"].state == "warned"
    assert it.outcome == "pass"


@pytest.mark.parametrize("capture", names())
def test_any_host_passes_against_itself(capture: str) -> None:
    """With whatever was wrong with it, or whoever was on it, when the baseline was measured."""
    found = captured(capture)
    it = decide(Asked(baseline=Baseline("run-A", snapshot(found))), snapshot(found), {}, TODAY)
    assert it.outcome == "pass"
    assert not [check.says for check in it.checks if check.origin == "baseline" and check.state != "ok"]


@pytest.mark.skipif("FINGERPRINT_CORPUS" not in os.environ, reason="FINGERPRINT_CORPUS names no folder")
def test_no_log_of_others_breaks_a_rule_by_what_it_does_not_tell() -> None:
    """What is unknown by a log is what it says itself: a GPU that is lost, or that could not be asked."""
    logs = sorted(Path(os.environ["FINGERPRINT_CORPUS"]).glob("**/nvidia-smi-xml/*.xml"))
    assert logs
    for log in logs:
        it = verdict(sections(log.read_text(errors="replace")))
        assert {check.rule for check in it.checks if check.state == "unknown"} == set(), log


def bus(root: Path, *more: Function) -> Pcie:
    return pcie.read(s.server(root, *more, without=tuple(one.address for one in more)), HOST)


def test_a_switch_a_card_and_a_drive_below_what_both_ends_of_their_links_can_warn(tmp_path: Path) -> None:
    card = Function(f"{s.SWITCH}/{s.LOW_C}/{s.CARD}", NIC, config=space(link=s.HALF))
    drive = Function(f"pci0000:00/{s.PORT_00}/{s.DRIVE}", NVME, config=space(link=Link(3, 4, 4, 4)))
    it = verdict({"pcie": bus(tmp_path, card, drive)})
    assert it.outcome == "pass"
    assert {rule: check.facts for rule, check in told(it).items()} == {
        "bridge-link-speed": (f"pcie/bridges/{s.UP}/current_link_speed",),
        "bridge-link-width": (f"pcie/bridges/{s.UP}/current_link_width",),
        "card-link-speed": ("pcie/cards/*/current_link_speed",),
        "card-link-width": (f"pcie/cards/{s.CARD}/current_link_width",),
    }
    assert told(it)["card-link-width"].says.endswith("current_link_width is 8 lanes, expected at least 16 lanes")


def test_a_link_that_an_older_slot_bounds_is_as_good_as_it_can_be(tmp_path: Path) -> None:
    older = s.port(f"pci0000:00/{s.PORT_00}", ROOT_PORT, Link(3, 4, 3, 4), "8086:7A3C")
    drive = Function(f"pci0000:00/{s.PORT_00}/{s.DRIVE}", NVME, config=space(link=Link(3, 4, 4, 4)))
    assert not {rule for rule in told(verdict({"pcie": bus(tmp_path, older, drive)})) if rule.startswith("card")}


def test_links_of_a_guest_and_of_what_sleeps_or_may_not_be_read_are_out_of_scope(tmp_path: Path) -> None:
    guest = {"cpu": Cpu(processor=Processor(hypervisor=True)), "pcie": bus(tmp_path / "guest")}
    assert told(verdict(guest)) == {}
    files = {"power/runtime_status": "suspended\n"}
    asleep = Function(f"{s.SWITCH}/{s.LOW_C}/{s.CARD}", NIC, config=space(link=s.HALF), files=files)
    mute = Function(f"pci0000:00/{s.PORT_00}/{s.DRIVE}", NVME, config=space()[:64])
    it = verdict({"pcie": bus(tmp_path / "host", asleep, mute)})
    assert it.outcome == "pass"
    assert {check.state for check in it.checks if check.rule.startswith("card")} <= {"ok", "unknown", "out_of_scope"}


@pytest.mark.parametrize(
    ("state", "phys_state", "warns"),
    [("ACTIVE", "LinkUp", False), ("INIT", "LinkUp", True), ("DOWN", "Polling", False), ("DOWN", "Disabled", False)],
)
def test_a_port_that_has_a_link_and_is_not_active_warns(state: str, phys_state: str, warns: bool) -> None:
    port = Port(state=state, phys_state=phys_state)
    it = verdict({"network": Network(rdma=Map({"mlx5_0": Device(ports=Map({"1": port}))}))})
    assert ("rdma-port" in told(it)) == warns


def test_cards_in_one_subnet_without_a_rule_warn() -> None:
    it = verdict({"network": Network(routes=Routes(unsteered_subnets=("192.0.2.0/24",)))})
    assert told(it)["steered-subnets"].says.startswith("network/routes/unsteered_subnets is 1 (192.0.2.0/24)")
    assert told(verdict({"network": Network(routes=Routes(unsteered_subnets=()))})) == {}


# What else is below its own nominal: one change on a healthy host each

CHANGES: Mapping[str, tuple[str, Any]] = {
    "power-limit": ("nvmlDeviceGetPowerManagementLimit", 450_000),
    "power-limit-enforced": ("nvmlDeviceGetEnforcedPowerLimit", 300_000),
    "application-clocks": ("nvmlDeviceGetApplicationsClock(0)", 1200),
    "application-memory-clock": ("nvmlDeviceGetApplicationsClock(2)", 1500),
    "compute-mode": ("nvmlDeviceGetComputeMode", 2),
    "ecc-pending": ("nvmlDeviceGetEccMode", [1, 0]),
    "mig-pending": ("nvmlDeviceGetMigMode", [0, 1]),
    "fabric-status": ("nvmlDeviceGetGpuFabricInfoV", {"state": 3, "status": 10}),
    "hardware-slowdown": ("nvmlDeviceGetCurrentClocksEventReasons", 0x8),
    "heat-slowdown": ("nvmlDeviceGetCurrentClocksEventReasons", 0x48),
    "heat-cap": ("nvmlDeviceGetCurrentClocksEventReasons", 0x20),
    "power-brake": ("nvmlDeviceGetCurrentClocksEventReasons", 0x88),
    "foreign-processes": (
        "nvmlDeviceGetComputeRunningProcesses_v3",
        [{"pid": 4242, "usedGpuMemory": 1 << 30, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}],
    ),
    "gpu-idle": ("nvmlDeviceGetUtilizationRates", {"gpu": 97, "memory": 40}),
    "recovery-action": (f"nvmlDeviceGetFieldValues({pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION})", 1),
}


@pytest.mark.parametrize("product", ["H100 SXM", "H200"])
def test_a_healthy_host_has_nothing_to_say(fake_nvml: FakeNvml, product: str) -> None:
    it = verdict(asked(fake_nvml(host_of(product, 2))))
    assert told(it) == {}
    assert (it.outcome, it.notes) == ("pass", ())


def test_every_change_is_told_by_its_rule_and_for_the_device_that_has_it(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("H100 SXM", 2))
    missed = {}
    for rule, (call, value) in CHANGES.items():
        before = fake.scenario["devices"][OTHER].get(call)
        fake.put(OTHER, call, {**before, **value} if isinstance(value, dict) and isinstance(before, dict) else value)
        found = told(verdict(asked(fake)))
        if rule not in found or OTHER not in found[rule].facts[0]:
            missed[rule] = {name: check.says for name, check in found.items()}
        fake.put(OTHER, call, before)
    assert missed == {}


@pytest.mark.parametrize(
    ("changed", "rule", "says"),
    [
        ({"persistence_mode": "disabled"}, "persistence", "persistence_mode is disabled, expected enabled"),
        ({"unowned_memory": 40 << 30}, "leaked-memory", "unowned_memory is 40 GiB, expected at most 512 MiB"),
    ],
)
def test_what_a_container_is_not_told_a_host_is(changed: Any, rule: str, says: str) -> None:
    found = told(verdict({"gpu": Gpus(gpus=Map({ONE: Gpu(**changed)}))}))
    assert found[rule].says == f"gpu/{ONE}/{says}"


def test_a_lost_gpu_is_told_once() -> None:
    it = verdict(captured("gb200-lost-580.65.06"))
    assert [check.rule for check in it.checks if "lost" in check.says and check.state == "failed"] == ["lost"]


def test_a_host_without_gpus_is_judged_by_the_rest() -> None:
    it = verdict(recorded("i7-1370p-hybrid-linux6.1-debian12"))
    assert it.outcome == "pass"
    assert [(check.rule, check.restore) for check in it.checks if check.state == "warned"] == [
        ("governor", "cpupower frequency-set -g performance")
    ]


def test_that_no_gpu_was_checked_is_said() -> None:
    gone = {"gpu": Gpus(gpus=Gap("absent", "no NVIDIA driver is loaded")), "kernel": Kernel(release="6.8.0")}
    assert decide(Asked(), snapshot(gone), {}, TODAY).notes == ("No GPU was checked: no NVIDIA driver is loaded.",)
    off = {"gpu": Gpus(gpus=Gap("not_read")), "kernel": Kernel(release="6.8.0")}
    assert decide(Asked(), snapshot(off), {}, TODAY).notes == (
        "No GPU was checked: they were not read, as where the setting nvml is off.",
    )
    skipped = {"kernel": Kernel(release="6.8.0")}
    assert decide(Asked(), snapshot(skipped), {}, TODAY).notes == ("No GPU was checked: areas.skip names gpu.",)
    there = {"gpu": Gpus(gpus=Map({ONE: Gpu(power_limit=1)})), "kernel": Kernel(release="6.8.0")}
    assert decide(Asked(), snapshot(there), {}, TODAY).notes == ()


def test_a_gpu_that_the_driver_does_not_have_warns() -> None:
    it = decide(Asked(), snapshot({"driver": Driver(gpus_bound_elsewhere=Map({ONE: "none"}))}), {}, TODAY)
    [check] = [check for check in it.checks if check.state == "warned"]
    assert check.says == f"driver/gpus_bound_elsewhere is 1 ({ONE}), expected at most 0"


@pytest.mark.parametrize("folder", sorted(HOSTS.glob("*/recording.json")), ids=lambda path: path.parent.name)
def test_no_recorded_host_is_refused_for_what_it_lacks(folder: Path) -> None:
    assert told(verdict(recorded(folder.parent.name)), "failed", "unknown") == {}


@pytest.mark.parametrize(
    ("given", "rule", "says"),
    [
        (Process(affinity="0-3"), "cpus-granted", "a command started here gets CPUs 0-3, expected at least 8 CPUs"),
        (Process(cgroup=Cgroup(cpu_max="400000 100000")), "cpu-quota", "expected at least 8 CPUs"),
    ],
)
def test_two_gpus_with_few_cpus_for_what_is_started_here_warn(given: Process, rule: str, says: str) -> None:
    found = {"gpu": Gpus(gpus=Map({ONE: Gpu(power_limit=1, power_default_limit=1), OTHER: Gpu()}))}
    it = decide(Asked(), snapshot(found), {GIVEN: reading_of(given)}, TODAY)
    assert says in told(it)[rule].says
    assert told(it)[rule].restore == ""
    assert it.outcome == "pass"


# The rules themselves


def test_each_rule_is_about_declared_facts_and_says_why() -> None:
    declared = facts()
    globs = [rule.fact for rule in RULES]
    globs += [test.operand.fact for rule in RULES for test in rule.tests if isinstance(test.operand, Beside)]
    globs += [test.operand.collection for rule in RULES for test in rule.tests if isinstance(test.operand, Each)]
    globs += [where.fact for rule in RULES for where in (*rule.only, *rule.softly)]
    assert [glob for glob in globs if not any(can_mean(glob.split("/"), fact) for fact in declared)] == []
    assert [rule.rule for rule in RULES if not rule.reason] == []
    assert len({rule.rule for rule in RULES}) == len(RULES)
