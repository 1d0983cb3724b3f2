"""What drivers tell by ioctl, of real interfaces and whoever asks."""

import json
import os
import shutil
import subprocess

import pytest

from probes.kit.ethtool import ethtool
from probes.kit.facts import Gap
from probes.kit.host import Host
from tests.kit.test_host import plain_user

EVERY = ("driver", "rings", "channels", "coalesce", "pause", "fec", "features", "private_flags", "statistics")
REAL = sorted(os.listdir("/sys/class/net"))


def test_the_loopback_has_features_and_no_driver() -> None:
    features = ethtool("lo", "features")
    assert (features["loopback"], features["vlan-challenged"], features["rx-vlan-filter"]) == (1, 1, 0)
    assert set(features.values()) == {0, 1}
    with pytest.raises(OSError, match="not supported"):
        ethtool("lo", "driver")


@pytest.mark.parametrize("interface", REAL)
def test_each_question_to_each_interface_here_is_answered_or_a_gap(interface: str) -> None:
    for what in EVERY:
        told = Host().ethtool(interface, what)
        assert isinstance(told, Gap) or all(isinstance(value, int | str) for value in told.values()), what


@pytest.mark.parametrize("interface", REAL)
def test_anybody_is_told_as_much_as_root(interface: str) -> None:
    """But for counts, which go on."""
    told = {what: Host().ethtool(interface, what) for what in EVERY if what != "statistics"}
    with plain_user():
        assert {what: Host().ethtool(interface, what) for what in told} == told


@pytest.mark.parametrize("name", ["nothing-of-ours", "", "x" * 16, "a/b", "ä" * 8])
def test_of_what_is_no_interface_nothing_is_told(name: str) -> None:
    told = Host().ethtool(name, "rings")
    assert isinstance(told, Gap)
    assert told.code in ("absent", "lost")


@pytest.mark.skipif(shutil.which("ip") is None, reason="ip(8) is not installed")
def test_the_queues_of_a_driver_are_those_of_ip() -> None:
    """ip(8) asks by netlink and counts what was made, which is at least what is used."""
    links = json.loads(subprocess.check_output(["ip", "-d", "-j", "link"]))
    asked = {link["ifname"]: Host().ethtool(link["ifname"], "channels") for link in links}
    counted = {link["ifname"]: link["num_rx_queues"] for link in links}
    told = {name: channels for name, channels in asked.items() if not isinstance(channels, Gap)}
    assert all(int(channels["combined"]) + int(channels["rx"]) <= counted[name] for name, channels in told.items())
