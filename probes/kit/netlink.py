"""What only netlink tells of the network, and anybody may ask for: rules of routing, and priorities of a card (DCB).

Numbers are those of linux/rtnetlink.h, linux/fib_rules.h and linux/dcbnl.h.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator, Mapping

SECONDS = 0.5
MOST = 256
"""Datagrams of one answer: 32 KiB each, some 400 rules."""

_ERROR, _DONE = 2, 3
_REQUEST, _DUMP = 0x1, 0x300
_GETRULE, _GETDCB, _IEEE_GET = 34, 78, 21
_FRA_PRIORITY, _FRA_SUPPRESS, _FRA_TABLE, _FRA_PROTOCOL = 6, 14, 15, 21
_NOTHING = b"\xff" * 4
_IFNAME, _IEEE, _IEEE_ETS, _IEEE_PFC = 1, 13, 1, 2
_TABLES = (253, 254, 255)  # default, main, local: each has a rule from the start
_NESTED = 0x3FFF  # NLA_TYPE_MASK

Answer = Mapping[str, tuple[int, ...]]
Attributes = Mapping[int, bytes]


def netlink(what: str, interface: str) -> Answer:
    """what: `rules` (of the namespace) or `priorities` (of the interface). Raises OSError as the kernel tells it."""
    return _rules() if what == "rules" else _priorities(interface)


def _rules() -> Answer:
    """Of `ipv4` and `ipv6`, how many rules choose a table of routes, beside those that look into local, main and
    default; and how many of these do by the sender's address."""
    families = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
    own = {name: [rule for rule in _rules_of(family) if rule is not None] for name, family in families.items()}
    return {name: (len(rules), sum(rules)) for name, rules in own.items()}


def _rules_of(family: int) -> Iterator[bool | None]:
    """Whether it does by the sender's address. None: one that is there from the start."""
    for body in _asked(_GETRULE, _DUMP, struct.pack("=B11x", family)):
        _family, to_bits, from_bits, _tos, table = struct.unpack_from("=5B", body)
        is_given = table in _TABLES and not to_bits and not from_bits and _is_plain(attributes(body[12:]))
        yield None if is_given else bool(from_bits)


def _is_plain(found: Attributes) -> bool:
    """It has a priority, a table of which it suppresses nothing, and who made it; and asks for no more."""
    return not found.keys() - {_FRA_PRIORITY, _FRA_SUPPRESS, _FRA_TABLE, _FRA_PROTOCOL} and (
        found.get(_FRA_SUPPRESS, _NOTHING) == _NOTHING
    )


def _priorities(interface: str) -> Answer:
    """What IEEE 802.1Q has for each priority, 0 to 7. `pfc`: those that are paused by themselves; `pfc_sent` and
    `pfc_received`: their pauses; `prio_tc`: the class of each; `bandwidth`: of each class, in %."""
    name = interface.encode() + b"\0"
    asked = struct.pack("=BBHHH", 0, _IEEE_GET, 0, 4 + len(name), _IFNAME) + name + bytes(-len(name) % 4)
    found: dict[str, tuple[int, ...]] = {}
    for body in _asked(_GETDCB, 0, asked):
        found |= in_ieee(attributes(attributes(body[4:]).get(_IEEE, b"")))
    if not found:
        raise OSError(errno.EOPNOTSUPP, "its driver tells nothing of IEEE 802.1Q")
    return found


def in_ieee(told: Attributes) -> Answer:
    """Of struct ieee_pfc and struct ieee_ets."""
    found: dict[str, tuple[int, ...]] = {}
    if len(pfc := told.get(_IEEE_PFC, b"")) >= 136:
        enabled, *counts = struct.unpack_from("=xB6x16Q", pfc)
        found["pfc"] = tuple(priority for priority in range(8) if enabled >> priority & 1)
        found |= {"pfc_sent": tuple(counts[:8]), "pfc_received": tuple(counts[8:])}
    if len(ets := told.get(_IEEE_ETS, b"")) >= 35:
        found |= {"bandwidth": tuple(ets[3:11]), "prio_tc": tuple(ets[27:35])}
    return found


def attributes(raw: bytes) -> Attributes:
    """Of one message, by their types; what is cut off ends them."""
    found: dict[int, bytes] = {}
    while len(raw) >= 4:
        length, kind = struct.unpack_from("=HH", raw)
        if not 4 <= length <= len(raw):
            break
        found[kind & _NESTED] = raw[4:length]
        raw = raw[length + -length % 4 :]
    return found


def _asked(kind: int, flags: int, body: bytes) -> Iterator[bytes]:
    """The bodies of the messages that answer. Raises OSError as the kernel tells it."""
    with _door() as door:
        door.settimeout(SECONDS)
        door.send(struct.pack("=IHHII", 16 + len(body), kind, flags | _REQUEST, 1, 0) + body)
        for _ in range(MOST):
            for answer, told in _messages(door.recv(1 << 16)):
                if answer == _DONE:
                    return
                _raise_error(answer, told)
                yield told
                if not flags:
                    return
    raise OSError(errno.E2BIG, "more than it was to tell")


def _door() -> socket.socket:
    """Every kernel that has sockets has this family: where there is none, a sandbox withholds it."""
    try:
        return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    except OSError as error:
        if error.errno != errno.EAFNOSUPPORT:
            raise
        raise OSError(errno.EPERM, "a sandbox withholds netlink, as RestrictAddressFamilies= of a unit does") from None


def _messages(raw: bytes) -> Iterator[tuple[int, bytes]]:
    while len(raw) >= 16:
        length, kind = struct.unpack_from("=IH", raw)
        if not 16 <= length <= len(raw):
            return
        yield kind, raw[16:length]
        raw = raw[length + -length % 4 :]


def _raise_error(kind: int, body: bytes) -> None:
    """A kernel without rules of this family knows no such question."""
    if kind == _ERROR and (code := -struct.unpack_from("=i", body)[0]):
        code = errno.EOPNOTSUPP if code == errno.EAFNOSUPPORT else code
        raise OSError(code, os.strerror(code))
