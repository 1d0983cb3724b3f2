"""Which card the routes choose, and which card answers for an address of IPv4."""

from collections.abc import Mapping
from typing import Any

from probes.kit.facts import Gap, Section, Seen, config, seen_or, state, then
from probes.kit.host import Host
from probes.kit.knobs import read_each, sysctl

CONF = "/proc/sys/net/ipv4/conf"
ROUTES = "/proc/net/route"
RULES = "ip rule; netlink, RTM_GETRULE"
RULES6 = "ip -6 rule; netlink, RTM_GETRULE"


class AllInterfaces(Section):
    """What holds for every interface: the larger of this and the interface's own value is in force."""

    rp_filter: Seen[int] = sysctl(
        "net.ipv4.conf.all.rp_filter", "1 drops what comes in by another card than the answer would leave by"
    )
    arp_ignore: Seen[int] = sysctl("net.ipv4.conf.all.arp_ignore", "0 lets any card answer for the address of another")
    arp_announce: Seen[int] = sysctl(
        "net.ipv4.conf.all.arp_announce", "0 lets a card ask with another one's address, and peers learn that"
    )


def conf(name: str, why: str) -> Any:
    """A parameter of one interface."""
    return config(why, f"{CONF}/*/{name}", restore=f"echo {{value}} > {CONF}/{{key}}/{name}")


class Routes(Section):
    default_interface: Seen[str] = state(
        "Where clients, downloads and what NCCL begins with leave by, unless told otherwise",
        f"ip route show default; {ROUTES}, else /proc/net/ipv6_route",
        settled="always",
        follows=("network/interfaces/*/operstate",),
    )
    shared_subnets: Seen[tuple[str, ...]] = state(
        "Cards in one subnet: without rules by source all that is sent leaves by the first of them",
        f"ip route show scope link; {ROUTES}, /proc/net/ipv6_route",
        settled="always",
        follows=("network/interfaces", "network/interfaces/*/operstate"),
    )
    rules_ipv4: Seen[int] = config("Rules that choose a table of routes, beside the kernel's own three", RULES)
    rules_ipv4_by_source: Seen[int] = config(
        "What makes each of several cards in one subnet send its own answers", f"{RULES}, with a source"
    )
    rules_ipv6: Seen[int] = config("As those of IPv4, beside the kernel's own two", RULES6)
    rules_ipv6_by_source: Seen[int] = config("As those of IPv4, for addresses of IPv6", f"{RULES6}, with a source")
    unsteered_subnets: Seen[tuple[str, ...]] = state(
        "Several cards in one subnet and no rule by source: one carries what all of them should",
        "ip route show scope link; the same tables, and the rules",
        settled="always",
        follows=(
            "network/routes/shared_subnets",
            "network/routes/rules_ipv4_by_source",
            "network/routes/rules_ipv6_by_source",
        ),
    )


def way_out(host: Host) -> str:
    """The interface of the default route; empty where there is none, or none was told."""
    return " ".join(seen_or(then(host.routes(), lambda it: it["default"]), ()))


def read_all(host: Host) -> AllInterfaces:
    return read_each(AllInterfaces, host.number)


def read_routes(host: Host) -> Routes:
    routes, rules = host.routes(), host.netlink("rules")
    return Routes(
        default_interface=then(
            routes, lambda it: it["default"][0] if it["default"] else Gap("absent", "no such route")
        ),
        shared_subnets=then(routes, lambda it: tuple(sorted({*it["shared"], *it["shared6"]}))),
        rules_ipv4=then(rules, lambda counts: counts["ipv4"][0]),
        rules_ipv4_by_source=then(rules, lambda counts: counts["ipv4"][1]),
        rules_ipv6=then(rules, lambda counts: counts["ipv6"][0]),
        rules_ipv6_by_source=then(rules, lambda counts: counts["ipv6"][1]),
        unsteered_subnets=then(routes, lambda it: _unsteered(it["shared"], it["shared6"], rules)),
    )


def _unsteered(
    shared: tuple[str, ...], shared6: tuple[str, ...], rules: Seen[Mapping[str, tuple[int, ...]]]
) -> Seen[tuple[str, ...]]:
    """Where no subnet is shared there is nothing to steer, whether or not rules can be asked for."""
    if not shared and not shared6:
        return ()
    by_family = (("ipv4", shared), ("ipv6", shared6))
    return then(rules, lambda it: tuple(sorted({one for name, all_ in by_family if not it[name][1] for one in all_})))
