"""The machine as a picture: sockets, what meets below one, GPUs with their links and limits."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fingerprint.report.html.machine import CLASSES, SWITCHES, Gpu, Machine, machine, switches
from fingerprint.report.html.page import section
from fingerprint.report.leaves import Sections
from fingerprint.report.markup import Html, tag

WIDTH = 328  # a phone's, less its margins
_GAP = 8
_BOX, _LINE = 146, 17
_HEAD = 44


class Drawn(NamedTuple):
    """Marks and the y that they end at."""

    marks: list[Html]
    end: int


def topology(a: Sections, b: Sections | None = None, names: tuple[str, str] = ("", "")) -> Html | None:
    """One picture where both are built alike, with what differs written into it; else one of each."""
    one, other = machine(a), machine(b) if b is not None else None
    if not one.gpus and not (other and other.gpus):
        return None
    if other is None or _built_alike(one, other):
        return section("The machine", _pictures(one, other), aside=_model(one))
    both = [[tag("h3", name), _pictures(it, None, f", {name}")] for name, it in zip(names, (one, other), strict=True)]
    return section("The machine", both, aside="built differently in both")


def _built_alike(one: Machine, other: Machine) -> bool:
    return [_shape(gpu) for gpu in one.gpus] == [_shape(gpu) for gpu in other.gpus]


def _shape(gpu: Gpu) -> tuple[object, ...]:
    return gpu.address, gpu.node, gpu.peers, gpu.nvlinked


def _model(of: Machine) -> str:
    """`8 x NVIDIA H200`."""
    names = [gpu.name for gpu in of.gpus]
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))


def _pictures(one: Machine, other: Machine | None, of: str = "") -> Html:
    """of: whose it is, where there are two."""
    now = {gpu.address: gpu for gpu in other.gpus} if other else {}
    sockets = [_socket(gpus, one, now) for gpus in one.sockets]
    figure = tag("div", sockets, class_="sockets")
    return tag("figure", figure, tag("figcaption", [tag("p", says) for says in _captions(one)]), _matrix(one, of))


def _captions(of: Machine) -> list[str]:
    sockets = of.sockets
    far = sorted({one.peers.get(other.address, "") for group in sockets for one in group
                  for rest in sockets if rest is not group for other in rest} - {""})  # fmt: skip
    says = [f"Between the sockets: {', '.join(far)}."] if far else []
    joined = [gpu for gpu in of.gpus if gpu.nvlinked]
    if joined and all(len(gpu.nvlinked) == len(of.gpus) - 1 for gpu in of.gpus):
        says.append(f"NVLink joins each of the {len(of.gpus)} GPUs with each other.")
    elif joined:
        pairs = sorted({tuple(sorted((gpu.address, other))) for gpu in joined for other in gpu.nvlinked})
        says.append(f"NVLink: {'; '.join(' with '.join(pair) for pair in pairs)}.")
    return says


def _socket(gpus: Sequence[Gpu], of: Machine, now: Mapping[str, Gpu]) -> Html:
    """gpus: those of one. now: the same GPUs in the other run."""
    drawn = _groups(switches(gpus), of, now)
    title, aside = _titles(gpus, of)
    height = drawn.end + _GAP
    return tag(
        "svg",
        tag("title", f"{title}: {', '.join(gpu.address for gpu in gpus)}"),
        tag("rect", x=1, y=1, width=WIDTH - 2, height=height - 2, rx=6, class_="socket"),
        tag("text", title, x=14, y=22, class_="strong"),
        tag("text", aside, x=14, y=38, class_="faint"),
        drawn.marks,
        role="img", width=WIDTH, height=height, viewBox=f"0 0 {WIDTH} {height}",
    )  # fmt: skip


def _titles(gpus: Sequence[Gpu], of: Machine) -> tuple[str, str]:
    nodes = list(dict.fromkeys(gpu.node for gpu in gpus if gpu.node))
    title = f"NUMA node {', '.join(nodes)}" if nodes else "NUMA node not known"
    cpus = ", ".join(of.nodes[node] for node in nodes if of.nodes.get(node))
    between = ", ".join(of.classes(gpus, but=SWITCHES))
    return title, "; ".join(
        filter(None, [f"CPUs {cpus}" if cpus else "", f"{between} between switches" if between else ""])
    )


def _groups(groups: Iterable[Sequence[Gpu]], of: Machine, now: Mapping[str, Gpu]) -> Drawn:
    """Boxes of what meets below the CPU, below each other; GPUs that meet no other stand alone, side by side."""
    marks: list[Html] = []
    alone: list[Gpu] = []
    y = _HEAD
    for group in groups:
        if len(group) == 1:
            alone += group
            continue
        drawn = _boxes(group, y + 22, now)
        marks.append(tag("rect", x=8, y=y, width=WIDTH - 16, height=drawn.end - y + _GAP, rx=5, class_="switch"))
        marks.append(tag("text", f"PCIe switch: {', '.join(of.classes(group))}", x=16, y=y + 16, class_="faint"))
        marks += drawn.marks
        y = drawn.end + 2 * _GAP
    drawn = _boxes(alone, y, now)
    return Drawn([*marks, *drawn.marks], drawn.end if alone else y - _GAP)


def _boxes(gpus: Sequence[Gpu], y: int, now: Mapping[str, Gpu]) -> Drawn:
    """Two to a line."""
    lines = {gpu.address: _lines(gpu, now.get(gpu.address)) for gpu in gpus}
    height = 10 + _LINE * max(map(len, lines.values()), default=0)
    marks = [
        _box(lines[gpu.address], 14 + (at % 2) * (_BOX + _GAP), y + (at // 2) * (height + _GAP), height)
        for at, gpu in enumerate(gpus)
    ]
    return Drawn(marks, y + -(-len(gpus) // 2) * (height + _GAP) - _GAP)


def _box(lines: Sequence[tuple[str, str]], x: int, y: int, height: int) -> Html:
    """lines: the class of each, and its text."""
    changed = any(kind in "ab" for kind, _ in lines)
    texts = [tag("text", text, x=x + 9, y=y + 17 + at * _LINE, class_=kind) for at, (kind, text) in enumerate(lines)]
    frame = tag("rect", x=x, y=y, width=_BOX, height=height, rx=4, class_="gpu changed" if changed else "gpu")
    return tag("g", frame, texts)


def _lines(gpu: Gpu, now: Gpu | None) -> list[tuple[str, str]]:
    """Class and text; what is another in the other run stands twice."""
    pairs = ((gpu.link, now.link if now else gpu.link), (gpu.power, now.power if now else gpu.power))
    lines = [("strong", gpu.address.removeprefix("0000:"))]
    for before, after in pairs:
        if before != after:
            lines += [("a", f"A {before or 'not known'}"), ("b", f"B {after or 'not known'}")]
        elif before:
            lines.append(("faint", before))
    return [*lines, ("faint", f"NVLink x{gpu.nvlinks}")] if gpu.nvlinks else lines


def _matrix(of: Machine, whose: str) -> Html | None:
    """Class of the way between each two."""
    if len(of.gpus) < 2:
        return None
    short = [gpu.address.removeprefix("0000:") for gpu in of.gpus]
    head = tag("tr", tag("th", "to", scope="col"), [tag("th", name, scope="col") for name in short])
    rows = [
        tag("tr", tag("th", name, scope="row"), [tag("td", _way(gpu, other)) for other in of.gpus])
        for name, gpu in zip(short, of.gpus, strict=True)
    ]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", rows), class_="matrix"), class_="wide", tabindex=0,
                role="region", aria_label=f"The way between each two GPUs{whose}")  # fmt: skip
    legend = tag("p", f"Nearest first: NVLink, {', '.join(CLASSES)}.", class_="note")
    return tag("details", tag("summary", "The way between each two GPUs"), table, legend)


def _way(one: Gpu, other: Gpu) -> str:
    if one is other:
        return "-"
    return "NVLink" if other.address in one.nvlinked else one.peers.get(other.address) or "?"
