"""Which card is used where several could be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.testing import Replay
from probes.kit.facts import Gap
from probes.kit.routes import routes_in
from probes.network.ipv4 import read_routes
from tests.probes.network.machine import ROUTE, code

SHARED = ("enp1 enp2",)


def row(name: str, network: str, mask: str, flags: str = "0001", metric: int = 0) -> str:
    return f"{name}\t{network}\t00000000\t{flags}\t0\t0\t{metric}\t{mask}\t0\t0\t0\n"


def test_cards_of_one_subnet_are_told_together_without_its_address() -> None:
    table = (
        ROUTE
        + "".join(row(name, "0001A8C0", "00FFFFFF") for name in ("enp2", "enp1"))
        + row("mgmt", "0000000A", "000000FF")
    )
    assert routes_in(table) == {"default": (), "shared": SHARED}


def test_the_default_route_with_the_least_metric_counts() -> None:
    table = ROUTE + row("slow", "00000000", "00000000", "0003", 600) + row("fast", "00000000", "00000000", "0003", 100)
    assert routes_in(table)["default"] == ("fast",)


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
    assert routes_in(ROUTE + rows)["shared"] == ()


def of(shared: tuple[str, ...], rules: object) -> object:
    host = Replay({("routes", ""): {"default": (), "shared": shared}, ("netlink", "rules "): rules})
    return read_routes(host).unsteered_subnets


def test_a_shared_subnet_without_rules_by_source_is_told() -> None:
    assert of(SHARED, {"ipv4": (1, 0), "ipv6": (0, 0)}) == SHARED
    assert of(SHARED, {"ipv4": (2, 2), "ipv6": (0, 0)}) == ()


def test_where_rules_cannot_be_asked_for_nothing_is_told_of_a_shared_subnet() -> None:
    denied = Gap("denied", "no")
    assert of(SHARED, denied) == denied
    assert of((), denied) == ()


def test_a_host_without_a_default_route_says_so() -> None:
    assert code(read_routes(Replay({("routes", ""): {"default": (), "shared": ()}})).default_interface) == "absent"


@given(st.text() | st.text(alphabet="0123456789ABCDEF \t\n"))
def test_any_table_is_read_or_refused(text: str) -> None:
    try:
        found = routes_in(text)
    except ValueError:
        return
    assert found.keys() == {"default", "shared"}
