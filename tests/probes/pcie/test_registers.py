"""The configuration space of a function: whatever stands there, what is told of it is what it says or a gap."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.pci_config import PciConfig, read_pci_config
from probes.pcie import registers as r
from tests.probes.pcie.bus import LOWER_PORT, Link, acs, space

ONE = space(
    LOWER_PORT, Link(3, 8, 4, 16), 0x2937, 2, ats=b"\0\0\0\x80", acs=acs(0x5F, 0x1D), rebar=b"\xf0\xff\x1f\0\x21"
)
FIELDS = [value for value in vars(r).values() if isinstance(value, r.Field)]


def told(octets: bytes) -> dict[r.Field, object]:
    registers = read_pci_config(octets)
    return {field: r.field(registers, field) for field in FIELDS}


def test_each_field_is_where_it_should_be() -> None:
    one = read_pci_config(ONE)
    assert (r.field(one, r.LINK_SPEED), r.field(one, r.LINK_WIDTH)) == (3, 8)
    assert (r.max_generation(one), r.field(one, r.MAX_LINK_WIDTH)) == (4, 16)
    assert (r.aspm(one, r.ASPM_CONTROL), r.aspm(one, r.ASPM_SUPPORTED)) == ("L1", "L1")
    assert (r.size(one, r.MAX_PAYLOAD), r.size(one, r.MAX_READ_REQUEST)) == (256, 512)
    assert r.acs(one, r.ACS_CONTROL) == ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")


@given(st.integers(64, 4096))
def test_of_a_space_that_ends_early_each_field_is_as_in_the_whole_or_a_gap(size: int) -> None:
    whole, part = told(ONE), told(ONE[:size])
    assert {
        field: part[field] for field in part if not isinstance(part[field], Gap) and part[field] != whole[field]
    } == {}


@given(st.binary(min_size=64, max_size=4096))
def test_any_bytes_are_told_or_are_a_gap(octets: bytes) -> None:
    registers = read_pci_config(octets)
    assert all(isinstance(r.field(registers, field), int | Gap) for field in FIELDS)
    assert isinstance(r.size(registers, r.MAX_PAYLOAD), int | Gap)
    r.bar_sizes(registers)


@given(st.dictionaries(st.integers(0, 0x3FF), st.binary(min_size=4, max_size=4), max_size=40))
def test_a_space_with_any_words_overwritten_is_read_to_an_end(words: dict[int, bytes]) -> None:
    octets = bytearray(ONE)
    for at, word in words.items():
        octets[4 * at : 4 * at + 4] = word
    assert all(isinstance(value, int | Gap) for value in told(bytes(octets)).values())


def test_a_list_that_leads_into_itself_has_an_end_and_what_was_on_the_way() -> None:
    octets = bytearray(ONE)
    octets[0x79] = 0x60  # from the second capability back to the first
    octets[0x180:0x184] = (0x0D | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    found = read_pci_config(bytes(octets))
    assert isinstance(found, PciConfig)
    assert found.damaged
    assert r.field(found, r.LINK_WIDTH) == 8
    missing = r.field(found, r.PASID)
    assert isinstance(missing, Gap)
    assert missing.code == "failed"


@pytest.mark.parametrize("pointer", [0x04, 0x3C, 0x20])
def test_a_list_that_leads_into_the_header_is_damaged(pointer: int) -> None:
    octets = bytearray(ONE)
    octets[0x34] = pointer
    found = read_pci_config(bytes(octets))
    assert isinstance(found, PciConfig)
    assert found.damaged


def test_a_device_of_version_1_lists_no_speeds_and_what_stands_there_is_no_list() -> None:
    octets = bytearray(ONE)
    octets[0x7A] = octets[0x7A] & 0xF0 | 1
    assert r.max_generation(read_pci_config(bytes(octets))) == 4
    octets[0x78 + 0x2C] = 0xFE
    assert r.max_generation(read_pci_config(bytes(octets))) == 4


@pytest.mark.parametrize(
    ("octets", "code"),
    [
        (ONE[:64], "denied"),
        (ONE[:128], "denied"),
        (ONE[:256], "unsupported"),
        (b"\xff" * 64, "lost"),
        (b"\xff" * 4096, "lost"),
        (bytes(4096), "unsupported"),
    ],
)
def test_why_a_capability_is_not_told(octets: bytes, code: str) -> None:
    seen = r.field(read_pci_config(octets), r.ACS_CONTROL)
    assert isinstance(seen, Gap)
    assert seen.code == code


@pytest.mark.parametrize("content", [b"", b"\x86", b"\0" * 63])
def test_a_file_that_is_no_configuration_space_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config").write_bytes(content)
    seen = Host().pci_config(str(tmp_path / "config"))
    assert isinstance(seen, Gap)
    assert seen.code == "failed"


def test_reserved_sizes_are_no_sizes() -> None:
    seen = r.size(read_pci_config(space(control=0x7000)), r.MAX_READ_REQUEST)
    assert isinstance(seen, Gap)


def test_what_was_recorded_of_a_newer_release_is_read() -> None:
    found = PciConfig("extended", found={"express": "", "newer": "00"})
    assert isinstance(r.field(found, r.LINK_SPEED), Gap)
