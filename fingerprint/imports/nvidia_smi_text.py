"""`nvidia-smi -q`, the text: the facts of its XML by other labels."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

from fingerprint.imports.nvidia_smi_facts import Dialect, built, facts_of, gpus_of
from fingerprint.imports.nvidia_smi_labels import DRIVER, GPU, INSTANCE, PROCESS
from probes.driver import Driver
from probes.gpu.nvlink import slot
from probes.kit.facts import Section
from probes.kit.lazy import lazy_regex

HEAD = lazy_regex(r"^=+ ?NVSMI LOG ?=+$", re.MULTILINE)
_GPU = lazy_regex(r"GPU (?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_OTHER = lazy_regex(r"_{4,}|\*{3} |```|</?\w+>|[~$#] |/\S+/nvidia-smi\b")
"""What begins at the margin behind the log, where it stands in something longer."""
LONGEST = 2000
"""Characters of a line."""
DIALECT = Dialect(GPU, INSTANCE, PROCESS)


class Row(NamedTuple):
    """indent 0: of the log itself, or of no log at all."""

    indent: int
    label: str
    value: str


class Tree(NamedTuple):
    """gpus: by address. An element is named by its label."""

    log: Element
    gpus: dict[str, Element]


def tree(text: str) -> Tree:
    """Raises ValueError for what is no log of nvidia-smi."""
    begins = HEAD.search(text)
    if begins is None:
        raise ValueError("no log of `nvidia-smi -q`")
    found = Tree(Element("log"), {})
    _read(_rows(text[begins.end() : text.rfind("\n") + 1]), found.log, found.gpus)
    return found


def sections(text: str) -> dict[str, Section]:
    """Area -> section. Raises ValueError, in one sentence, for what is no log of nvidia-smi, or not a whole one."""
    log, gpus = tree(text)
    attached = log.findtext("attached_gpus", "")
    if not gpus:
        raise ValueError("a log of `nvidia-smi -q` that tells of no GPU")
    if attached.isdecimal() and int(attached) != len(gpus):
        raise ValueError(
            f"a log of `nvidia-smi -q` that tells of {len(gpus)} of {attached} GPUs: it is cut off, or was made with -i"
        )
    shaped = {key: _shaped(gpu) for key, gpu in gpus.items()}
    return {"gpu": gpus_of(DIALECT, shaped, log), "driver": built(Driver, facts_of(log, DRIVER))}


def _rows(text: str) -> Iterator[Row]:
    """Up to what is none of the log; a last line without an end may be half of one."""
    for line in text.splitlines():
        if len(line) > LONGEST:
            continue
        indent = len(line) - len(line.lstrip())
        if not indent and _OTHER.match(line):
            return
        label, _, value = line.partition(" : ")
        if label.strip():
            yield Row(indent, label.strip(), value.strip())


def _read(rows: Iterable[Row], log: Element, gpus: dict[str, Element]) -> None:
    above: list[tuple[int, Element]] = [(0, log)]
    for row in rows:
        if not row.indent:
            above = _at_margin(row, log, gpus, above)
            continue
        while above[-1][0] >= row.indent:
            above.pop()
        below = SubElement(above[-1][1], named(row.label))
        below.text = row.value
        if not row.value:
            above.append((row.indent, below))


def _at_margin(
    row: Row, log: Element, gpus: dict[str, Element], above: list[tuple[int, Element]]
) -> list[tuple[int, Element]]:
    """A GPU begins, or the log itself is told of; what a preloaded library says between lines changes nothing."""
    if found := _GPU.match(row.label):
        gpu = gpus.setdefault(slot(found["address"]), Element("gpu"))
        return [(0, gpu)]
    if row.value and not gpus:
        SubElement(log, named(row.label)).text = row.value
    return above


def named(label: str) -> str:
    """`GPU T.Limit Temp`: gpu_t_limit_temp."""
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")


def _shaped(gpu: Element) -> Element:
    """With instances and processes as the XML has them: the text lists the rows of each process one below another.

    Instances stand above `PCI`: where that is missing, the text is cut off and may lack some of them.
    """
    if gpu.find("pci") is not None:
        SubElement(gpu, "mig_devices").extend(gpu.findall("mig_device"))
    listed = gpu.find("processes")
    if listed is not None:
        _by_process(listed)
    return gpu


def _by_process(listed: Element) -> None:
    rows = list(listed)
    listed[:] = []
    for row in rows:
        if row.tag == "process_id":
            SubElement(SubElement(listed, "process_info"), "pid").text = row.text
        elif len(listed):
            listed[-1].append(row)
