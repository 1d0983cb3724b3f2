"""What GPUs do under load counts, what they do at rest does not; what holds them back is named, and how long it did."""

import os
import signal
from typing import Any

import pytest

from tests.e2e.gpu_host import ENFORCED, ONE, OTHER, POWER_LIMIT, GpuHost, MakeHost, Told
from tests.nvml.products import PRODUCTS
from tests.nvml.profiles import host_of
from tests.nvml.scenario import error

REASONS = "nvmlDeviceGetCurrentClocksEventReasons"
UTILIZATION = "nvmlDeviceGetUtilizationRates"
GRAPHICS, SM = "nvmlDeviceGetClockInfo(0)", "nvmlDeviceGetClockInfo(1)"
SW_POWER_CAP, HW_SLOWDOWN, HW_THERMAL, HW_POWER_BRAKE = 0x04, 0x08, 0x40, 0x80
HELD_BY_CAP, HELD_BY_HEAT, HELD_BY_BRAKE = (f"nvmlDeviceGetFieldValues({field})" for field in (74, 270, 271))  # ns
LONG_NS = 60_000_000
PRODUCT = "H100 SXM"


def at_work(product: str = PRODUCT) -> dict[str, Any]:
    """Answers of a GPU that works at full speed."""
    graphics, memory, video = PRODUCTS[product].most
    return {
        UTILIZATION: {"gpu": 95, "memory": 60}, REASONS: 0, "nvmlDeviceGetPowerUsage": 520_000,
        "nvmlDeviceGetPerformanceState": 0, GRAPHICS: graphics, SM: graphics,
        "nvmlDeviceGetClockInfo(2)": memory, "nvmlDeviceGetClockInfo(3)": video,
    }  # fmt: skip


def at_rest(host: GpuHost, slot: str) -> dict[str, Any]:
    idle = host_of(PRODUCT, len(host.nvml.devices))["devices"][slot]
    return {key: idle[key] for key in at_work()}


def working(host: GpuHost) -> GpuHost:
    host.put(at_work())
    return host


def during(told: Told) -> dict[str, tuple[str, str]]:
    """Of GPUs: fact -> on how many, what is said."""
    return {d["fact"]: (d["on"], d["says"]) for d in told.json["during"] if d["fact"].startswith("gpu/")}


def not_known(told: Told) -> dict[str, str]:
    return {unknown["fact"]: unknown["says"] for unknown in told.json["not_known"]}


@pytest.mark.long
def test_locked_clocks_are_suspected_on_all_gpus_that_nothing_else_holds(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 8))
    host.run("a")
    host.put({GRAPHICS: 1200, SM: 1200})
    host.run("b")
    told = host.diff("a", "b")
    assert told.causes == {"gpu/*/inferred/clock_lock": ("8/8", "no sign", "suspected")}
    assert told.others == {}
    assert during(told) == {
        "gpu/*/clocks/graphics": ("8/8", "median 1980 -> 1200 MHz"),
        "gpu/*/clocks/sm": ("8/8", "median 1980 -> 1200 MHz"),
    }
    assert told.line.startswith("gpu/*/inferred/clock_lock no sign -> suspected on 8/8")
    assert "nvidia-smi -rgc" in told.line


@pytest.mark.long
def test_a_gpu_that_heat_slows_down_is_said_first_with_how_long_it_was(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 2))
    host.run("a")
    host.put({REASONS: HW_SLOWDOWN | HW_THERMAL, GRAPHICS: 990, SM: 990, "nvmlDeviceGetTemperatureV(0)": 88}, ONE)
    host.run("b", meanwhile=lambda: host.put({HELD_BY_HEAT: LONG_NS}, ONE))
    told = host.diff("a", "b")
    counter = f"gpu/{ONE}/clocks_event_reasons_counters/hw_thermal_slowdown"
    assert list(told.causes) == [counter]
    assert told.json["headline"].startswith(f"{counter} 0 -> ")
    [suspect] = told.json["suspects"]
    assert (suspect["before"], suspect["unit"], suspect["on"]) == (0, "%", "1/2")
    assert 5 < suspect["after"] < 30
    assert host.samples("b")[counter]["grown"] == LONG_NS // 1000
    assert told.others == {}
    assert during(told)[f"gpu/{ONE}/clocks_event_reasons/hw_thermal_slowdown"] == (
        "1/2", "in 0 -> 100 % of the samples",
    )  # fmt: skip
    assert during(told)[f"gpu/{ONE}/temperature/gpu"][0] == "1/2"
    assert "suspected" not in told.line


@pytest.mark.long
def test_a_power_brake_tells_that_the_limit_it_lowers_was_reached(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 2))
    host.run("a")
    host.put({REASONS: HW_SLOWDOWN | HW_POWER_BRAKE, GRAPHICS: 990, SM: 990, ENFORCED: 350_000})
    host.run("b", meanwhile=lambda: host.put({HELD_BY_BRAKE: LONG_NS}))
    told = host.diff("a", "b")
    assert told.causes == {"gpu/*/enforced_power_limit": ("2/2", 700_000, 350_000)}
    assert told.others == {"gpu/*/clocks_event_reasons_counters/hw_power_brake_slowdown": "grew"}
    [suspect] = told.json["suspects"]
    assert suspect["likelihood"] == "likely"
    assert {evidence["fact"] for evidence in suspect["evidence"]} >= set(told.others)
    assert during(told)["gpu/*/clocks_event_reasons/hw_power_brake_slowdown"][0] == "2/2"


@pytest.mark.long
def test_a_power_brake_that_lowers_no_limit_is_the_suspect(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 2))
    host.run("a")
    host.put({REASONS: HW_SLOWDOWN | HW_POWER_BRAKE, GRAPHICS: 990, SM: 990})
    host.run("b", meanwhile=lambda: host.put({HELD_BY_BRAKE: LONG_NS}))
    told = host.diff("a", "b")
    assert list(told.causes) == ["gpu/*/clocks_event_reasons_counters/hw_power_brake_slowdown"]
    assert told.json["suspects"][0]["on"] == "2/2"


def test_a_lowered_power_limit_counts_where_the_draw_reaches_it(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 8))
    host.run("a")
    host.put({POWER_LIMIT: 550_000, ENFORCED: 550_000})
    host.run("unreached")
    host.put({"nvmlDeviceGetPowerUsage": 549_000, REASONS: SW_POWER_CAP, GRAPHICS: 1500, SM: 1500})
    host.run("reached", meanwhile=lambda: host.put({HELD_BY_CAP: LONG_NS}))
    [unreached] = host.diff("a", "unreached").json["suspects"]
    assert (unreached["likelihood"], unreached["evidence"]) == ("unlikely", [])
    assert "in neither run was it seen that" in unreached["against"][0]["says"]
    told = host.diff("a", "reached")
    assert told.causes == {"gpu/*/power_limit": ("8/8", 700_000, 550_000)}
    [reached] = told.json["suspects"]
    assert (reached["likelihood"], reached["against"]) == ("likely", [])
    assert reached["evidence"][0]["fact"] == "gpu/*/clocks_event_reasons_counters/sw_power_cap"
    assert "gpu/*/enforced_power_limit" in told.with_it
    assert during(told)["gpu/*/clocks_event_reasons/sw_power_cap"] == ("8/8", "in 0 -> 100 % of the samples")
    assert reached["restore"].split(" # ")[0] == "nvidia-smi -pl 700"  # without -i it is about all GPUs


@pytest.mark.long
def test_clocks_count_only_while_the_gpu_works_and_what_was_left_out_is_said(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 2))
    host.run("a")
    host.put(at_rest(host, OTHER), OTHER)
    host.run("b", meanwhile=lambda: host.put(at_rest(host, ONE), ONE))
    clocks = {slot: host.samples("b")[f"gpu/{slot}/clocks/sm"] for slot in (ONE, OTHER)}
    assert clocks[ONE]["quantiles"] == [1980] * 7
    assert min(clocks[ONE]["count"], clocks[ONE]["left_out"]) > 0
    assert clocks[OTHER]["type"] == "uncounted"
    shown = host.cli("show", "b", "--facts", "gpu/*/clocks/sm").stdout
    assert f"0 samples, {clocks[OTHER]['left_out']} left out: not gpu busy" in shown
    told = host.diff("a", "b")
    assert told.causes == {}
    assert f"gpu/{OTHER}/clocks/sm" not in during(told)
    assert f"B: gpu busy in 0 of {clocks[OTHER]['left_out']} samples" in not_known(told)[f"gpu/{OTHER}/clocks/sm"]
    assert "A seen, B too few samples" in told.line


@pytest.mark.long
def test_where_mig_hides_whether_a_gpu_works_nothing_is_known_of_its_clocks(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 1))
    host.put({"nvmlDeviceGetMigMode": [1, 1], UTILIZATION: error(3)})
    host.run("a")
    host.put({GRAPHICS: 1200, SM: 1200})
    host.run("b")
    told = host.diff("a", "b")
    assert (told.causes, during(told), told.others) == ({}, {}, {})
    assert not_known(told)[f"gpu/{ONE}/clocks/sm"].startswith("A: gpu busy in 0 of ")
    assert not_known(told)[f"gpu/{ONE}/inferred/clock_lock"] == "this part or kernel has no such value"


@pytest.mark.long
def test_a_release_while_a_run_lasts_ends_its_sampling_of_gpus_and_nothing_else(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 1))

    def release() -> None:
        [sampler] = host.nvml.processes()
        os.kill(sampler, signal.SIGTERM)

    host.run("a", 0.8, meanwhile=release)
    samples = host.samples("a")
    clock, load = samples[f"gpu/{ONE}/clocks/sm"], samples["pressure/load/load1"]
    assert 0 < clock["count"] < load["count"]
    assert host.nvml.called("nvmlInitWithFlags") + host.nvml.called("nvmlInit_v2") == 3  # before, meanwhile, after


def test_gpus_that_one_run_was_told_to_leave_alone_are_not_known(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 2))
    host.run("a")
    library = host.cli.env["FINGERPRINT_NVML"]
    host.cli.env["FINGERPRINT_NVML"] = "off"
    host.run("b")
    host.cli.env["FINGERPRINT_NVML"] = library
    told = host.diff("a", "b")
    assert (told.causes, told.others) == ({}, {})
    assert "gpu" in not_known(told)


@pytest.mark.long
def test_one_of_sixteen_gpus_is_named(gpu_host: MakeHost) -> None:
    host = working(gpu_host(PRODUCT, 16))
    host.run("a")
    host.put({GRAPHICS: 1200, SM: 1200}, OTHER)
    host.run("b")
    told = host.diff("a", "b")
    assert told.causes == {f"gpu/{OTHER}/inferred/clock_lock": ("1/16", "no sign", "suspected")}
    assert during(told)[f"gpu/{OTHER}/clocks/sm"] == ("1/16", "median 1980 -> 1200 MHz")
