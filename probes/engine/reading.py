"""The server that a process is: where it listens, and what it answers there.

Only who is known to be an engine's launcher is asked, only where that process itself listens, and by its own address:
the sockets are those of /proc/PID/net/tcp that it holds open.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from probes.engine.asking import Asking
from probes.engine.engines import ASKED, without
from probes.engine.sections import Engine
from probes.kit.answering import answering
from probes.kit.configured import File, configured
from probes.kit.engines import Part, part_of
from probes.kit.facts import Gap, Seen, seen_or, then
from probes.kit.filepaths import link_of
from probes.kit.host import Host
from probes.kit.processes import began

_LISTEN = "0A"  # TCP_LISTEN (include/net/tcp_states.h)
_TABLES = ("tcp", "tcp6")
_SOCKET = r"socket:\[\d+\]"
_V4_MAPPED = bytes(10) + b"\xff\xff"
_LOOPBACK = {bytes(4): "127.0.0.1", bytes(16): "::1", bytes(15) + b"\1": "::1"}
_NO_ENGINE = Gap("absent", "no server of an engine that is known")


def engine(host: Host, pid: int) -> Engine:
    part = then(host.arguments(pid), lambda argv: part_of(argv, _variables(host, pid)) or _NO_ENGINE)
    if isinstance(part, Gap):
        return Engine(**without(part))
    if part.role != "launcher" or part.engine not in ASKED:
        return Engine(**without(Gap("unsupported", f"nothing is known to be asked of {part.engine} {part.role}")))
    place = then(host.opened(pid, _SOCKET), lambda held: _place(host, pid, part, frozenset(held)))
    if isinstance(place, Gap):
        return Engine(**without(place))
    return Engine(**ASKED[part.engine](Asking(host, pid, place)))


def _variables(host: Host, pid: int) -> Mapping[str, str]:
    environ = host.environ(pid)
    items = {} if isinstance(environ, Gap) else environ.items
    return {name: value for name, value in items.items() if isinstance(value, str)}


def _place(host: Host, pid: int, part: Part, held: frozenset[str]) -> Seen[str]:
    """ADDRESS:PORT of its socket: of several, the one that it was told to serve on."""
    places = dict(_listening(host, pid, held))
    port = part.port or seen_or(_configured(host, pid), 0)
    if port in places:
        return f"{places[port]}:{port}"
    if port:
        return Gap("absent", f"it does not listen on port {port}")
    if len(places) != 1:
        return Gap("not_observable", f"it listens on {len(places)} ports, and nothing tells on which it serves")
    return next(f"{address}:{port}" for port, address in places.items())


def _configured(host: Host, pid: int) -> Seen[int]:
    """The port that a file of settings gives."""
    files, cwd = answering(host, pid), link_of(host, pid, "cwd")
    found = then(host.arguments(pid), lambda argv: configured(files, argv, cwd, partial(began, host, pid)))
    return then(found, _port)


def _port(file: File) -> Seen[int]:
    values = file.flags.get("--port", ())
    return int(str(values[-1])) if isinstance(values, tuple) and values else Gap("absent")


def _listening(host: Host, pid: int, held: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Port and address of each (Documentation/networking/proc_net_tcp.rst). IPv4's come last: a server on every address
    is asked by that."""
    for table in reversed(_TABLES):
        for line in seen_or(host.text(f"/proc/{pid}/net/{table}"), "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTEN and f"socket:[{fields[9]}]" in held:
                address, _, port = fields[1].partition(":")
                yield int(port, 16), _address(address)


def _address(digits: str) -> str:
    """Of words in the host's order, as they are on x86 and ARM. Every address is reached by the loopback's."""
    raw = b"".join(bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8))
    raw = raw.removeprefix(_V4_MAPPED) if len(raw) == 16 else raw
    if raw in _LOOPBACK:
        return _LOOPBACK[raw]
    return ".".join(map(str, raw)) if len(raw) == 4 else ":".join(raw[at : at + 2].hex() for at in range(0, 16, 2))
