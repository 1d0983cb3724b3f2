"""Bonds: several cards under one name."""

from probes.kit.facts import Gap, Map, Section, Seen, config, state, then
from probes.kit.host import Host
from probes.kit.knobs import word_tuple
from probes.network.found import NET, Found

_BONDING = f"{NET}/*/bonding"


class Bond(Section):
    mode: Seen[str] = config(
        "active-backup uses one card of all; 802.3ad spreads flows, and one flow gets one card", f"{_BONDING}/mode"
    )
    xmit_hash_policy: Seen[str] = config(
        "By layer 2 all that goes to one peer takes one card; by layers 3 and 4 its flows are spread",
        f"{_BONDING}/xmit_hash_policy",
        restore=f"echo {{value}} > {NET}/{{key}}/bonding/xmit_hash_policy",
    )
    lacp_rate: Seen[str] = config("How soon a card that failed is noticed: 30 s or 1 s", f"{_BONDING}/lacp_rate")
    miimon: Seen[int] = config("How often the link of each card is looked at; 0 never does", f"{_BONDING}/miimon", "ms")
    slaves: Seen[tuple[str, ...]] = config("The cards that it is made of", f"{_BONDING}/slaves")
    active_slave: Seen[str] = state(
        "After a failure the other card carries all, which may be on the other socket",
        f"{_BONDING}/active_slave",
        settled="always",
        follows=("network/interfaces/*/operstate", "network/bonds/*/mode"),
    )
    mii_status: Seen[str] = state(
        "Down: none of its cards has a link",
        f"{_BONDING}/mii_status",
        settled="always",
        follows=("network/interfaces/*/operstate",),
    )
    ports: Seen[int] = state(
        "How many cards joined the group that carries: fewer than it has, and bandwidth is less",
        f"{_BONDING}/ad_num_ports",
        settled="always",
        follows=("network/interfaces/*/operstate", "network/bonds/*/slaves"),
    )


def read_bonds(host: Host, found: Found) -> Map[Bond]:
    return Map({name: _bond(host, name) for name in found.kept if "bonding" in found.holds[name]})


def _bond(host: Host, name: str) -> Bond:
    folder = f"{NET}/{name}/bonding"
    return Bond(
        mode=_word(host, f"{folder}/mode"),
        xmit_hash_policy=_word(host, f"{folder}/xmit_hash_policy"),
        lacp_rate=_word(host, f"{folder}/lacp_rate"),
        miimon=host.number(f"{folder}/miimon"),
        slaves=word_tuple(host, f"{folder}/slaves"),
        active_slave=then(host.line(f"{folder}/active_slave"), lambda it: it or Gap("unsupported", "not in this mode")),
        mii_status=host.line(f"{folder}/mii_status"),
        ports=host.number(f"{folder}/ad_num_ports"),
    )


def _word(host: Host, path: str) -> Seen[str]:
    """`802.3ad 4`: the number behind it is the same again. Empty where the mode has no such thing."""
    found = then(host.line(path), str.split)
    return then(found, lambda words: words[0] if words else Gap("unsupported", "not in this mode"))
