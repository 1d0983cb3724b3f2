"""What netlink tells of routing rules and of priorities."""

import errno
import os
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.netlink import attributes, in_ieee
from tests.kit.test_host import plain_user

PFC, ETS = 2, 1


def attribute(kind: int, body: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(body), kind) + body + bytes(-len(body) % 4)


def pfc(enabled: int, sent: int, received: int) -> bytes:
    """struct ieee_pfc of linux/dcbnl.h; the counts of priority 3."""
    counts = [0, 0, 0, sent, 0, 0, 0, 0, 0, 0, 0, received, 0, 0, 0, 0]
    return struct.pack("=BBBxHxx16Q", 8, enabled, 0, 0, *counts)


def test_rules_are_counted_for_anybody() -> None:
    told = Host().netlink("rules")
    assert not isinstance(told, Gap)
    assert told.keys() == {"ipv4", "ipv6"}
    assert all(0 <= by_source <= rules for rules, by_source in told.values())
    with plain_user():
        assert Host().netlink("rules") == told


def test_a_card_without_priorities_says_so() -> None:
    assert Host().netlink("priorities", "lo") == Gap("unsupported")
    assert isinstance(Host().netlink("priorities", "nothing-of-ours"), Gap)


def test_where_a_sandbox_withholds_netlink_it_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))

    monkeypatch.setattr(socket, "socket", refused)
    seen = Host().netlink("rules")
    assert isinstance(seen, Gap)
    assert (seen.code, "RestrictAddressFamilies=" in seen.detail) == ("denied", True)


def test_priorities_that_pause_are_told_with_their_pauses() -> None:
    told = in_ieee({PFC: pfc(0b1000, sent=5, received=7)})
    assert told["pfc"] == (3,)
    assert (told["pfc_sent"][3], told["pfc_received"][3]) == (5, 7)
    assert (sum(told["pfc_sent"]), sum(told["pfc_received"])) == (5, 7)


def test_the_class_of_each_priority_and_its_share_are_told() -> None:
    shares, kinds, classes = bytes([50, 50, *[0] * 6]), bytes(8), bytes([0, 0, 0, 1, 0, 0, 0, 0])
    told = in_ieee({ETS: bytes(3) + shares + shares + kinds + classes + bytes(24)})
    assert (told["bandwidth"], told["prio_tc"]) == (tuple(shares), tuple(classes))


def test_attributes_are_found_one_behind_the_other_nested_or_not() -> None:
    raw = attribute(1, b"eth0\0") + attribute(0x8000 | 13, attribute(PFC, b"abc"))
    found = attributes(raw)
    assert found[1] == b"eth0\0"
    assert attributes(found[13]) == {PFC: b"abc"}


@given(st.binary(max_size=400))
def test_any_bytes_are_told_as_far_as_they_go(raw: bytes) -> None:
    assert sum(len(body) + 4 for body in attributes(raw).values()) <= len(raw)
    in_ieee({PFC: raw, ETS: raw})
