"""The kernel's log: every form of a line is counted once, on the device that it is about."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from probes.driver.lines import Log, slot
from probes.driver.log import read_devices, read_kernel_log
from probes.kit.facts import Gap, Map
from tests.probes.driver_machine import Machine, code

FELL = "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
GONE = (  # one record, whose ends of lines the kernel escapes
    r"NVRM: The NVIDIA GPU 0000:29:00.0\x0aNVRM: (PCI ID: 10de:2901) installed in this system has\x0a"
    r"NVRM: fallen off the bus and is not responding to commands.\x0a"
)
LOADING = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build"


def log_of(*texts: str) -> Log:
    return Log("\n".join(f"{n},{n * 1_000_000};{text}" for n, text in enumerate(texts)))


def counts(log: Log, field: str) -> dict[str, object]:
    """Device -> what the field holds; of a collection, number -> count."""
    found = {device: getattr(item, field) for device, item in read_devices(log).items.items()}
    return {device: dict(value.items) if isinstance(value, Map) else value for device, value in found.items()}


@pytest.mark.parametrize(
    ("line", "device", "number"),
    [
        (FELL, "0000:17:00.0", "79"),
        ("NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.", "0000:17:00.0", "79"),
        ("NVRM: Xid (0000:03:00): 14, Channel 00000001", "0000:03:00.0", "14"),
        ("NVRM: Xid (PCI:0000:b3:00.0): 79, pid=1234, name=nv-hostengine", "0000:b3:00.0", "79"),
        ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel", "0000:01:00.0", "94"),
        ("NVRM: Xid (PCI:0000:3B:00 GPU-I:01 GPU-CI:02): 13, pid=9, name=a, Graphics", "0000:3b:00.0", "13"),
        ("NVRM: Xid (PCI:0019:01:00): 154, GPU recovery action changed from 0x0 to 0x1", "0019:01:00.0", "154"),
        ("NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked", "0000:10:1c.0", "63"),
    ],
)
def test_an_xid_is_counted_by_device_and_number_in_every_form(line: str, device: str, number: str) -> None:
    assert counts(log_of(line, line), "xid") == {device: {number: 2}}


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid error: xyz, invalid data",
        "NVRM: Xid (invalid): some error",
        "NVRM: Xid",
        "NVRM: GPU at PCI:0000:01:00: GPU-a5620441-7b25-51b7-33fc-8c5b3b23c702",
        "acpi PNP0A08:00: _OSC: platform does not support [SHPCHotplug AER LTR DPC]",
        "nvidia-nvswitch3: open (major=510)",
        "",
    ],
)
def test_what_is_no_error_of_a_device_names_none(line: str) -> None:
    assert read_devices(log_of(line)).items == {}


def test_the_words_of_the_latest_xid_are_kept() -> None:
    log = log_of(FELL, "NVRM: Xid (PCI:0000:17:00): 154, GPU recovery action changed from 0x0 (None) to 0x2")
    assert counts(log, "last_xid") == {"0000:17:00.0": "154, GPU recovery action changed from 0x0 (None) to 0x2"}


def test_an_error_of_a_switch_is_none_of_a_gpu() -> None:
    log = log_of("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate")
    assert counts(log, "sxid") == {"0000:c3:00.0": {"20009": 1}}
    assert counts(log, "xid") == {"0000:c3:00.0": {}}
    assert read_kernel_log(log).sxids == 1


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", "corrected"),
        ("nvidia 0000:00:1c.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer", "corrected"),
        ("igb 0000:00:1c.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction", "nonfatal"),
        ("pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer", "fatal"),
    ],
)
def test_a_pcie_error_is_counted_by_severity_in_old_words_and_new(line: str, field: str) -> None:
    received = "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:00:1c.0"  # the same one, announced
    log = log_of(received, line)
    found = {name: counts(log, f"aer_{name}")["0000:00:1c.0"] for name in ("corrected", "nonfatal", "fatal")}
    assert found == {"corrected": 0, "nonfatal": 0, "fatal": 0, field: 1}
    assert read_kernel_log(log).aer_errors == 1


@pytest.mark.parametrize(
    "lines",
    [
        ("NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.",),
        ("NVRM: GPU at 0000:29:00.0 has fallen off the bus.",),
        (
            "NVRM: The NVIDIA GPU 0000:29:00.0",
            "NVRM: (PCI ID: 10de:2901) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ),
        (GONE,),
    ],
)
def test_a_gpu_that_fell_off_the_bus_is_found_in_one_line_or_in_three(lines: tuple[str, ...]) -> None:
    assert counts(log_of(*lines), "fallen_off_bus") == {"0000:29:00.0": 1}


def test_a_gpu_that_could_not_be_brought_up_is_counted() -> None:
    line = "NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x24:0x72:1568)"
    assert counts(log_of(line, line, line), "init_failed") == {"0000:0a:00.0": 3}


def test_what_concerns_the_whole_host_is_counted_without_a_device() -> None:
    told = read_kernel_log(
        log_of(
            LOADING,
            r"NVRM: API mismatch: the client has the version 570.148.08, but\x0aNVRM: this kernel module has",
            "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
            LOADING,
        )
    )
    assert (told.api_mismatches, told.peermem_errors, told.driver_loads, told.driver_loaded_at) == (1, 1, 2, 3)


def test_whether_the_log_reaches_back_to_the_boot_is_told() -> None:
    assert read_kernel_log(Log(f"0,0;\n7,5;{FELL}")).oldest_record == 0
    late = read_kernel_log(Log(f"4711,9000000;\n4800,9500000;{FELL}"))
    assert (late.oldest_record, late.xids) == (4711, 1)
    assert code(late.driver_loaded_at) == "not_observable"


def test_a_log_that_may_not_be_read_makes_no_healthy_gpu(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.answers["kernel_log", ""] = Gap("denied", "Operation not permitted")
    found = machine.read()
    assert {code(found.kernel_log.xids), code(found.kernel_log.oldest_record), code(found.log)} == {"denied"}


@pytest.mark.parametrize(
    ("written", "kernels"),
    [
        ("0000:17:00", "0000:17:00.0"),
        ("18:00.0", "0000:18:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("10000:01:00.0", "10000:01:00.0"),
    ],
)
def test_a_pci_address_gets_the_kernels_form(written: str, kernels: str) -> None:
    assert slot(written) == kernels


CORPUS = os.environ.get("FINGERPRINT_CORPUS", "")
LOGS = sorted(path for path in Path(CORPUS).rglob("kmsg/*.*") if path.is_file()) if CORPUS else []


@pytest.mark.skipif(not LOGS, reason="FINGERPRINT_CORPUS holds no kernel logs")
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_in_real_logs_as_many_xids_are_found_as_a_plain_search_finds(path: Path) -> None:
    lines = path.read_text(errors="replace").splitlines()
    texts = [line.partition(";")[2] if re.match(r"\d+,\d+,\d+,", line) else line for line in lines]
    plain = Counter(
        match[2] for match in map(re.compile(r"NVRM: Xid \((PCI:)?[0-9a-f]{4}:.*?\): (\d+)").search, texts) if match
    )
    log = log_of(*texts)
    assert Counter(event.what for event in log.xids) == plain
    assert read_kernel_log(log).xids == sum(plain.values())
