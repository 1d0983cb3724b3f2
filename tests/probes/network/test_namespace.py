"""Real interfaces of a network namespace of its own, held against what ip(8) tells of them."""

import json
import os
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
LAID = """
set -e
mount -t sysfs sysfs /sys
ip link set lo up mtu 9000
ip link add left type veth peer name right
ip link add apart type veth peer name other
ip link add join type bridge
ip link set left master join
ip link set left mtu 1400 txqueuelen 77
ip addr add 192.0.2.1/25 dev right
ip addr add 192.0.2.2/25 dev apart
for each in left right apart other join; do ip link set $each up; done
ip route add default dev right
ip rule add from 198.51.100.7 table 7
ip rule add to 203.0.113.0/24 table 8
"""


def inside(script: str, *apart: str) -> str:
    """What a shell prints in namespaces of its own. apart: flags of unshare."""
    argv = ["unshare", "--net", "--mount", *apart, "sh", "-c", script, "sh", sys.executable, READ]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout


def _namespaces() -> Iterator[str]:
    for flags in ("", "--user --map-root-user"):
        made = subprocess.run(
            ["unshare", "--net", "--mount", *flags.split(), "mount", "-t", "sysfs", "sysfs", "/sys"],
            check=False, capture_output=True,
        )  # fmt: skip
        if made.returncode == 0:
            yield flags


@pytest.fixture(scope="module", params=list(_namespaces()))
def told(request: pytest.FixtureRequest) -> Any:
    """The section, and what ip(8) tells."""
    asked = 'for what in "-d -j link" "-j rule"; do ip $what; done; exec "$1" -c "$2"'
    lines = inside(LAID + asked, *request.param.split()).splitlines()
    return json.loads(lines[2]), {link["ifname"]: link for link in json.loads(lines[0])}, json.loads(lines[1])


def test_the_way_out_the_loopback_and_nothing_else_is_listed(told: Any) -> None:
    section, links, _rules = told
    assert sorted(section["interfaces"]["items"]) == ["lo", "right"]
    assert section["virtual_interfaces"] == len(links) - 2


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
