"""The area `gpu`: which GPUs there are, which unit sits in each slot, and what was set on it."""

import os
import signal
from typing import Any

import msgspec
import pynvml
import pytest

from fingerprint.sections import decoder_of
from fingerprint.testing import Replay
from probes.gpu import Gpus, clocks, events, gpu, power, sample, settings, thermal, unit
from probes.gpu.asking import Device, _question
from probes.kit.facts import Gap, seen_or
from probes.kit.nvml import inquiry
from probes.kit.nvml.inquiry import FIELDS, key_of
from probes.kit.probe import HOST
from tests.nvml.drivers import lacks
from tests.nvml.fake import FakeNvml
from tests.nvml.products import PRODUCTS
from tests.nvml.profiles import host_of
from tests.nvml.scenario import Scenario
from tests.probes.gpu_hosts import BARE, CONTAINED, FILE, answers_of, code, driven, items, only, read, replayed, sampled

ONE, OTHER = "0000:17:00.0", "0000:2a:00.0"


@pytest.fixture
def h100() -> Scenario:
    return host_of("H100 SXM")


def put(scenario: Scenario, **answers: Any) -> Scenario:
    """The same host, but for these answers of its first GPU."""
    scenario["devices"][ONE] |= {f"nvml{name}": answer for name, answer in answers.items()}
    return scenario


# Which GPUs there are.


def test_gpus_stand_under_their_slots(h100: Scenario) -> None:
    assert items(read(replayed(host_of("H100 SXM", 8), BARE))).keys() == host_of("H100 SXM", 8)["devices"].keys()


def test_without_a_driver_there_are_no_gpus_and_that_is_one_gap() -> None:
    assert code(read(Replay({("nvml_devices", ""): Gap("absent", "no NVIDIA driver is loaded")})).gpus) == "absent"


def test_where_nvml_fails_and_the_kernel_lists_nothing_the_collection_is_that_gap() -> None:
    assert code(read(Replay({("nvml_devices", ""): Gap("failed", "NVML 18")})).gpus) == "failed"


@pytest.mark.parametrize("why", ["lost", "asleep", "timed_out", "denied"])
def test_a_gpu_that_nvml_could_not_attach_is_there_and_says_why(h100: Scenario, why: Any) -> None:
    class Sick(Replay):
        def _ask(self, call: str, key: str, live: Any) -> Any:
            return Gap(why) if call == "nvml" and key.startswith(OTHER) else super()._ask(call, key, live)

    found = items(read(Sick({**answers_of(h100), **BARE, **driven(ONE, OTHER)})))
    assert found[ONE].power_limit == 700_000
    assert {code(found[OTHER].power_limit), code(found[OTHER].serial), code(found[OTHER].clocks.sm)} == {why}


def test_what_proc_tells_stands_in_where_nvml_does_not_answer() -> None:
    answers = {("nvml_devices", ""): Gap("timed_out"), **driven(ONE)}
    answers["text", f"/proc/driver/nvidia/gpus/{ONE}/information"] = (
        "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-1\nVideo BIOS: \t ??.??.??.??.??\nDevice Minor: \t 3\n"
    )
    found = only(read(Replay(answers)))
    assert (found.name, found.uuid, found.minor_number) == ("NVIDIA H100", "GPU-1", 3)
    assert code(found.vbios_version) == "not_read"


def test_a_gpu_that_is_suspended_is_not_woken_by_a_look_into_proc() -> None:
    asked = f"/proc/driver/nvidia/gpus/{ONE}/information"
    status = {("text", f"/sys/bus/pci/devices/{ONE}/power/runtime_status"): "suspended\n"}
    answers = {("nvml_devices", ""): Gap("asleep"), **driven(ONE), **status, ("text", asked): "Model: \t\t woken\n"}
    assert isinstance(only(read(Replay(answers))).name, Gap)


def test_a_container_has_only_those_of_the_hosts_gpus_whose_nodes_it_has() -> None:
    devices = {("stat", "/dev/nvidia0"): FILE, ("stat", "/dev/nvidia1"): Gap("absent")}
    answers = {("nvml_devices", ""): Gap("timed_out"), **driven(ONE, OTHER), **devices}
    assert items(read(Replay({**answers, **CONTAINED}))).keys() == {ONE}
    assert items(read(Replay({**answers, **BARE}))).keys() == {ONE, OTHER}


@pytest.mark.parametrize("product", PRODUCTS)
def test_each_product_is_read_and_what_it_lacks_is_no_fact(product: str) -> None:
    found = only(read(replayed(host_of(product), BARE)))
    assert found.name == PRODUCTS[product].name
    assert found.power_default_limit == PRODUCTS[product].power[2] * 1000


# What is asked.


def snapshot_keys() -> set[str]:
    return {key for phase in inquiry.SNAPSHOT_PHASES for key in keys(phase)}


def keys(calls: Any) -> set[str]:
    found = set()
    for name, args in calls:
        questions = [(a,) if isinstance(a, int) else a for a in args] if name == FIELDS else [args]
        found |= {key_of(name, question) for question in questions}
    return found


class Listening(Replay):
    """Keeps what NVML is asked about the first GPU."""

    def __init__(self, answers: Any) -> None:
        super().__init__(answers)
        self.asked: set[str] = set()

    def _ask(self, call: str, key: str, live: Any) -> Any:
        if call == "nvml" and key.startswith(f"{ONE} "):
            self.asked.add(key.removeprefix(f"{ONE} "))
        return super()._ask(call, key, live)


def test_a_sample_asks_nothing_that_is_not_in_it(h100: Scenario) -> None:
    host = Listening({**answers_of(h100), ("nvml_sample", ""): (ONE,)})
    sampled(host)
    assert host.asked <= keys(inquiry.SAMPLE)
    assert len(host.asked) > 20


def test_a_sample_holds_what_moves_and_nothing_else(h100: Scenario) -> None:
    found = only(sampled(Replay({**answers_of(h100), ("nvml_sample", ""): (ONE,)})))
    whole = only(read(replayed(h100, BARE)))
    assert (found.clocks.sm, found.busy, found.power.draw) == (whole.clocks.sm, whole.busy, whole.power.draw)
    assert found.clocks_event_reasons.gpu_idle == 1
    assert {code(found.power_limit), code(found.clocks.max.sm), code(found.name)} == {"not_read"}


def test_a_sample_that_nvml_does_not_give_is_one_gap() -> None:
    assert code(sampled(Replay({("nvml_sample", ""): Gap("timed_out")})).gpus) == "timed_out"


@pytest.mark.parametrize(
    ("source", "key", "member"),
    [
        ("nvmlDeviceGetName", "nvmlDeviceGetName", ""),
        ("nvmlDeviceGetClockInfo(1)", "nvmlDeviceGetClockInfo(1)", ""),
        ("nvmlDeviceGetMemoryInfo.total", "nvmlDeviceGetMemoryInfo", "total"),
        ("nvmlDeviceGetClockOffsets(0,0).clockOffsetMHz", "nvmlDeviceGetClockOffsets(0,0)", "clockOffsetMHz"),
        ("NVML_FI_DEV_POWER_INSTANT", "nvmlDeviceGetFieldValues(186)", ""),
        ("NVML_FI_DEV_POWER_INSTANT(1)", "nvmlDeviceGetFieldValues(186,1)", ""),
    ],
)
def test_the_source_of_a_fact_is_the_question(source: str, key: str, member: str) -> None:
    assert _question(source) == (key, member)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (0xFFFFFFFF, "unsupported"), (0xFFFFFFFFFFFFFFFF, "unsupported"), ("N/A", "unsupported"), ("", "unsupported"),
        ([1, 2], "failed"), ("words", "failed"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_becomes_a_gap(answer: Any, seen: str) -> None:
    source = "nvmlDeviceGetX.total" if seen == "failed" else "nvmlDeviceGetX"
    assert code(Device(Replay({("nvml", f"{ONE} nvmlDeviceGetX"): answer}), ONE).answer(source)) == seen


NAMED = {
    "NVML_BRAND_": unit.BRANDS,
    "NVML_DEVICE_ARCH_": unit.ARCHITECTURES,
    "NVML_COMPUTEMODE_": settings.COMPUTE_MODES,
    "NVML_DEVICE_ADDRESSING_MODE_": settings.ADDRESSING_MODES,
    "NVML_DRIVER_": settings.DRIVER_MODELS,
    "NVML_GOM_": settings.OPERATION_MODES,
    "NVML_POWER_SOURCE_": power.SOURCES,
    "NVML_POWER_PROFILE_": power.PROFILES,
}
NO_ENUMERATORS = ("COUNT", "MAX", "UNKNOWN", "NVIDIA_VGAMING")  # the last is another's older name


@pytest.mark.parametrize("prefix", NAMED)
def test_every_enumerator_of_nvml_has_its_word(prefix: str) -> None:
    """Those that nvidia-ml-py knows; nvml.h may know more."""
    named = {name.removeprefix(prefix): number for name, number in vars(pynvml).items() if name.startswith(prefix)}
    known = {n: name.lower() for name, n in named.items() if name not in NO_ENUMERATORS and "OPERATION_" not in name}
    assert len(known) > 2
    assert {number: NAMED[prefix].get(number) for number in known} == known


def test_an_enumerator_that_is_too_new_is_told_by_its_number() -> None:
    device = Device(Replay({("nvml", f"{ONE} nvmlDeviceGetComputeMode"): 17}), ONE)
    assert device.word("nvmlDeviceGetComputeMode", settings.COMPUTE_MODES) == "unknown (17)"


def test_each_event_reason_of_nvml_has_its_bit() -> None:
    prefix = "nvmlClocksEventReason"
    bits = {value for name, value in vars(pynvml).items() if name.startswith(prefix) and not name.endswith("All")}
    assert bits - {0} <= set(events.REASONS)


# Who the unit is.


def test_a_gb200_tells_its_place_in_the_rack(h100: Scenario) -> None:
    place = only(read(replayed(host_of("GB200"), BARE))).platform
    assert (place.slot_number, place.tray_index, place.chassis_serial_number) == (25, 15, "2507816907154")


def test_pci_ids_and_capability_are_written_as_everybody_does(h100: Scenario) -> None:
    found = only(read(replayed(h100, BARE)))
    assert (found.pci_device_id, found.compute_cap, found.architecture) == ("0x233010de", "9.0", "hopper")


# What was set.


def test_limits_are_in_milliwatts_and_fall_back_to_the_field_values(h100: Scenario) -> None:
    put(h100, DeviceGetPowerManagementLimit=450_000, DeviceGetEnforcedPowerLimit=300_000)
    found = only(read(replayed(h100, BARE)))
    assert (found.power_limit, found.enforced_power_limit, found.power_default_limit) == (450_000, 300_000, 700_000)
    laptop = put(h100, **{"DeviceGetFieldValues(192)": 80_000})
    laptop["devices"][ONE].pop("nvmlDeviceGetPowerManagementLimit")
    assert only(read(replayed(laptop, BARE))).power_limit == 80_000


def test_persistence_that_a_container_cannot_know_is_a_gap_and_not_off(h100: Scenario) -> None:
    put(h100, DeviceGetPersistenceMode=0)
    socket = {("stat", "/run/nvidia-persistenced/socket"): FILE}
    assert only(read(replayed(h100, BARE))).persistence_mode == "disabled"
    assert code(only(read(replayed(h100, CONTAINED))).persistence_mode) == "not_observable"
    assert only(read(replayed(h100, CONTAINED, socket))).persistence_mode == "disabled"
    put(h100, DeviceGetPersistenceMode=1)
    assert only(read(replayed(h100, CONTAINED))).persistence_mode == "enabled"


def test_an_unknown_performance_state_is_no_p32(h100: Scenario) -> None:
    put(h100, DeviceGetPerformanceState=8)
    assert only(read(replayed(h100, BARE))).performance_state == "P8"
    put(h100, DeviceGetPerformanceState=32)
    assert code(only(read(replayed(h100, BARE))).performance_state) == "unsupported"


def test_application_clocks_that_are_no_longer_reported_are_retired_and_follow_the_driver(h100: Scenario) -> None:
    host = Replay({**BARE, **answers_of(h100), ("nvml", f"{ONE} nvmlDeviceGetApplicationsClock(0)"): Gap("retired")})
    assert code(only(read(host)).clocks.applications.graphics) == "retired"
    assert "driver/module/version" in clocks.ApplicationClocks.__facts__["graphics"].follows


def test_workload_power_profiles_are_told_by_name() -> None:
    mask = {"mask": [1 << 6 | 1 << 1, 0, 0, 0, 0, 0, 0, 1 << 31]}
    told = dict.fromkeys(("perfProfilesMask", "requestedProfilesMask", "enforcedProfilesMask"), mask)
    b200 = put(host_of("B200"), DeviceWorkloadPowerProfileGetCurrentProfiles=told)
    assert only(read(replayed(b200, BARE))).power.requested_profiles == ("max_q", "llm_inference", "unknown (255)")


def test_a_module_has_limits_of_its_own() -> None:
    module = only(read(replayed(host_of("GB200"), BARE))).power.module
    assert (module.power_limit, module.enforced_power_limit) == (2_500_000, 2_500_000)


def test_fans_follow_the_temperature_unless_somebody_took_them_over(h100: Scenario) -> None:
    put(h100, **{"DeviceGetFanControlPolicy_v2(0)": 1, "DeviceGetNumFans": 2})
    assert only(read(replayed(h100, BARE))).fan.policy == thermal.FAN_POLICIES[1] == "manual"


def test_thresholds_are_absolute_or_margins() -> None:
    old = only(read(replayed(host_of("A100 SXM"), BARE))).temperature
    new = only(read(replayed(host_of("H100 SXM"), BARE))).temperature
    assert (old.thresholds.slowdown, new.margins.slowdown) == (87, -2)


def test_what_is_read_of_nvml_is_asked_in_a_pass(h100: Scenario) -> None:
    host = Listening({**answers_of(h100), **BARE})
    read(host)
    by_link = tuple(f"{FIELDS}({number}" for number in inquiry.LINK_FIELDS)
    one_by_one = (*inquiry.LINK, *(name for name, _ in inquiry.PEER), *by_link)
    assert {key for key in host.asked - snapshot_keys() if not key.startswith(one_by_one)} == {"spent"}


# Through a library.


def test_what_a_library_answers_is_what_is_read(fake_nvml: FakeNvml) -> None:
    scenario = host_of("GB200", 2)
    staged = items(read(replayed(scenario, BARE)))
    whole = gpu.read(fake_nvml(scenario).host(), HOST)
    for key, found in items(decoder_of(Gpus)(msgspec.json.encode(whole))).items():
        assert (found.name, found.uuid, found.power_limit) == (
            staged[key].name, staged[key].uuid, staged[key].power_limit,
        )  # fmt: skip
        assert (found.platform, found.clocks.max, found.inforom.img) == (
            staged[key].platform, staged[key].clocks.max, staged[key].inforom.img,
        )  # fmt: skip
        assert seen_or(found.query_ms, -1) >= 0


def test_a_sample_of_a_library_moves_with_it(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("H100 SXM"))
    host = fake.host()
    assert items(sample(host, HOST))[ONE].busy == 0
    fake.put(ONE, "nvmlDeviceGetUtilizationRates", {"gpu": 99, "memory": 60})
    fake.put(ONE, "nvmlDeviceGetCurrentClocksEventReasons", 0x4)
    host.begin_moment()
    found = items(sample(host, HOST))[ONE]
    assert (found.busy, found.clocks_event_reasons.active) == (1, "sw_power_cap")
    for pid in fake.processes():
        os.kill(pid, signal.SIGTERM)
    host.begin_moment()
    assert code(sample(host, HOST).gpus) == "not_read"


def test_a_driver_that_no_longer_reports_application_clocks_retires_them(fake_nvml: FakeNvml) -> None:
    driver = "595.91.07"
    fake = fake_nvml(host_of("L40S", 1, driver), lacks(driver))
    assert code(items(gpu.read(fake.host(), HOST))[ONE].clocks.applications.graphics) == "retired"
