"""A GPU's memory: how much, how healthy, and what its errors are counted as."""

from typing import Any

import pytest

from probes.gpu.ecc import read_ecc
from probes.gpu.health import RECOVERY_ACTIONS, read_health
from probes.gpu.memory import Memory, read_memory, sample_memory
from probes.kit.facts import NOT_READ, Gap
from tests.nvml.fake import FakeNvml
from tests.probes.asked import GPU, field, gpu, received

SRAM = {
    "aggregateUncParity": 1, "aggregateUncSecDed": 2, "aggregateCor": 3, "volatileUncParity": 4, "volatileUncSecDed": 5,
    "volatileCor": 6, "aggregateUncBucketL2": 7, "aggregateUncBucketSm": 8, "aggregateUncBucketPcie": 9,
    "aggregateUncBucketMcu": 10, "aggregateUncBucketOther": 11, "bThresholdExceeded": 1,
}  # fmt: skip


def test_errors_are_told_by_lifetime_kind_and_place() -> None:
    total = {f"nvmlDeviceGetTotalEccErrors({kind},{life})": 10 * kind + life for kind in (0, 1) for life in (0, 1)}
    placed = {
        f"nvmlDeviceGetMemoryErrorCounter({kind},{life},{place})": 100 * kind + 10 * life + place
        for kind in (0, 1)
        for life in (0, 1)
        for place in (2, 7)
    }
    ecc = received(read_ecc(gpu({**total, **placed, "nvmlDeviceGetSramEccErrorStatus": SRAM})))
    assert (ecc.volatile.corrected, ecc.volatile.uncorrected) == (0, 10)
    assert (ecc.aggregate.corrected, ecc.aggregate.uncorrected) == (1, 11)
    assert (ecc.volatile.dram_corrected, ecc.volatile.sram_uncorrected) == (2, 107)
    assert (ecc.aggregate.dram_uncorrected, ecc.aggregate.sram_corrected) == (112, 17)
    assert (ecc.volatile.sram_uncorrected_parity, ecc.aggregate.sram_uncorrected_secded) == (4, 2)
    assert (ecc.sram_sources.l2, ecc.sram_sources.microcontroller, ecc.sram_sources.pcie) == (7, 10, 9)
    assert ecc.sram_threshold_exceeded == "yes"


def test_a_mode_that_comes_with_the_next_reset_stands_beside_the_present_one() -> None:
    answers = {"nvmlDeviceGetEccMode": [1, 0], "nvmlDeviceGetDefaultEccMode": [1]}
    ecc = received(read_ecc(gpu(answers)))
    assert (ecc.mode_current, ecc.mode_pending, ecc.mode_default) == ("enabled", "disabled", "enabled")


def test_a_board_without_ecc_has_gaps_and_no_zeros() -> None:
    calls = ("nvmlDeviceGetEccMode", "nvmlDeviceGetTotalEccErrors(0,0)", "nvmlDeviceGetSramEccErrorStatus")
    ecc = received(read_ecc(gpu(dict.fromkeys(calls, Gap("unsupported")))))
    assert ecc.mode_current == ecc.volatile.corrected == ecc.sram_sources.sm == Gap("unsupported")


def test_a_count_that_is_all_ones_is_none() -> None:
    ecc = read_ecc(gpu({"nvmlDeviceGetSramEccErrorStatus": {**SRAM, "volatileUncParity": 0xFFFFFFFFFFFFFFFF}}))
    assert ecc.volatile.sram_uncorrected_parity == Gap("unsupported")


def test_rows_to_be_replaced_are_pending_until_a_reset() -> None:
    answers: dict[str, Any] = {
        "nvmlDeviceGetRemappedRows": [3, 1, 1, 0],
        "nvmlDeviceGetRowRemapperHistogram": {"max": 636, "high": 3, "partial": 1, "low": 0, "none": 0},
        field(301): 2,
        field(302): 1,
    }
    rows = received(read_health(gpu(answers))).remapped_rows
    assert (rows.correctable, rows.uncorrectable, rows.pending, rows.failure) == (3, 1, "yes", "no")
    assert (rows.correctable_inactive, rows.uncorrectable_inactive) == (2, 1)
    assert (rows.histogram.max, rows.histogram.high, rows.histogram.none) == (636, 3, 0)


def test_older_boards_give_up_pages_instead() -> None:
    answers = {field(29): 2, field(30): 1, field(92): 1, field(93): 0, "nvmlDeviceGetRetiredPagesPendingStatus": 1}
    pages = received(read_health(gpu(answers))).retired_pages
    assert (pages.single_bit_ecc, pages.double_bit) == (2, 1)
    assert (pages.pending, pages.pending_single_bit, pages.pending_double_bit) == ("yes", "yes", "no")


@pytest.mark.parametrize(("number", "word"), [*RECOVERY_ACTIONS.items(), (9, "unknown (9)")])
def test_what_the_driver_asks_for_is_a_word(number: int, word: str) -> None:
    assert received(read_health(gpu({field(230): number}))).recovery_action == word


def test_repairs_that_wait_for_a_reset_are_told_apart() -> None:
    health = received(read_health(gpu({"nvmlDeviceGetRepairStatus": [0, 1]})))
    assert (health.channel_repair_pending, health.tpc_repair_pending) == ("no", "yes")


@pytest.mark.parametrize(("flag", "word"), [(0, "no"), (1, "yes")])
def test_the_flag_of_unrepairable_memory_is_read_where_the_library_wrote_it(
    fake_nvml: FakeNvml, flag: int, word: str
) -> None:
    fake = fake_nvml({"system": {}, "devices": {GPU: {"nvmlDeviceGetUnrepairableMemoryFlag_v1": flag}}})
    assert fake.host().nvml(GPU, "nvmlDeviceGetUnrepairableMemoryFlag_v1") == flag
    assert read_health(gpu({"nvmlDeviceGetUnrepairableMemoryFlag_v1": flag})).unrepairable_memory == word


MEMORY = {"total": 85520809984, "reserved": 564396032, "free": 84886355968, "used": 70057984}


def test_memory_is_told_with_what_the_driver_keeps_and_the_window_that_others_have() -> None:
    bar1 = {"bar1Total": 256 << 20, "bar1Used": 1 << 20, "bar1Free": 255 << 20}
    memory = received(read_memory(gpu({"nvmlDeviceGetMemoryInfo": MEMORY, "nvmlDeviceGetBAR1MemoryInfo": bar1})))
    assert (memory.total, memory.reserved, memory.used) == (85520809984, 564396032, 70057984)
    assert (memory.bar1_total, memory.bar1_used) == (256 << 20, 1 << 20)


def test_a_driver_that_does_not_tell_what_it_keeps_has_a_gap_there_alone() -> None:
    first_version = {name: value for name, value in MEMORY.items() if name != "reserved"}
    memory = received(read_memory(gpu({"nvmlDeviceGetMemoryInfo": first_version})))
    assert memory.total == 85520809984
    assert memory.reserved == Gap("unsupported")


def test_memory_that_gpu_and_cpu_share_is_not_nvmls_to_tell() -> None:
    memory = received(read_memory(gpu({"nvmlDeviceGetMemoryInfo": Gap("unsupported")})))
    assert memory.total == memory.used == Gap("unsupported")


def test_a_sample_holds_what_is_used_and_nothing_that_it_did_not_ask() -> None:
    memory = sample_memory(gpu({"nvmlDeviceGetMemoryInfo": MEMORY}))
    assert (memory.used, memory.free) == (70057984, 84886355968)
    assert memory.total is memory.bar1_total is NOT_READ


def test_a_driver_that_counts_what_it_reserves_otherwise_brings_another_total() -> None:
    assert "driver/nvml/driver_version" in Memory.__facts__["total"].follows
