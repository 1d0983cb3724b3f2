"""What lscpu, numactl and lspci print here is what the probes read here."""

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from fingerprint.imports.recognised import read
from fingerprint.sections import leaves
from probes.cpu import cpu
from probes.kernel import kernel
from probes.kit.facts import NOT_READ, Gap, Section
from probes.kit.host import Host
from probes.kit.probe import HOST, Probe
from probes.kit.redact import Redactor
from probes.numa import numa
from probes.pcie import pcie

PROBES: dict[str, Probe[Any]] = {"cpu": cpu, "kernel": kernel, "numa": numa, "pcie": pcie}


def printed(*argv: str) -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"no {argv[0]} here")
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20, env={"LC_ALL": "C"}).stdout


def lasting(section: Section) -> Iterator[tuple[tuple[str, ...], Any]]:
    for leaf in leaves(section):
        if leaf.fact.lasting and not isinstance(leaf.value, Gap):
            yield leaf.names, leaf.value


@pytest.mark.parametrize("argv", [("lscpu",), ("lscpu", "-J"), ("lscpu", "-e"), ("numactl", "-H"), ("lspci", "-vvv")])
def test_a_tool_and_the_probe_tell_the_same_of_this_host(argv: tuple[str, ...]) -> None:
    host = Host()
    [one] = read(printed(*argv), Redactor(b"of the tests"))
    if one.told is None and argv[0] == "lspci":
        pytest.skip("no GPU, network card or NVMe drive on the bus here")
    assert one.told is not None, one.says
    compared = 0
    for key, section in one.told.sections.items():
        probed = {leaf.names: leaf.value for leaf in leaves(PROBES[key.area].read(host, HOST))}
        for names, value in lasting(section):
            theirs = probed.get(names, NOT_READ)
            compared += not isinstance(theirs, Gap)
            assert isinstance(theirs, Gap) or theirs == value, names
    assert compared >= 3
