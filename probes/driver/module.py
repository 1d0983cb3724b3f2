"""The kernel module that runs: which one, and what it was told when it was loaded."""

import re

from probes.kit.facts import Map, Redacted, Section, Seen, config, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.parse import fields

VERSION_FILE = "/proc/driver/nvidia/version"
PARAMETERS_FILE = "/proc/driver/nvidia/params"
# `NVIDIA UNIX x86_64 Kernel Module  440.31  Sun ...`, `NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Rel...`
_MODULE = lazy_regex(r"NVRM version:.*?(?P<open>\bOpen )?Kernel Module(?: for \S+)?\s+(?P<version>\d[\d.]*)")


class Module(Section):
    version: Seen[str] = config(
        "Another driver brings another compiler, other clocks and other firmware: of what was reported the median is "
        "1.5 times",
        VERSION_FILE,
    )
    flavour: Seen[str] = config(
        "`open` and `proprietary` of one version differ: confidential computing, peer access and power management of a "
        "sleeping GPU are in one of them only",
        VERSION_FILE,
        follows=("driver/module/version",),
    )
    parameters: Seen[Map[Seen[str | Redacted]]] = config(
        "Options in force, defaults among them: peer access, GSP firmware, stream memory operations, who may profile",
        PARAMETERS_FILE,
        follows=("driver/module/version",),
    )


def read_module(host: Host) -> Module:
    """`version` and `params` come from the module's memory. The files of one GPU beside them would wake that GPU:
    nv_procfs_read_gpu_info of the open module takes a reference on its power."""
    told = host.text(VERSION_FILE)
    return Module(
        version=then(told, lambda text: _match(text)["version"]),
        flavour=then(told, lambda text: "open" if _match(text)["open"] else "proprietary"),
        parameters=then(host.text(PARAMETERS_FILE), lambda text: _parameters(host, text)),
    )


def _match(text: str) -> re.Match[str]:
    match = _MODULE.search(text)
    if match is None:
        raise ValueError(f"no version in {text!r}")
    return match


def _parameters(host: Host, text: str) -> Map[Seen[str | Redacted]]:
    """Numbers stand in decimal, as unsigned; texts in quotes."""
    return Map({name: host.redactor.parameter(name, value.strip('"')) for name, value in fields(text).items()})
