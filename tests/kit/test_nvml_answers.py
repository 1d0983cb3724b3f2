"""What NVML answers is what a host answers, through the real nvidia-ml-py and the real child; nothing is made up."""

import json
from typing import Any

import pytest

from probes.kit.facts import Gap, seen_or
from probes.kit.nvml import inquiry
from probes.kit.nvml.inquiry import FIELDS, key_of
from tests.kit.nvml_staged import ONE, TWO, differing
from tests.nvml.fake import FakeNvml, asked, calls_of_the_inquiry, fail_to_attach, lose
from tests.nvml.products import PRODUCTS
from tests.nvml.profiles import host_of
from tests.nvml.scenario import Scenario, error, pci_info, rows_of, scenario_of

MIG = f"{ONE}/mig/0"


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_answers_as_it_was_staged(fake_nvml: FakeNvml, product: str) -> None:
    fake = fake_nvml(host_of(product, 2))

    assert differing(fake, fake.host()) == []


@pytest.mark.parametrize("driver", ["535.183.01", "550.163.01", "570.86.15", "580.65.06", "595.91.07"])
def test_every_driver_answers_what_it_knows(fake_nvml: FakeNvml, driver: str) -> None:
    fake = fake_nvml(host_of("H100 SXM", 2, driver))

    assert differing(fake, fake.host()) == []


def test_every_call_of_the_inquiry_is_answered(fake_nvml: FakeNvml, everything: Scenario) -> None:
    fake = fake_nvml(everything)

    assert set(calls_of_the_inquiry(TWO)) - fake.scenario["devices"][ONE].keys() == set()
    assert {key_of(*call) for call in inquiry.SYSTEM} == fake.scenario["system"].keys()
    assert differing(fake, fake.host()) == []


def test_sixteen_gpus_are_sixteen(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("L40S", 16))

    assert fake.host().nvml_devices() == tuple(fake.devices)
    assert len(fake.devices) == 16


def test_a_host_without_gpus_has_a_driver(fake_nvml: FakeNvml) -> None:
    host = fake_nvml({"system": {"nvmlSystemGetDriverVersion": "580.65.06"}, "devices": {}}).host()

    assert host.nvml_devices() == ()
    assert host.nvml("", "nvmlSystemGetDriverVersion") == "580.65.06"


def test_what_a_device_does_not_have_is_unsupported_without_words(fake_nvml: FakeNvml) -> None:
    gap = fake_nvml(host_of("T4")).host().nvml(ONE, "nvmlDeviceGetFanSpeed")

    assert gap == Gap("unsupported")
    assert gap.detail == ""


def test_what_a_driver_is_too_old_for_is_unsupported_and_says_so(fake_nvml: FakeNvml) -> None:
    gap = fake_nvml(host_of("T4", 1, "535.183.01")).host().nvml(ONE, "nvmlDeviceGetAddressingMode")

    assert gap == Gap("unsupported")
    assert gap.detail == "nvmlDeviceGetAddressingMode: Function Not Found (NVML 13)"


def test_data_that_is_not_there_for_the_moment_has_not_vanished(fake_nvml: FakeNvml) -> None:
    scenario = host_of("T4")
    scenario["devices"][ONE]["nvmlDeviceGetEccMode"] = error(21)

    assert fake_nvml(scenario).host().nvml(ONE, "nvmlDeviceGetEccMode") == Gap("failed")


def test_what_nobody_asks_is_not_read(fake_nvml: FakeNvml) -> None:
    assert fake_nvml(host_of("T4")).host().nvml(ONE, "nvmlDeviceGetEncoderStats") == Gap("not_read")


def test_a_recorded_host_can_be_staged_again(fake_nvml: FakeNvml) -> None:
    scenario = host_of("RTX 4090", 2, "535.154.05")
    scenario["devices"][ONE]["nvmlDeviceGetFanSpeed"] = error(15)
    first = fake_nvml(scenario)
    told = [
        ("nvml_devices", "", first.host().nvml_devices()),
        ("nvml", "nvmlSystemGetDriverVersion", "535.154.05"),
        *(
            ("nvml", f"{ONE} {key}", asked(first.host(), ONE, key))
            for key in ("nvmlDeviceGetName", "nvmlDeviceGetFanSpeed")
        ),
        ("text", "/proc/driver/nvidia/version", "no row of NVML"),
    ]
    again = scenario_of(told)

    assert again["devices"][ONE] == {"nvmlDeviceGetName": "NVIDIA GeForce RTX 4090", "nvmlDeviceGetFanSpeed": error(15)}
    assert again["system"] == {"nvmlSystemGetDriverVersion": "535.154.05"}
    fake = fake_nvml(again)
    assert differing(fake, fake.host()) == []


def test_rows_and_scenario_tell_the_same() -> None:
    scenario = json.loads(json.dumps(host_of("A10G", 2)))

    assert scenario_of(rows_of(scenario)) == scenario


# Lists, fields, partitions.


@pytest.mark.parametrize("count", [0, 1, 40])
def test_as_many_processes_as_there_are(fake_nvml: FakeNvml, count: int) -> None:
    scenario = host_of("H100 SXM")
    staged = [
        {"pid": 4000 + at, "usedGpuMemory": at << 20, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}
        for at in range(count)
    ]
    scenario["devices"][ONE]["nvmlDeviceGetComputeRunningProcesses_v3"] = staged

    assert fake_nvml(scenario).host().nvml(ONE, "nvmlDeviceGetComputeRunningProcesses_v3") == staged


@pytest.mark.parametrize(
    ("value", "told"),
    [*((n, n) for n in (0, 7, (1 << 32) - 1, 1 << 32, (1 << 64) - 1, -5, -(1 << 40))), ({"type": 6, "value": 9}, 9),
     (11.75, 12)],
)  # fmt: skip
def test_a_field_is_read_by_its_type_and_is_whole(fake_nvml: FakeNvml, value: Any, told: int) -> None:
    scenario = host_of("H100 SXM")
    scenario["devices"][ONE]["nvmlDeviceGetFieldValues(94)"] = value

    answer = fake_nvml(scenario).host().nvml(ONE, FIELDS, 94)
    assert (answer, type(answer)) == (told, int)


@pytest.mark.parametrize("value", [{"type": 7, "value": 9}, {"type": 0, "value": float("inf")}, 1e300])
def test_a_field_of_an_unknown_type_costs_nobody_else(fake_nvml: FakeNvml, value: Any) -> None:
    scenario = host_of("H100 SXM")
    scenario["devices"][ONE]["nvmlDeviceGetFieldValues(94)"] = value
    host = fake_nvml(scenario).host()

    assert host.nvml(ONE, FIELDS, 94) == Gap("failed")
    assert host.nvml(ONE, FIELDS, 95) == 0
    assert host.nvml(ONE, "nvmlDeviceGetNvLinkState", 17) == 1


@pytest.mark.parametrize("count", [(1 << 32) - 1, (1 << 64) - 1, -1])
def test_a_count_of_links_that_cannot_be_is_not_counted_to(fake_nvml: FakeNvml, count: int) -> None:
    scenario = host_of("H100 SXM")
    scenario["devices"][ONE]["nvmlDeviceGetFieldValues(91)"] = count
    fake = fake_nvml(scenario)

    assert isinstance(fake.host().nvml(ONE, "nvmlDeviceGetNvLinkState", 0), Gap)
    assert not fake.called("nvmlDeviceGetNvLinkState")


def test_a_bus_address_that_is_none_leaves_the_other_gpus(fake_nvml: FakeNvml) -> None:
    scenario = host_of("H100 SXM", 2)
    scenario["devices"][ONE]["nvmlDeviceGetPciInfo_v3"] = {**pci_info(ONE), "busId": "?"}

    assert TWO in seen_or(fake_nvml(scenario).host().nvml_devices(), ())


def test_when_all_fields_fail_at_once_each_one_says_so(fake_nvml: FakeNvml) -> None:
    scenario = host_of("H100 SXM")
    scenario["devices"][ONE][FIELDS] = error(16)
    host = fake_nvml(scenario).host()

    assert {code for field in (74, 94, 230, 91) if (code := host.nvml(ONE, FIELDS, field))} == {Gap("lost")}
    assert host.nvml(ONE, "nvmlDeviceGetName") == "NVIDIA H100 80GB HBM3"


def test_partitions_answer_for_themselves(fake_nvml: FakeNvml) -> None:
    scenario = host_of("H100 SXM")
    attributes = "multiprocessorCount sharedCopyEngineCount sharedDecoderCount sharedEncoderCount sharedJpegCount"
    attributes += " sharedOfaCount gpuInstanceSliceCount computeInstanceSliceCount memorySizeMB"
    scenario["devices"][ONE]["nvmlDeviceGetMigMode"] = [1, 1]
    scenario["devices"][MIG] = {
        "nvmlDeviceGetUUID": "MIG-5d3a1c2e-0000-4000-8000-000000000001",
        "nvmlDeviceGetGpuInstanceId": 9,
        "nvmlDeviceGetComputeInstanceId": 0,
        "nvmlDeviceGetAttributes_v2": {name: at + 1 for at, name in enumerate(attributes.split())},
    }
    fake = fake_nvml(scenario)

    assert differing(fake, fake.host()) == []
    assert fake.host().nvml_devices() == (ONE,)
    assert MIG in {call.device for call in fake.calls}


# GPUs that are not there.


def test_a_lost_gpu_is_lost_and_the_other_whole(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("B200", 2))
    lose(fake, ONE)
    host = fake.driven()

    assert {asked(host, ONE, key) for key in ("nvmlDeviceGetName", "nvmlDeviceGetFieldValues(94)")} == {Gap("lost")}
    assert host.nvml(TWO, "nvmlDeviceGetName") == "NVIDIA B200"


@pytest.mark.parametrize(("code", "told"), [(9, Gap("absent")), (12, Gap("not_observable"))])
def test_without_library_or_driver_no_gpu_is_called_absent(fake_nvml: FakeNvml, code: int, told: Gap) -> None:
    scenario = host_of("B200")
    scenario["system"]["nvmlInit"] = error(code)
    host = fake_nvml(scenario).driven()

    devices, answer = host.nvml_devices(), host.nvml(ONE, "nvmlDeviceGetName")
    assert devices == host.nvml("", "nvmlSystemGetDriverVersion") == told
    assert isinstance(devices, Gap)
    assert (answer, answer.detail) == (Gap("not_observable"), devices.detail)


def test_a_gpu_that_falls_off_is_lost_at_the_next_moment(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("B200", 2))
    host = fake.driven()
    before = host.nvml(ONE, "nvmlDeviceGetName")
    fail_to_attach(fake, ONE)

    assert host.nvml(ONE, "nvmlDeviceGetName") == before
    host.begin_moment()
    assert host.nvml_devices() == (TWO,)
    assert host.nvml(ONE, "nvmlDeviceGetName") == Gap("lost")


def test_a_container_sees_the_gpus_that_it_was_given(fake_nvml: FakeNvml) -> None:
    scenario = host_of("H100 SXM", 8)
    for device in list(scenario["devices"])[1:]:
        scenario["devices"][device]["listed"] = False
    fake = fake_nvml(scenario)

    assert fake.host().nvml_devices() == (ONE,)
    assert {call.device for call in fake.calls} == {"", ONE}
