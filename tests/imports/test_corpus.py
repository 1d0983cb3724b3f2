"""Dumps that others made: FINGERPRINT_CORPUS names the folder. Each is taken in or refused in a sentence, and what is
told is held against what something else in the same file, or of the same machine, says.
"""

import os
import re
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from fingerprint.imports.dump import Told
from fingerprint.imports.files import content
from fingerprint.imports.recognised import Read, read
from fingerprint.sections import decoder_of, leaves
from fingerprint.snapshot import Key
from fingerprint.walk import value_at
from probes.cpu import cpu
from probes.kit.facts import NOT_READ, Gap
from probes.kit.host import Host
from probes.kit.parse import cpu_list
from probes.kit.probe import HOST
from probes.kit.redact import Redactor

CORPUS = os.environ.get("FINGERPRINT_CORPUS", "")
RAW = Path(CORPUS) / "raw"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not CORPUS or not RAW.is_dir(), reason="FINGERPRINT_CORPUS holds no raw dumps"),
]
REDACTOR = Redactor(b"of the tests")

TAKEN = {
    "nvidia-smi-q": 27, "nvidia-smi-xml": 18, "nvidia-smi-table": 39, "nvidia-smi-csv": 11, "topo": 12, "nvlink": 8,
    "numactl": 1, "procdriver": 2, "kmsg": 13, "nccl-topo": 9, "envreport": 90, "lspci": 9, "ib": 5,
}  # fmt: skip
"""Kind -> files that are taken in, at least: it never falls."""
COMPARED = {
    "one machine, several tools": 600,
    "reports": 420,
    "kernel logs": 14,
    "trees": 5,
    "proc": 17,
    "numa": 9,
    "buses": 7,
}
"""What is held against an independent answer: facts compared, at least."""

Answer = tuple[str, Any, Any]
"""What it is about, as imported, as something else says it."""


class File(NamedTuple):
    path: Path
    text: str
    reads: tuple[Read, ...]

    def told(self, format_name: str) -> Told | None:
        return next((one.told for one in self.reads if one.format == format_name and one.told), None)


def file(path: Path) -> File:
    text = content(path).text
    return File(path, text, read(text, REDACTOR))


def files(kind: str) -> Iterator[File]:
    for path in sorted((RAW / kind).rglob("*")):
        if path.is_file():
            yield file(path)


def value(told: Told | None, area: str, *names: str, target: str = "") -> Any:
    section = told.sections.get(Key(area, target)) if told else None
    return NOT_READ if section is None else value_at(section, names)


def report(name: str, answers: list[Answer]) -> None:
    """Prints and checks what was compared; a gap on either side is no answer."""
    told = [one for one in answers if not isinstance(one[1], Gap) and not isinstance(one[2], Gap)]
    wrong = [one for one in told if one[1] != one[2]]
    print(f"{name}: {len(told)} facts compared, {len(wrong)} mismatches, floor {COMPARED[name]}")
    assert wrong == []
    assert len(told) >= COMPARED[name]


@pytest.mark.parametrize("kind", TAKEN)
def test_each_file_of_a_kind_is_taken_in_or_refused_in_a_sentence(kind: str) -> None:
    taken, facts = Counter[bool](), set()
    for found in files(kind):
        told = [one.told for one in found.reads if one.told]
        taken[bool(told)] += 1
        for key, section in ((key, section) for one in told for key, section in one.sections.items()):
            assert decoder_of(type(section))(msgspec.json.encode(section)) == section
            facts |= {(key.area, leaf.fact.source) for leaf in leaves(section) if not isinstance(leaf.value, Gap)}
        assert all(one.says and "\n" not in one.says for one in found.reads if one.told is None)
    print(f"{kind}: {taken[True]} files taken in, {taken[False]} refused, {len(facts)} distinct facts")
    assert taken[True] >= TAKEN[kind]


def test_tools_that_looked_at_one_machine_tell_the_same() -> None:
    """-q, the table, -L, CSV, the matrix and NVLinks of one GPU under one driver, at rest and under load."""
    machines: dict[str, list[File]] = defaultdict(list)
    for kind in ("nvidia-smi-q", "nvidia-smi-table", "nvidia-smi-csv", "topo", "nvlink"):
        for found in files(kind):
            if named := re.match(r"exporter_(.+?__[\d.]+\d)", found.path.name):
                machines[named[1]].append(found)
    answers: list[Answer] = []
    for of in machines.values():
        for at, one in enumerate(of):
            for other in of[at + 1 :]:
                answers += alike(one, other)
    report("one machine, several tools", answers)


def alike(one: File, other: File) -> Iterator[Answer]:
    """Of the one GPU: its lasting facts, but for what these machines' users set between two dumps."""
    first, second = (dict(lasting(found)) for found in (one, other))
    for path in first.keys() & second.keys():
        yield f"{one.path.name} {other.path.name} {path}", first[path], second[path]


MOVES = re.compile(r"clocks|performance_state|link_(gen|width)_current|remapped_rows|display_active")


def lasting(found: File) -> Iterator[tuple[str, Any]]:
    for one in found.reads:
        for key, section in one.told.sections.items() if one.told else ():
            for leaf in leaves(section):
                path = "/".join((key.area, *leaf.names[1 if key.area == "gpu" else 0 :]))
                if leaf.fact.lasting and not isinstance(leaf.value, Gap | frozenset) and not MOVES.search(path):
                    yield path, leaf.value


def test_a_report_agrees_with_itself_and_with_what_its_finder_counted() -> None:
    """Names, number and driver stand in a file's name; the CPUs beside a GPU are those of a node that lscpu lists."""
    answers: list[Answer] = []
    for found in files("envreport"):
        told = found.told("collect_env of torch or vLLM") or found.told("check_env of SGLang")
        answers += by_name(found, told)
        answers += by_node(found)
        matrix = found.told("nvidia-smi topo -m")
        if matrix and Key("gpu") in (told.sections if told else {}):
            answers.append((f"{found.path.name} GPUs", keys(told), keys(matrix)))
    report("reports", answers)


def keys(told: Told | None) -> Any:
    section = value(told, "gpu")
    return section if isinstance(section, Gap) else frozenset(section.items)


def by_name(found: File, told: Told | None) -> Iterator[Answer]:
    named = re.fullmatch(r"full_\w+?_\d+_(?P<name>.*)x(?P<count>\d+)_(?P<driver>.*)\.txt", found.path.name)
    if named is None or told is None:
        return
    if named["count"] != "0":
        yield f"{found.path.name} count", len(keys(told)), int(named["count"])
        first = value(told, "gpu", "GPU00", "name")
        yield f"{found.path.name} name", first if isinstance(first, Gap) else first.replace(" ", "-"), named["name"]
    driver = named["driver"] if re.fullmatch(r"[\d.]+", named["driver"]) else NOT_READ
    yield f"{found.path.name} driver", value(told, "driver", "nvml", "driver_version"), driver


def by_node(found: File) -> Iterator[Answer]:
    """In a container, the matrix tells of a node's CPUs those that it may use."""
    matrix, cpus = found.told("nvidia-smi topo -m"), found.told("lscpu")
    gpus, nodes = value(matrix, "gpu"), value(cpus, "numa", "nodes")
    if isinstance(gpus, Gap) or isinstance(nodes, Gap):
        return
    for key, gpu in gpus.items.items():
        node = nodes.items.get(f"node{gpu.affinity.memory}") if not isinstance(gpu.affinity.memory, Gap) else None
        if node is not None and not isinstance(gpu.affinity.cpus, Gap):
            yield f"{found.path.name} {key}", cpu_list(gpu.affinity.cpus) - cpu_list(node.cpus), frozenset()


def test_a_kernels_log_holds_as_many_errors_as_a_plain_search_finds() -> None:
    answers: list[Answer] = []
    for found in (one for one in files("kmsg") if one.path.name != COLLECTED):
        told, ended = found.told("a kernel log"), found.text[: found.text.rfind("\n") + 1]
        for name, search in SEARCHES.items():
            answers.append((f"{found.path.name} {name}", value(told, "driver", "kernel_log", name), search(ended)))
    report("kernel logs", answers)


def _count(expression: str) -> Callable[[str], int]:
    return lambda text: sum(re.search(expression, line) is not None for line in text.splitlines())


COLLECTED = "gpud_xid_lines_from_tests.log"
"""Lines of many logs."""
SEARCHES = {
    "xids": _count(r"^(?!\[\.\.\.|\s).*NVRM: (GPU\d+ )?Xid \((PCI:)?[0-9a-f:]+[^)]*\): \d+"),
    "peermem_errors": _count(r"nvidia[-_]peermem \S+ ERROR"),
    "driver_loads": _count(r"NVRM: loading NVIDIA UNIX"),
    "api_mismatches": _count("NVRM: API mismatch: the client has the version"),
}


def test_lscpu_tells_what_the_probe_reads_in_the_tree_that_it_was_printed_of(tmp_path: Path) -> None:
    answers: list[Answer] = []
    for printed in sorted((RAW / "sysfs" / "util-linux").glob("expected_lscpu-*.txt")):
        packed = printed.with_name(printed.name.removeprefix("expected_lscpu-").replace(".txt", ".tar.gz"))
        if packed.exists():
            with tarfile.open(packed) as archive:
                archive.extractall(tmp_path / packed.stem, filter="data")
            answers += of_tree(printed, next((tmp_path / packed.stem).iterdir()))
    report("trees", answers)


def of_tree(printed: Path, root: Path) -> Iterator[Answer]:
    """The first line, which is of the machine that ran lscpu, is left out there."""
    probed = {leaf.names: leaf.value for leaf in leaves(cpu.read(Host(str(root)), HOST))}
    [one] = read(f"Architecture: unknown\n{content(printed).text}", REDACTOR)
    for leaf in leaves(one.told.sections[Key("cpu")]) if one.told else ():
        if leaf.names[0] != "mitigations":
            yield f"{printed.name} {leaf.names}", leaf.value, probed.get(leaf.names, NOT_READ)


def test_files_of_proc_tell_what_nvidia_smi_of_the_same_machine_tells() -> None:
    answers: list[Answer] = []
    proc = file(RAW / "procdriver" / "2080tix4_440.31_proc_driver_nvidia.txt")
    smi = file(RAW / "nvidia-smi-q" / "2080tix4_440.31.txt").told("nvidia-smi -q")
    for address in keys(smi):
        for fact in ("name", "uuid", "minor_number", "vbios_version"):
            mine = value(proc.told("/proc/driver/nvidia/gpus"), "gpu", address, fact)
            theirs = value(smi, "gpu", address, fact)
            answers.append((f"{address} {fact}", mine, theirs))
    version = value(proc.told("/proc/driver/nvidia/version"), "driver", "module", "version")
    answers.append(("version", version, value(smi, "driver", "nvml", "driver_version")))
    report("proc", answers)


def test_numactl_and_lscpu_of_one_machine_tell_the_same_nodes() -> None:
    nodes = file(RAW / "numactl" / "gh200_numa_gpu_cpu.txt").told("numactl -H")
    cpus = file(RAW / "sysfs" / "gh200_lscpu.txt").told("lscpu")
    listed = value(cpus, "numa", "nodes")
    answers = [(name, value(nodes, "numa", "nodes", name, "cpus"), node.cpus) for name, node in listed.items.items()]
    assert len(cpu_list(value(nodes, "numa", "online"))) == len(answers)
    report("numa", answers)


def test_lspci_names_the_gpus_that_nvidia_smi_of_the_same_machine_names() -> None:
    answers: list[Answer] = []
    for machine, log in (("2080tix4_440.31", "2080tix4_440.31.txt"), ("bugreport2022", "bugreport2022.txt")):
        bus = file(RAW / "lspci" / f"{machine}_nn.txt").told("lspci")
        smi = file(RAW / "nvidia-smi-q" / log).told("nvidia-smi -q")
        gpus = value(bus, "pcie", "gpus").items
        answers.append((f"{machine} GPUs", keys(smi) - gpus.keys(), frozenset()))
        for address in keys(smi):
            vendor, _, device = gpus[address].pci_id.partition(":")
            answers.append((f"{address} id", f"0x{device}{vendor}", value(smi, "gpu", address, "pci_device_id")))
    report("buses", answers)
