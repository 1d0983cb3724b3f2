"""lscpu: the list, its JSON (`-J`), and the table of `-e`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any

import msgspec

from fingerprint.imports.dump import Told, of_host
from fingerprint.imports.printed import cpus_in
from probes.cpu import Cpu
from probes.cpu.processor import Processor
from probes.cpu.topology import Cache
from probes.kernel import Kernel
from probes.kit.facts import NOT_READ, Map, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.parse import as_cpu_list, fields
from probes.kit.redact import Redactor
from probes.numa import Node, Numa

BEGINS = lazy_regex(r"^(?:Architecture:[ \t]+[\w/.-]+|CPU op-mode\(s\):.*)$", re.MULTILINE)
JSON_BEGINS = lazy_regex(r'^\{\s*"lscpu"\s*:', re.MULTILINE)
TABLE_BEGINS = lazy_regex(r"^CPU NODE (?:DRAWER BOOK )?SOCKET CORE\b.*\bONLINE\b.*$", re.MULTILINE)
_LINE = lazy_regex(r"[ \t]*[\w ./()-]{1,40}:(?:[ \t].*)?")
_X86 = ("x86_64", "i686", "i386", "GenuineIntel", "AuthenticAMD", "HygonGenuine")
"""Architectures, and vendors of such."""
_CACHE = lazy_regex(r"(?P<size>[\d.]+) (?P<unit>[KMG])iB \((?P<instances>\d+) instances?\)")
_KIB = {"K": 1, "M": 1 << 10, "G": 1 << 20}
_NODE = lazy_regex(r"NUMA node(\d+) CPU\(s\)")
_PROCESSOR = {
    "vendor": "Vendor ID",
    "family": "CPU family",
    "model": "Model",
    "model_name": "Model name",
    "stepping": "Stepping",
}
"""Of x86 alone: elsewhere lscpu has words of its own for the numbers of /proc/cpuinfo."""
_SHORTENED = "Mitigation"
"""Of such a line lscpu leaves the colons out."""


def read(text: str, _redactor: Redactor) -> Told:
    return _told(fields("\n".join(_lines(text))))


def read_json(text: str, _redactor: Redactor) -> Told:
    """Raises ValueError for JSON that is cut off, or of another shape."""
    try:
        rows = msgspec.json.decode(text[: text.rfind("}") + 1].encode("utf-8", "backslashreplace"))["lscpu"]
        return _told(dict(_flat(rows)))
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"JSON of `lscpu -J` that is cut off or damaged: {error}") from None


def _lines(text: str) -> Iterator[str]:
    """Up to the first that is none of it."""
    for line in text.splitlines():
        if not _LINE.fullmatch(line):
            return
        yield line


def _flat(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for row in rows:
        yield str(row["field"]).rstrip(":"), str(row.get("data") or "")
        yield from _flat(row.get("children") or ())


def _told(found: Mapping[str, str]) -> Told:
    if "CPU(s)" not in found:
        raise ValueError("a list of `lscpu` without the line CPU(s)")
    online = cpus_in(found["On-line CPU(s) list"]) if "On-line CPU(s) list" in found else None
    listed = NOT_READ if online is None else as_cpu_list(online)
    cpu = Cpu(
        processor=_processor(found) if {found.get("Architecture"), found.get("Vendor ID")} & {*_X86} else Processor(),
        online=listed,
        offline=as_cpu_list(cpus_in(found["Off-line CPU(s) list"])) if "Off-line CPU(s) list" in found else NOT_READ,
        threads=NOT_READ if online is None else len(online),
        cores=_cores(found, len(online or ())),
        caches=_caches(found),
        mitigations=_mitigations(found),
    )
    return of_host({"cpu": cpu, "kernel": Kernel(machine=found.get("Architecture", NOT_READ)), "numa": _numa(found)})


def _processor(found: Mapping[str, str]) -> Processor:
    flags = found.get("Flags")
    words = frozenset((flags or "").split())
    return Processor(
        **{fact: found.get(label, NOT_READ) for fact, label in _PROCESSOR.items()},
        flags=NOT_READ if flags is None else tuple(sorted(words)),
        hypervisor=NOT_READ if flags is None else "hypervisor" in words,
    )


def _cores(found: Mapping[str, str], online: int) -> Seen[int]:
    """Where threads, cores and sockets make up the CPUs: with some offline, or cores of several kinds, they do not."""
    counts = [found.get(name, "") for name in ("Thread(s) per core", "Core(s) per socket", "Socket(s)")]
    if not all(count.isdecimal() for count in counts) or prod(map(int, counts)) != online:
        return NOT_READ
    return int(counts[1]) * int(counts[2])


def _caches(found: Mapping[str, str]) -> Seen[Map[Cache]]:
    """Sizes are those of all instances together, rounded: one that gives no whole KiB for each is left out."""
    told = {name.removesuffix(" cache"): value for name, value in found.items() if name.endswith(" cache")}
    sizes = {name: match for name, value in told.items() if (match := _CACHE.fullmatch(value))}
    return Map({name: Cache(size=_each(match)) for name, match in sizes.items()}) if sizes else NOT_READ


def _each(match: re.Match[str]) -> Seen[int]:
    each = float(match["size"]) * _KIB[match["unit"]] / int(match["instances"])
    return int(each) if each.is_integer() else NOT_READ


def _mitigations(found: Mapping[str, str]) -> Seen[Map[Seen[str]]]:
    told = {
        name.removeprefix("Vulnerability ").lower().replace(" ", "_"): value
        for name, value in found.items()
        if name.startswith("Vulnerability ")
    }
    if not told:
        return NOT_READ
    return Map({name: NOT_READ if value.startswith(_SHORTENED) else value for name, value in told.items()})


def _numa(found: Mapping[str, str]) -> Numa:
    nodes = {match[1]: value for name, value in found.items() if (match := _NODE.fullmatch(name))}
    if found.get("NUMA node(s)", "") != str(len(nodes)):
        return Numa()
    return _nodes({number: cpus_in(value) for number, value in nodes.items()})


def _nodes(nodes: Mapping[str, Iterable[int]]) -> Numa:
    listed = {number: as_cpu_list(cpus) for number, cpus in nodes.items()}
    return Numa(
        online=as_cpu_list(map(int, nodes)),
        has_cpu=as_cpu_list(int(number) for number, cpus in listed.items() if cpus),
        nodes=Map({f"node{number}": Node(cpus=cpus) for number, cpus in listed.items()}),
    )


def read_table(text: str, _redactor: Redactor) -> Told:
    """Which CPUs there are. Nodes and cores of a table that is cut off would be too few: it has no end."""
    header, *rows = text.splitlines()
    places = header.split()
    cpus = [dict(zip(places, row.split(), strict=False)) for row in rows if re.match(r"\s*\d+\s", row)]
    if not cpus:
        raise ValueError("a table of `lscpu -e` without a row")
    online = [int(cpu["CPU"]) for cpu in cpus if cpu.get("ONLINE", "yes") == "yes"]
    cores = {cpu["CORE"] for cpu in cpus if cpu.get("CORE", "-") != "-"}
    told = Cpu(online=as_cpu_list(online), threads=len(online), cores=len(cores) or NOT_READ)
    return of_host({"cpu": told})._replace(doubt="a table of `lscpu -e` has no end: there may be more CPUs")
