"""`numactl -H`."""

import re
from collections.abc import Mapping

from fingerprint.imports.dump import Told, of_host
from fingerprint.imports.printed import cpus_in
from probes.kit.facts import NOT_READ, Map, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.parse import as_cpu_list
from probes.kit.redact import Redactor
from probes.numa import Node, Numa

BEGINS = lazy_regex(r"^[ \t]*available: \d+ nodes? \([\d,-]+\)[ \t]*$", re.MULTILINE)
SHOW_BEGINS = lazy_regex(r"^[ \t]*policy: \w.*\n[ \t]*preferred node: .*$", re.MULTILINE)
SHOW = "what the shell that ran `numactl --show` may use, which is nothing of the host's; `numactl -H` is read"
_AVAILABLE = lazy_regex(r"available: (\d+) nodes? \(([\d,-]+)\)")
_NODE = lazy_regex(r"^[ \t]*node (\d+) (cpus|size|free):(.*)$", re.MULTILINE)
_DISTANCES = lazy_regex(r"^[ \t]*(\d+):((?:[ \t]+\d+)+)[ \t]*$", re.MULTILINE)
_KB = 1024  # of a MB as numactl prints it


def read(text: str, _redactor: Redactor) -> Told:
    """Raises ValueError where not all nodes are told that are said to be there."""
    available = _AVAILABLE.search(text)
    online = cpus_in(available[2]) if available else frozenset()
    rows: dict[str, dict[str, str]] = {}
    for number, what, value in _NODE.findall(text):
        rows.setdefault(number, {})[what] = value.strip()
    if {int(number) for number in rows} != online or any("cpus" not in row for row in rows.values()):
        raise ValueError(f"a list of `numactl -H` that tells of {len(rows)} of {len(online)} nodes: it is cut off")
    distances = _distances(text, len(rows))
    sizes = [row.get("size", "") for row in rows.values()]
    nodes = {f"node{number}": _node(row, distances.get(number)) for number, row in rows.items()}
    return of_host(
        {
            "numa": Numa(
                online=as_cpu_list(online),
                has_cpu=as_cpu_list(int(number) for number, row in rows.items() if row["cpus"]),
                has_memory=_with_memory(rows) if all(sizes) else NOT_READ,
                nodes=Map(nodes),
            )
        }
    )


def _with_memory(rows: Mapping[str, Mapping[str, str]]) -> str:
    return as_cpu_list(int(number) for number, row in rows.items() if _megabytes(row["size"]) != 0)


def _distances(text: str, count: int) -> Mapping[str, tuple[int, ...]]:
    found = {number: tuple(map(int, row.split())) for number, row in _DISTANCES.findall(text)}
    return {number: row for number, row in found.items() if len(row) == count}


def _node(row: Mapping[str, str], distance: tuple[int, ...] | None) -> Node:
    return Node(
        cpus=as_cpu_list(map(int, row["cpus"].split())),
        distance=distance or NOT_READ,
        total=_kilobytes(row.get("size", "")),
        free=_kilobytes(row.get("free", "")),
    )


def _megabytes(printed: str) -> int | None:
    number, _, unit = printed.partition(" ")
    return int(number) if unit == "MB" and number.isdecimal() else None


def _kilobytes(printed: str) -> Seen[int]:
    megabytes = _megabytes(printed)
    return NOT_READ if megabytes is None else megabytes * _KB
