"""The kernel's log: what concerns devices and their drivers, and nothing that is private."""

import os
from pathlib import Path

import pytest

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.kmsg import CAP, chosen, read_kernel_log

XID = b"4,1227,437812449932,c;NVRM: Xid (PCI:0000:01:00): 43, pid=1814139, name=app, Ch 00000018\n"
COMMAND_LINE = b"6,1,0,-;Command line: ro nvidia-drm.modeset=1 token=secret\n"


def test_records_about_devices_are_kept_with_number_and_time() -> None:
    aer = b"4,1228,437812449999,-;pcieport 0000:00:01.0: AER: Corrected error received\n SUBSYSTEM=pci\n"
    assert chosen([b"5,0,0,-;Linux version 6.8\n", COMMAND_LINE, XID, aer]) == (
        "0,0;\n"
        "1227,437812449932;NVRM: Xid (PCI:0000:01:00): 43, pid=1814139, name=app, Ch 00000018\n"
        "1228,437812449999;pcieport 0000:00:01.0: AER: Corrected error received"
    )


@pytest.mark.parametrize(
    "record",
    [
        COMMAND_LINE,
        b"4,5,0,-;NVRM: GPU Board Serial Number: 3035480789948\n",
        b"6,6,0,-;process[7]: wrote;nvidia here\n",
        b"6,2,0,-;usb 1-1: SerialNumber: 4C530001230\n",
        b'5,3,0,-;audit: type=1400 apparmor="DENIED" name="/usr/bin/nvidia-modprobe"\n',
        b"6,4,0,-;acpi PNP0A08:00: _OSC: platform does not support [SHPCHotplug AER LTR DPC]\n",
    ],
)
def test_what_else_the_kernel_says_stays_on_the_host(record: bytes) -> None:
    assert chosen([record, record]) == f"{record.split(b',')[1].decode()},0;"


def test_the_oldest_records_number_tells_that_others_were_overwritten() -> None:
    assert str(chosen([b"6,4711,99,-;eth0: link up\n", XID])).startswith("4711,99;\n1227,")


def test_a_log_without_end_is_given_up() -> None:
    told = chosen(XID for _ in range(CAP // len(XID) + 2))
    assert isinstance(told, Gap)
    assert told.code == "failed"


def test_a_container_without_the_device_cannot_tell(tmp_path: Path) -> None:
    told = read_kernel_log(str(tmp_path / "kmsg"))
    assert isinstance(told, Gap)
    assert told.code == "not_observable"


def test_a_tree_of_files_has_no_log(tmp_path: Path) -> None:
    assert Host(str(tmp_path)).kernel_log() == Gap("not_read")


@pytest.mark.root
@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="/dev/kmsg may not be read")
def test_this_kernels_log_begins_with_its_oldest_record() -> None:
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    oldest = os.read(fd, 16384).split(b",")[1].decode()
    os.close(fd)
    assert str(Host().kernel_log()).startswith(f"{oldest},")


@pytest.mark.parametrize("content", [None, b"", b"a text\nof lines\n", b"\0" * 64])
def test_what_lies_in_the_place_of_the_log_tells_nothing_and_ends(tmp_path: Path, content: bytes | None) -> None:
    """As /dev/null, or a file, that a container was given for /dev/kmsg: no count of errors is 0 by it."""
    place = Path(os.devnull) if content is None else tmp_path / "kmsg"
    if content is not None:
        place.write_bytes(content)
    assert read_kernel_log(str(place)) == Gap("not_observable")
