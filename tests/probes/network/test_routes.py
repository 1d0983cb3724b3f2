"""Which card is used where several could be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.testing import Replay
from probes.kit.facts import Gap
from probes.kit.routes import routes
from probes.network.ipv4 import read_routes
from tests.probes.network.machine import ROUTE, code

SHARED = ("enp1 enp2",)


def told(table: str, table6: str = "") -> Any:
    tables = {"/proc/net/route": table, "/proc/net/ipv6_route": table6}
    return routes(lambda path: tables[path])


def row6(name: str, network: str, length: str, flags: str = "00000001", metric: str = "00000100") -> str:
    zeros = "0" * 32
    return f"{network.ljust(32, '0')} {length} {zeros} 00 {zeros} {metric} 00000001 00000000 {flags} {name}\n"


def row(name: str, network: str, mask: str, flags: str = "0001", metric: int = 0) -> str:
    return f"{name}\t{network}\t00000000\t{flags}\t0\t0\t{metric}\t{mask}\t0\t0\t0\n"


def test_cards_of_one_subnet_are_told_together_without_its_address() -> None:
    table = (
        ROUTE
        + "".join(row(name, "0001A8C0", "00FFFFFF") for name in ("enp2", "enp1"))
        + row("mgmt", "0000000A", "000000FF")
    )
    assert told(table) == {"default": (), "shared": SHARED, "shared6": ()}


def test_the_default_route_with_the_least_metric_counts() -> None:
    table = ROUTE + row("slow", "00000000", "00000000", "0003", 600) + row("fast", "00000000", "00000000", "0003", 100)
    assert told(table)["default"] == ("fast",)


@pytest.mark.parametrize(
    "rows",
    [
        row("a", "0001A8C0", "00FFFFFF") + row("b", "0001A8C0", "0000FFFF"),  # another mask
        row("a", "0001A8C0", "00FFFFFF") + row("b", "0001A8C0", "00FFFFFF", "0003"),  # by a gateway
        row("a", "0101A8C0", "FFFFFFFF") + row("b", "0101A8C0", "FFFFFFFF"),  # to one host
        row("a", "0001A8C0", "00FFFFFF") + row("b", "0001A8C0", "00FFFFFF", "0000"),  # not up
        row("a", "0001A8C0", "00FFFFFF") * 2,
        "",
    ],
)
def test_what_is_no_shared_subnet_is_not_told_as_one(rows: str) -> None:
    assert told(ROUTE + rows)["shared"] == ()


def test_subnets_of_ipv6_are_told_but_for_those_that_every_link_has() -> None:
    shared = row6("enp1", "20010db80001", "40") + row6("enp2", "20010db80001", "40")
    every = (
        row6("enp1", "fe80", "40") + row6("enp2", "fe80", "40") + row6("enp1", "ff", "08") + row6("enp2", "ff", "08")
    )
    own = row6("enp1", "20010db80001", "80", "80200001") + row6("enp2", "20010db80001", "80", "80200001")
    assert told(ROUTE, shared + every + own)["shared6"] == SHARED
    assert told(ROUTE, every + own)["shared6"] == ()


def test_the_default_route_of_ipv6_counts_where_ipv4_has_none() -> None:
    refused = row6("lo", "", "00", "00200200", "ffffffff")
    six = row6("enp1", "", "00", "00000003", "00000400") + row6("enp2", "", "00", "00000003", "00000040") + refused
    assert told(ROUTE, six)["default"] == ("enp2",)
    assert told(ROUTE + row("eth0", "00000000", "00000000", "0003"), six)["default"] == ("eth0",)
    assert told(ROUTE, refused)["default"] == ()


def test_a_kernel_without_ipv6_is_told_by_its_other_table() -> None:
    tables = {"/proc/net/route": ROUTE + row("eth0", "00000000", "00000000", "0003")}
    found: Any = routes(lambda path: tables.get(path, Gap("absent")))
    assert (found["default"], found["shared6"]) == (("eth0",), ())


def of(shared: tuple[str, ...], rules: object, shared6: tuple[str, ...] = ()) -> object:
    answer = {"default": (), "shared": shared, "shared6": shared6}
    return read_routes(Replay({("routes", ""): answer, ("netlink", "rules "): rules})).unsteered_subnets


def test_a_shared_subnet_without_rules_by_source_is_told() -> None:
    assert of(SHARED, {"ipv4": (1, 0), "ipv6": (0, 0)}) == SHARED
    assert of(SHARED, {"ipv4": (2, 2), "ipv6": (0, 0)}) == ()
    assert of(SHARED, {"ipv4": (2, 2), "ipv6": (0, 0)}, SHARED) == SHARED
    assert of((), {"ipv4": (0, 0), "ipv6": (2, 2)}, SHARED) == ()


def test_where_rules_cannot_be_asked_for_nothing_is_told_of_a_shared_subnet() -> None:
    denied = Gap("denied", "no")
    assert of(SHARED, denied) == denied
    assert of((), denied) == ()


def test_a_host_without_a_default_route_says_so() -> None:
    assert (
        code(read_routes(Replay({("routes", ""): {"default": (), "shared": (), "shared6": ()}})).default_interface)
        == "absent"
    )


@given(st.text() | st.text(alphabet="0123456789ABCDEF \t\n"), st.text(alphabet="0123456789abcdef \n"))
def test_any_tables_are_told_or_a_gap(table: str, table6: str) -> None:
    found = told(table, table6)
    assert isinstance(found, Gap) or found.keys() == {"default", "shared", "shared6"}
