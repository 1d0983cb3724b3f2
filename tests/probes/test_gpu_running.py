"""The area `gpu` while work runs: what holds the clocks, whether a GPU is busy, and what can be inferred of a lock."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.gpu import events
from probes.gpu.asking import Device
from probes.gpu.events import BUSY_PERCENT, GPU_IDLE, REASONS, busy, names_of, read_event_counters, read_event_reasons
from probes.gpu.inferred import NO_SIGN, SUSPECTED, read_inferred, sample_inferred
from probes.gpu.machine import Machine
from probes.kit.facts import Gap
from tests.probes.asked import GPU, field, gpu
from tests.probes.gpu_hosts import code


def working(sm: int, reasons: int = 0, percent: int = 97, most: int = 1980, **more: Any) -> Device:
    return gpu(
        {
            "nvmlDeviceGetUtilizationRates": {"gpu": percent, "memory": 40},
            "nvmlDeviceGetCurrentClocksEventReasons": reasons,
            "nvmlDeviceGetClockInfo(1)": sm,
            "nvmlDeviceGetMaxClockInfo(1)": most,
            **more,
        }
    )


@given(st.integers(0, 2**64 - 1))
def test_no_bit_of_a_mask_is_lost_and_none_is_invented(mask: int) -> None:
    bits = {name: bit for bit, name in REASONS.items()}
    assert sum(bits[name] if name in bits else int(name, 16) for name in names_of(mask)) == mask


@pytest.mark.parametrize(("bit", "name"), REASONS.items())
def test_each_reason_is_one_while_it_holds_and_zero_otherwise(bit: int, name: str) -> None:
    section = read_event_reasons(working(1200, bit))
    assert {other for other in REASONS.values() if getattr(section, other)} == {name}
    assert section.active == name


def test_of_a_gpu_that_nothing_holds_the_reason_is_none() -> None:
    assert read_event_reasons(working(1980)).active == "none"


def test_reasons_that_are_not_told_are_no_zeros() -> None:
    section = read_event_reasons(gpu({"nvmlDeviceGetCurrentClocksEventReasons": Gap("unsupported")}))
    assert {code(section.sw_power_cap), code(section.active)} == {"unsupported"}


def test_times_are_told_in_microseconds_as_nvidia_smi_does() -> None:
    assert read_event_counters(gpu({field(74): 7_015_000_123_456})).sw_power_cap == 7_015_000_123


@pytest.mark.parametrize(
    ("percent", "reasons", "told"),
    [
        (BUSY_PERCENT, 0, 1),
        (BUSY_PERCENT - 1, 0, 0),
        (100, 0x4, 1),
        (100, GPU_IDLE, 0),
        (100, Gap("unsupported"), 1),
    ],
)
def test_a_gpu_is_busy_by_its_utilization_unless_it_calls_itself_idle(percent: int, reasons: Any, told: int) -> None:
    assert busy(working(1980, reasons, percent)) == told


def test_under_mig_nobody_knows_whether_a_gpu_is_busy() -> None:
    device = gpu({"nvmlDeviceGetUtilizationRates": Gap("unsupported"), "nvmlDeviceGetCurrentClocksEventReasons": 0})
    assert code(busy(device)) == "unsupported"


@pytest.mark.parametrize(
    ("device", "lock"),
    [
        (working(1980), NO_SIGN),
        (working(1965), NO_SIGN),  # one step below
        (working(1200, 0x4), NO_SIGN),  # the power limit explains it
        (working(1200), SUSPECTED),
        (working(345, GPU_IDLE, 0), NO_SIGN),
        (working(915, 0, 0), SUSPECTED),
    ],
)
def test_a_clock_lock_is_suspected_by_what_no_reason_explains(device: Device, lock: str) -> None:
    found = sample_inferred(device)
    assert found.clock_lock == lock
    assert isinstance(found.clock_lock_ground, str)


@pytest.mark.parametrize(
    ("device", "says"),
    [
        (working(1700), "voltage"),
        (working(345, 0, 5), "neither busy nor idle"),
    ],
)
def test_where_a_lock_cannot_be_told_from_something_else_nothing_is_suspected(device: Device, says: str) -> None:
    lock = sample_inferred(device).clock_lock
    assert isinstance(lock, Gap)
    assert lock.code == "not_observable"
    assert says in lock.detail


@pytest.mark.parametrize(("clock", "lock"), [(2619, NO_SIGN), (2300, NO_SIGN), (1593, SUSPECTED)])
def test_memory_far_below_its_maximum_is_suspected_as_well(clock: int, lock: str) -> None:
    memory = {"nvmlDeviceGetClockInfo(2)": clock, "nvmlDeviceGetMaxClockInfo(2)": 2619}
    assert sample_inferred(working(1980, **memory)).clock_lock == lock


@pytest.mark.parametrize(("performance", "lock"), [(0, SUSPECTED), (2, SUSPECTED), (5, None), (8, None)])
def test_clocks_that_light_work_did_not_raise_are_no_lock(performance: int, lock: str | None) -> None:
    found = sample_inferred(working(600, nvmlDeviceGetPerformanceState=performance)).clock_lock
    assert found == (lock or Gap("not_observable"))


@pytest.mark.parametrize(("mode", "lock"), [(1, SUSPECTED), (0, Gap("not_observable"))])
def test_a_gpu_that_was_started_by_being_asked_is_not_at_rest(mode: int, lock: Any) -> None:
    alone = Machine(contained=False, host_pids=True, daemon_socket=True, daemon=True, at_boot=())
    device = working(1290, percent=0, nvmlDeviceGetPersistenceMode=mode)
    assert read_inferred(device, alone).clock_lock == lock


def test_a_gpu_that_is_gone_tells_nothing_of_a_lock() -> None:
    gone = gpu(dict.fromkeys(("nvmlDeviceGetUtilizationRates", events.CURRENT), Gap("lost")))
    assert code(sample_inferred(gone).clock_lock) == "lost"
    assert gone.key == GPU
