"""What becomes of a call that fails: by its return code, behind a wrapper that hides it, under an older driver."""

import re

import pynvml
import pytest

from probes.kit.facts import Gap
from probes.kit.nvml import inquiry
from probes.kit.nvml.errors import GAPS
from tests.kit.nvml_staged import ONE, differing
from tests.nvml.build import header
from tests.nvml.drivers import NEWEST
from tests.nvml.fake import FakeNvml, asked
from tests.nvml.profiles import host_of
from tests.nvml.scenario import Scenario, error

# Return codes.


def _codes() -> dict[str, int]:
    return {name: code for name, code in vars(pynvml).items() if re.fullmatch("NVML_ERROR_[A-Z_]+", name)}


def test_every_return_code_has_its_gap() -> None:
    assert GAPS.keys() == set(_codes().values())


def test_every_return_code_of_the_header_has_its_gap() -> None:
    codes = re.findall(r"^ +NVML_ERROR_\w+ += (\d+)", header().read_text(), re.MULTILINE)

    assert GAPS.keys() == set(map(int, codes))


@pytest.mark.parametrize("name", _codes())
def test_a_getter_that_fails_is_the_gap_of_its_code(fake_nvml: FakeNvml, name: str) -> None:
    scenario = host_of("T4")
    scenario["devices"][ONE]["nvmlDeviceGetPowerUsage"] = error(_codes()[name])
    host = fake_nvml(scenario).host()

    assert host.nvml(ONE, "nvmlDeviceGetPowerUsage") == Gap(GAPS[_codes()[name]])
    assert host.nvml(ONE, "nvmlDeviceGetUtilizationRates") == {"gpu": 0, "memory": 0}


def test_a_code_of_a_newer_nvml_failed_and_is_told(fake_nvml: FakeNvml) -> None:
    scenario = host_of("T4")
    scenario["devices"][ONE]["nvmlDeviceGetPowerUsage"] = error(77)
    gap = fake_nvml(scenario).host().nvml(ONE, "nvmlDeviceGetPowerUsage")

    assert gap == Gap("failed")
    assert "NVML 77" in gap.detail


# What wrappers hide.


@pytest.mark.parametrize(
    "key",
    [
        "nvmlDeviceGetClockOffsets(0,0)",
        "nvmlDeviceGetPowerMizerMode_v1",
        "nvmlDeviceGetUnrepairableMemoryFlag_v1",
    ],
)
def test_a_wrapper_that_swallows_the_code_makes_no_zero_of_it(fake_nvml: FakeNvml, key: str) -> None:
    scenario = host_of("H100 SXM", 1, NEWEST)
    scenario["devices"][ONE][key] = error(3)

    assert asked(fake_nvml(scenario).host(), ONE, key) == Gap("unsupported")


def test_the_settings_of_confidential_computing_are_checked(fake_nvml: FakeNvml) -> None:
    scenario = host_of("H100 SXM")
    scenario["system"]["nvmlSystemGetConfComputeSettings"] = error(4)

    assert fake_nvml(scenario).host().nvml("", "nvmlSystemGetConfComputeSettings") == Gap("denied")


def test_a_struct_with_bytes_that_are_no_text_costs_nobody_else(fake_nvml: FakeNvml) -> None:
    scenario = host_of("GB300", 2)
    scenario["devices"][ONE]["nvmlDeviceGetPlatformInfo"]["ibGuid"] = r"\xff\xfe\x80"
    fake = fake_nvml(scenario)

    assert differing(fake, fake.host()) == []


# Older drivers.


@pytest.mark.parametrize("name", inquiry.FALLBACKS)
def test_a_function_that_a_driver_lacks_is_asked_by_its_older_name(
    fake_nvml: FakeNvml, everything: Scenario, name: str
) -> None:
    everything["devices"][ONE].pop("nvmlDeviceGetPowerState", None)
    fake = fake_nvml(everything, without=[name])
    left_out = {"healthMask", "healthSummary"}  # the older struct has no such fields
    told = {"": fake.scenario["system"], **fake.scenario["devices"]}
    rows = [(device, key) for device in ("", ONE) for key in told[device] if key.partition("(")[0] == name]

    for device, key in rows:
        answer, staged = asked(fake.host(), device, key), told[device][key]
        if name == "nvmlDeviceGetGpuFabricInfoV":
            staged = {field: value for field, value in staged.items() if field not in left_out}
        assert (device, key, answer) == (device, key, staged)
    assert rows


def test_clock_offsets_of_an_older_driver_are_told_by_its_own_functions(fake_nvml: FakeNvml) -> None:
    scenario = host_of("RTX 4090", 1, "550.163.01")
    scenario["devices"][ONE] |= {"nvmlDeviceGetGpcClkVfOffset": 150, "nvmlDeviceGetMemClkVfOffset": error(3)}
    host = fake_nvml(scenario).host()

    assert asked(host, ONE, "nvmlDeviceGetClockOffsets(0,0)") == {"clockOffsetMHz": 150}
    assert asked(host, ONE, "nvmlDeviceGetClockOffsets(2,0)") == Gap("unsupported")


@pytest.mark.parametrize(
    ("driver", "version"), [("535.54.03", 2), ("535.86.10", 2), ("535.98", 3), ("525.85.12", 3), ("580.65.06", 3)]
)
def test_a_driver_that_fills_a_longer_struct_is_not_asked_for_it(
    fake_nvml: FakeNvml, driver: str, version: int
) -> None:
    scenario = host_of("H100 SXM", 1, driver)
    staged = [{"pid": 4000, "usedGpuMemory": 1 << 30, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}]
    names = [f"nvmlDeviceGet{kind}RunningProcesses_v" for kind in ("Compute", "Graphics", "MPSCompute")]
    scenario["devices"][ONE] |= {f"{name}3": staged for name in names}
    fake = fake_nvml(scenario)
    host = fake.host()

    assert [asked(host, ONE, f"{name}3") for name in names] == [staged] * 3
    assert {key for key in (call.key for call in fake.calls) if "RunningProcesses" in key} == {
        f"{name}{version}" for name in names
    }


def test_memory_of_the_older_form_tells_nothing_reserved(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("T4"), without=["nvmlDeviceGetMemoryInfo_v2"])
    told = fake.scenario["devices"][ONE]["nvmlDeviceGetMemoryInfo"]

    assert fake.host().nvml(ONE, "nvmlDeviceGetMemoryInfo") == {
        "total": told["total"], "free": told["free"], "used": told["reserved"],
    }  # fmt: skip


def test_a_struct_newer_than_the_driver_is_asked_in_its_older_form(fake_nvml: FakeNvml) -> None:
    scenario = host_of("H100 SXM")
    del scenario["devices"][ONE]["nvmlDeviceGetGpuFabricInfoV"]["healthSummary"]
    scenario["devices"][ONE]["nvmlDeviceGetPlatformInfo"] = {
        "ibGuid": "", "rackGuid": "", "chassisPhysicalSlotNumber": 3, "computeSlotIndex": 2, "nodeIndex": 1,
        "peerType": 1, "moduleId": 4,
    }  # fmt: skip
    fake = fake_nvml(scenario)

    assert differing(fake, fake.host()) == []


def test_what_passes_by_itself_is_asked_once_more(fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("H100 SXM"))
    [device] = fake.devices
    fake.put(device, "nvmlDeviceGetSerial", error(27))
    fake.put(device, "nvmlDeviceGetBrand", error(999))
    gap = asked(fake.host(), device, "nvmlDeviceGetSerial")
    assert isinstance(gap, Gap)
    assert gap.code == "settling"
    assert (fake.called("nvmlDeviceGetSerial"), fake.called("nvmlDeviceGetBrand")) == (2, 1)
