"""What a network card's driver tells through the ioctl SIOCETHTOOL, which anybody may ask for what it has set.

Structs and numbers are those of include/uapi/linux/ethtool.h. The kernel writes as many statistics and names as the
driver has at that moment, whatever there was when their count was asked for: hence the room.
"""

import array
import errno
import fcntl
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Union

Answer = Mapping[str, Union[int, str]]

SIOCETHTOOL = 0x8946
NAME_BYTES = 15  # IFNAMSIZ, less its end
STRING_BYTES = 32  # ETH_GSTRING_LEN
STATISTICS, PRIVATE_FLAGS, FEATURES = 1, 2, 4  # ETH_SS_*
MOST = 16_384
"""Of strings and statistics: a driver with 128 queues has some 4,000."""
ROOM = 1024

_RINGS = "rx_max rx_mini_max rx_jumbo_max tx_max rx rx_mini rx_jumbo tx"
_CHANNELS = "rx_max tx_max other_max combined_max rx tx other combined"
_COALESCE = "rx_usecs rx_frames rx_usecs_irq rx_frames_irq tx_usecs tx_frames tx_usecs_irq tx_frames_irq"
_FIXED = {
    "rings": (0x10, _RINGS),
    "channels": (0x3C, _CHANNELS),
    "coalesce": (0x0E, f"{_COALESCE} stats_usecs adaptive_rx adaptive_tx" + " _" * 11),
    "pause": (0x12, "autoneg rx tx"),
    "fec": (0x50, "active configured _"),
}


def ethtool(interface: str, what: str) -> Answer:
    """what: a key of _FIXED, or of ASKED. Raises OSError as the kernel tells it."""
    if not 0 < len(interface.encode()) <= NAME_BYTES:
        raise OSError(errno.ENOENT, "no interface is called so")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as door:
        asked = _Asked(door, interface)
        return _fixed(asked, *_FIXED[what]) if what in _FIXED else _ASKED[what](asked)


class _Asked:
    """One interface, and the socket through which its driver is asked."""

    def __init__(self, door: socket.socket, interface: str) -> None:
        self._door = door
        self._name = interface.encode()

    def __call__(self, question: bytes, room: int = 0) -> bytes:
        """The struct as the kernel filled it in. room: bytes that it may write behind it."""
        buffer = array.array("B", question + bytes(room))
        request = struct.pack("16sP16x", self._name, buffer.buffer_info()[0])
        fcntl.ioctl(self._door, SIOCETHTOOL, request)
        return buffer.tobytes()

    def names(self, which: int) -> list[str]:
        """Those of a set of strings; none where the driver has no such set."""
        answer = self(struct.pack("=IIQI", 0x37, 0, 1 << which, 0))  # ETHTOOL_GSSET_INFO
        count = struct.unpack_from("=QI", answer, 8)
        many = count[1] if count[0] else 0
        if many > MOST:
            raise OSError(errno.E2BIG, f"{many} strings")
        text = self(struct.pack("=III", 0x1B, which, many), (many * 2 + ROOM) * STRING_BYTES)  # ETHTOOL_GSTRINGS
        return [_text(text[12 + at * STRING_BYTES :][:STRING_BYTES]) for at in range(many)]


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _fixed(asked: _Asked, command: int, names: str) -> Answer:
    fields = names.split()
    told = struct.unpack(f"={len(fields) + 1}I", asked(struct.pack(f"=I{4 * len(fields)}x", command)))[1:]
    return {name: value for name, value in zip(fields, told, strict=True) if name != "_"}


def _driver(asked: _Asked) -> Answer:
    told = asked(struct.pack("=I192x", 0x03))
    fields = enumerate(("driver", "version", "fw_version", "bus_info"))
    return {name: _text(told[4 + at * 32 :][:32]) for at, name in fields}


def _features(asked: _Asked) -> Answer:
    """1 where it is in force."""
    names = asked.names(FEATURES)
    blocks = -(-len(names) // 32)
    told = asked(struct.pack("=II", 0x3A, blocks), blocks * 16)
    active = [struct.unpack_from("=I", told, 8 + block * 16 + 8)[0] for block in range(blocks)]
    return {name: active[at // 32] >> at % 32 & 1 for at, name in enumerate(names) if name}


def _private_flags(asked: _Asked) -> Answer:
    names = asked.names(PRIVATE_FLAGS)
    flags = struct.unpack("=II", asked(struct.pack("=II", 0x27, 0)))[1] if names else 0
    return {name: flags >> at & 1 for at, name in enumerate(names[:32]) if name}


def _statistics(asked: _Asked) -> Answer:
    names = asked.names(STATISTICS)
    told = asked(struct.pack("=II", 0x1D, len(names)), (len(names) * 2 + ROOM) * 8) if names else b""
    return dict(_paired(names, told))


def _paired(names: list[str], told: bytes) -> Iterator[tuple[str, int]]:
    if told and struct.unpack_from("=I", told, 4)[0] != len(names):
        raise OSError(errno.EAGAIN, "its statistics became others meanwhile")
    yield from ((name.strip(), struct.unpack_from("=Q", told, 8 + at * 8)[0]) for at, name in enumerate(names))


_ASKED: Mapping[str, Callable[[_Asked], Answer]] = {
    "driver": _driver,
    "features": _features,
    "private_flags": _private_flags,
    "statistics": _statistics,
}
