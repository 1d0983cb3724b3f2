"""Real interfaces of a network namespace of its own, held against what ip(8) tells of them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.test_user import SOMEBODY

READ = """
import json, sys
from fingerprint.testing import sections_of
from probes.kit.host import Host
print(json.dumps(sections_of(Host(), ["network"])["network"]))
"""
MOVED = """
import subprocess, sys
from tests.probes.tree import causes, lasting
for command in sys.stdin.read().splitlines():
    before = lasting("network")
    subprocess.run(command, shell=True, check=True)
    print(command, *sorted(causes(before, lasting("network"))), sep="|")
"""
OVERRUN = """
import socket
full = socket.create_server(("127.0.0.1", 0), backlog=0)
clients = [socket.socket() for _ in range(8)]
for client in clients:
    client.setblocking(False)
    client.connect_ex(full.getsockname())
deaf = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
deaf.bind(("127.0.0.1", 0))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for _ in range(99):
        sender.sendto(bytes(1000), deaf.getsockname())
"""
LAID = """
set -e
mount -t sysfs sysfs /sys
ip link set lo up mtu 9000
ip link add left type veth peer name right
ip link add apart type veth peer name other
ip link add join type bridge
ip link add above link right type macvlan mode bridge
ip link set left master join
ip link set left mtu 1400 txqueuelen 77
ip addr add 192.0.2.1/25 dev right
ip addr add 192.0.2.2/25 dev apart
for each in left right apart other above join; do ip link set $each up; done
ip route add default dev right
ip rule add from 198.51.100.7 table 7
ip rule add to 203.0.113.0/24 table 8
"""


def namespaces() -> Iterator[str]:
    """Flags of unshare(1) with which a network may be laid here: as root, and as whoever may be root in his own."""
    has_tools = all(map(shutil.which, ("unshare", "ip", "nstat", "sysctl")))
    for flags in ("", "--user --map-root-user") if has_tools else ():
        made = subprocess.run(
            ["unshare", "--net", "--mount", *flags.split(), "mount", "-t", "sysfs", "sysfs", "/sys"],
            check=False, capture_output=True,
        )  # fmt: skip
        if made.returncode == 0:
            yield flags


NAMESPACES = tuple(namespaces())
pytestmark = pytest.mark.skipif(not NAMESPACES, reason="no network may be laid here")


def inside(script: str, flags: str = "", typed: str = "") -> str:
    """What a shell prints in namespaces of its own."""
    apart = ["unshare", "--net", "--mount", *(flags or NAMESPACES[0]).split()]
    argv = [*apart, "sh", "-c", script, "sh", sys.executable, READ, MOVED]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60, input=typed).stdout


@pytest.fixture(scope="module", params=NAMESPACES)
def told(request: pytest.FixtureRequest) -> Any:
    """The section, and what ip(8) tells."""
    asked = 'for what in "-d -j link" "-j rule"; do ip $what; done; "$1" -c "$2"'
    lines = inside(LAID + asked, request.param).splitlines()
    return json.loads(lines[2]), {link["ifname"]: link for link in json.loads(lines[0])}, json.loads(lines[1])


def test_the_way_out_what_lies_above_it_and_the_loopback_are_listed(told: Any) -> None:
    section, links, _rules = told
    assert sorted(section["interfaces"]["items"]) == ["above", "lo", "right"]
    assert section["interfaces"]["items"]["above"]["lower"] == ["right"]
    assert section["virtual_interfaces"] == len(links) - 3


def test_links_are_as_ip_tells_them(told: Any) -> None:
    section, links, _rules = told
    for name, one in section["interfaces"]["items"].items():
        link = links[name]
        assert (one["mtu"], one["tx_queue_len"]) == (link["mtu"], link["txqlen"])
        assert one["operstate"] == link["operstate"].lower()
        assert one["carrier"] is ("LOWER_UP" in link["flags"])


def test_a_pair_has_the_driver_and_the_speed_that_it_always_has(told: Any) -> None:
    right = told[0]["interfaces"]["items"]["right"]
    assert (right["driver"], right["speed"], right["duplex"]) == ("veth", 10_000, "full")
    assert right["offloads"]["items"]["rx-checksum"] is True


def test_rules_are_counted_as_ip_lists_them(told: Any) -> None:
    section, _links, rules = told
    assert section["routes"]["rules_ipv4"] == len(rules) - 3 == 2
    assert section["routes"]["rules_ipv4_by_source"] == 1


def test_two_cards_of_one_subnet_are_told_and_that_a_rule_steers_them(told: Any) -> None:
    routes = told[0]["routes"]
    assert (routes["default_interface"], routes["shared_subnets"]) == ("right", ["apart right"])
    assert routes["unsteered_subnets"] == []


def test_clients_that_were_turned_away_and_datagrams_that_were_lost_are_counted() -> None:
    script = 'set -e; ip link set lo up; "$1" -c "$2"; cat | "$1"; "$1" -c "$2"; nstat -a -z -s -j'
    *lines, shown = inside(script, typed=OVERRUN).splitlines()
    before, after = (json.loads(line)["stack"] for line in lines)
    counts = json.loads(shown)["kernel"]
    assert (before["tcp"]["listen_overflows"], before["udp"]["rcvbuf_errors"]) == (0, 0)
    assert after["tcp"]["listen_overflows"] == counts["TcpExtListenOverflows"] > 0
    assert after["udp"]["rcvbuf_errors"] == counts["UdpRcvbufErrors"] > 0
    assert after["tcp"]["out_segs"] == counts["TcpOutSegs"] > 0


def test_what_is_changed_moves_the_fact_of_its_name_and_nothing_else_but_what_follows() -> None:
    card, add6 = "network/interfaces/right", "ip addr add"
    moves = {
        "ip link set right mtu 1300": f"network/interfaces/above/mtu {card}/mtu",
        "ip link set right txqueuelen 99": f"{card}/tx_queue_len",
        "sysctl -qw net.ipv4.conf.right.rp_filter=2": f"{card}/rp_filter",
        "ip rule add from 198.51.100.8 table 9": "network/routes/rules_ipv4 network/routes/rules_ipv4_by_source",
        "ip rule add table main suppress_prefixlength 0": "network/routes/rules_ipv4",
        "ip -6 rule add to 2001:db8::7 table 9": "network/routes/rules_ipv6",
        f"{add6} 2001:db8::1/64 nodad dev right; {add6} 2001:db8::2/64 nodad dev left": "network/routes/shared_subnets",
        "ip -6 rule add from 2001:db8::8 table 9": "network/routes/rules_ipv6 network/routes/rules_ipv6_by_source",
        "ip addr del 192.0.2.2/25 dev apart": "network/routes/shared_subnets",
        "ip link set other down": "",
    }
    told = inside(f'{LAID} exec "$1" -c "$3"', typed="\n".join(moves))
    found = {command: " ".join(facts) for command, *facts in (line.split("|") for line in told.splitlines())}
    assert found == moves


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_plain_user_is_told_what_root_is() -> None:
    lines = inside(f'{LAID} "$1" -c "$2"; exec setpriv --reuid {SOMEBODY} --clear-groups "$1" -c "$2"').splitlines()
    root, plain = (json.loads(line) for line in lines)
    assert _lasting(root) == _lasting(plain)


def _lasting(section: Any) -> Any:
    """Without what counts on."""
    ways = section["interfaces"]["items"].values()
    return {
        **section,
        "interfaces": [{k: v for k, v in one.items() if k not in ("statistics", "hw_counters")} for one in ways],
    }
