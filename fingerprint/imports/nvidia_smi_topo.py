"""`nvidia-smi topo -m`: how near GPUs are to each other and to CPUs.

Headers may be wrapped, and names in them run together; the rows tell enough: of the n rows of GPUs the first n cells
are about each other, and the cell of a GPU itself is X.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from fingerprint.imports.dump import Told, numbered, of_host
from fingerprint.imports.printed import cpus_in
from probes.gpu import Gpu, Gpus
from probes.gpu.affinity import Affinity
from probes.gpu.peers import Peer
from probes.kit.facts import NOT_READ, Gap, Map, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.parse import as_cpu_list
from probes.kit.redact import Redactor

BEGINS = lazy_regex(
    r"^[ \t]*GPU0[ \t]*(?:\n(?=GPU1[ \t]+GPU2\b)|(?:GPU1|NIC0|[a-z]\w{2,20}|CPU Affinity).*$)", re.MULTILINE
)
_ROW = lazy_regex(
    r"^[ \t]*GPU(?P<index>\d+)[ \t]+(?P<cells>(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|PSB)\b.*)$", re.MULTILINE
)
_DISTANCE = lazy_regex(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|PSB|N/A")
_COLUMNS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_CARDS = "names network cards without their addresses: how far GPUs are from them is left out"
_SINGLES = lazy_regex(r"\d+(?:,\d+){3,}")
"""A list of CPUs without a range, which some drivers cut off where it becomes long."""


class Row(NamedTuple):
    """distances: to each device, in the order of the columns. beside: the further cells, where all are filled."""

    distances: tuple[str, ...]
    beside: Mapping[str, str]


def read(text: str, _redactor: Redactor) -> Told:
    first = _ROW.search(text)
    header = text[: first.start()] if first else ""
    columns = [name for name in _COLUMNS if name in header]
    rows = {int(found["index"]): _row(found["cells"], columns) for found in _ROW.finditer(text)}
    _check(rows, header)
    numbers = sorted(rows)
    told = of_host({"gpu": Gpus(gpus=Map({numbered(index): _gpu(index, numbers, rows[index]) for index in numbers}))})
    with_cards = len(rows[numbers[0]].distances) > len(numbers)
    return told._replace(doubt=f"the matrix of `nvidia-smi topo -m` {_CARDS}") if with_cards else told


def _row(cells: str, columns: Sequence[str]) -> Row:
    words = cells.split()
    distances = tuple(takewhile(_DISTANCE.fullmatch, words[: len(words) - len(columns)]))
    rest = words[len(distances) :]
    return Row(distances, dict(zip(columns, rest, strict=True)) if len(rest) == len(columns) else {})


def _check(rows: Mapping[int, Row], header: str) -> None:
    """Each row is as long as there are GPUs, and X where it meets itself."""
    told = {int(number) for number in re.findall(r"GPU(\d+)", header)}
    if not rows or told != set(rows) or told != set(range(len(told))):
        raise ValueError(
            f"a matrix of `nvidia-smi topo -m` that names {len(told)} GPUs and has rows of {len(rows)}: it is cut off"
        )
    for index, row in rows.items():
        if row.distances[index : index + 1] != ("X",) or len(row.distances) < len(rows):
            raise ValueError(f"a matrix of `nvidia-smi topo -m` in which the row of GPU{index} does not fit the others")


def _gpu(index: int, numbers: Sequence[int], row: Row) -> Gpu:
    others = {numbered(other): _peer(row.distances[other]) for other in numbers if other != index}
    return Gpu(index=index, peers=Map(others), affinity=_affinity(row.beside))


def _peer(distance: str) -> Peer:
    """Where NVLinks join a pair, nothing is told of the way over PCIe."""
    if distance.startswith("NV"):
        return Peer(p2p_nvlink="ok")
    return Peer(topology={"SOC": "SYS"}.get(distance, distance) if distance != "N/A" else NOT_READ)


def _affinity(beside: Mapping[str, str]) -> Affinity:
    cpus, memory, node = (beside.get(column, "") for column in _COLUMNS)
    return Affinity(
        cpus=NOT_READ if _SINGLES.fullmatch(cpus) else _listed(cpus), memory=_listed(memory), numa_node=_number(node)
    )


def _listed(printed: str) -> Seen[str]:
    if not printed:
        return NOT_READ
    return Gap("unsupported") if printed == "N/A" else as_cpu_list(cpus_in(printed))


def _number(printed: str) -> Seen[int]:
    if not printed:
        return NOT_READ
    return Gap("unsupported") if printed == "N/A" else int(printed)
