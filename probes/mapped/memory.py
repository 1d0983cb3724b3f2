"""Where the pages of a process lie, and under which policies."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.parse import fields, kib
from probes.mapped.sections import Memory, Node

WALKED_CAP = 16 << 20  # kB; the kernel walks the page tables for numa_maps, 12 ms a GiB of 4 KiB pages
MOVED = 8  # read again when the process has grown or shrunk by an eighth
LEAST = 64 << 10  # kB of anonymous pages, below which where they are decides nothing
MAPS_CAP = 32 << 20
_POLICY = lazy_regex(r"[0-9a-f]+ ((?:prefer \(many\)|weighted interleave)?\S*)")  # mpol_to_str, mm/mempolicy.c


class Placement(NamedTuple):
    """Of /proc/PID/numa_maps. kB by node: of all pages, and of anonymous ones."""

    policies: tuple[str, ...]
    nodes: dict[str, int]
    anonymous: dict[str, int]


class Placements:
    """The placement of one process, read again once its size has changed: the walk keeps its other threads from
    mapping memory, and a server that serves is of one size."""

    def __init__(self, host: Host, pid: int) -> None:
        self._host, self._pid = host, pid
        self._size = 0
        self._last: Seen[Placement] = Gap("not_read")

    def now(self, size: int) -> Seen[Placement]:
        """size: resident kB."""
        if size > WALKED_CAP:
            return Gap("not_observable", f"of more than {WALKED_CAP >> 20} GiB its walk would hold the process up")
        if isinstance(self._last, Gap) or abs(size - self._size) * MOVED > self._size:
            self._size = size
            self._last = then(self._host.text(f"/proc/{self._pid}/numa_maps", MAPS_CAP), placement)
        return self._last


_placements = lru_cache(maxsize=256)(Placements)


def memory(host: Host, pid: int) -> Memory:
    status = then(host.text(f"/proc/{pid}/status"), fields)
    placed = then(_line(status, "VmRSS"), _placements(host, pid).now)
    return Memory(
        policies=then(placed, lambda at: at.policies),
        node=then(placed, lambda at: _node(at.anonymous)),
        nodes=then(placed, lambda at: Map(dict(at.nodes))),
        anonymous=_line(status, "RssAnon"),
        file=_line(status, "RssFile"),
        shared=_line(status, "RssShmem"),
        swapped=_line(status, "VmSwap"),
        locked=_line(status, "VmLck"),
        pinned=_line(status, "VmPin"),
        hugetlb=_line(status, "HugetlbPages"),
    )


def _line(status: Seen[dict[str, str]], name: str) -> Seen[int]:
    """A process that is exiting, and a thread of the kernel, have no memory and no such line."""
    return then(status, lambda lines: kib(lines[name]) if name in lines else Gap("absent", f"no {name}"))


def placement(text: str) -> Placement:
    """Lines of `ADDRESS POLICY [file=... | heap | stack] [KEY=VALUE ...]`: numa_maps in proc_pid(5).

    N0=12 are pages of the size kernelpagesize_kB on node 0; a line without a page size has no pages.
    """
    policies: set[str] = set()
    nodes: Counter[str] = Counter()
    anonymous: Counter[str] = Counter()
    for line in text.splitlines():
        start = _POLICY.match(line)
        if start is None:
            raise ValueError(f"no line of numa_maps: {line!r}")
        told = dict(word.split("=", 1) for word in line[start.end() :].split(" ") if "=" in word)
        policies.add(start[1])
        pages = dict(_pages(told))
        nodes.update(pages)
        if "file" not in told:
            anonymous.update(pages)
    return Placement(tuple(sorted(policies - {"default"})), dict(sorted(nodes.items())), dict(anonymous))


def _pages(told: dict[str, str]) -> Iterator[tuple[str, int]]:
    size = int(told.get("kernelpagesize_kB", "0"))
    return ((name[1:], int(number) * size) for name, number in told.items() if _is_node(name))


def _is_node(name: str) -> bool:
    return name[:1] == "N" and name[1:].isdecimal()


def _node(anonymous: dict[str, int]) -> Seen[Node]:
    total = sum(anonymous.values())
    if total < LEAST:
        return Gap("unsupported", f"fewer than {LEAST >> 10} MiB of anonymous pages")
    node, most = max(anonymous.items(), key=lambda item: item[1])
    return int(node) if most * 4 >= total * 3 else "several"
