"""The table of `nvidia-smi`: of each GPU what it has room for, in whole watts and MiB."""

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, SubElement

from fingerprint.imports import nvidia_smi_table as xml
from fingerprint.imports.dump import Told, of_host
from fingerprint.imports.nvidia_smi_facts import Dialect, built, facts_of, gpus_of
from fingerprint.imports.nvidia_smi_table import Told as Row
from fingerprint.imports.printed import number, one_of, word, worded
from fingerprint.imports.times import moment
from probes.driver import Driver
from probes.driver.answers import Answers
from probes.gpu.nvlink import slot
from probes.kit.facts import NOT_READ
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor

BEGINS = lazy_regex(
    r"^(?:\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}[ \t]*\n\+-[-+]*[ \t]*\n)?\| NVIDIA-SMI \d.*$", re.MULTILINE
)
LONGEST = 400
"""Characters of a line of a table."""
_VERSIONS = lazy_regex(
    r"(?:Driver|KMD) Version: (?P<driver_version>[\d.]+)(?:[ \t]+CUDA (?:UMD )?Version: (?P<cuda_version>[\d.]+))?"
)
_FIRST = lazy_regex(
    r"\|\s+(?P<index>\d+)\s+(?P<name>\S.*?)\s+(?P<setting>On|Off|WDDM|TCC|MCDM|N/A|ERR!)\s*"
    r"\|\s*(?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s+(?P<display_active>On|Off|N/A)\s*"
    r"\|\s*(?P<ecc>\S+)\s*\|"
)
_SECOND = lazy_regex(
    r"\|\s*(?P<fan>N/A|ERR!|\d+%)\s+(?P<temperature>\S+)\s+(?P<performance_state>\S+)\s+"
    r"(?P<draw>\S+)\s*/\s*(?P<limit>\S+)\s*"
    r"\|\s*(?P<used>\S+)\s*/\s*(?P<total>\S+)\s*"
    r"\|\s*(?P<utilization>\S+)\s+(?P<compute_mode>\S.*?)\s*\|"
)
_THIRD = lazy_regex(r"\|\s+\|\s+\|\s*(?P<mig>Enabled\*?|Disabled\*?|N/A)\s*\|")

GPU: Mapping[str, Row] = {
    "name": Row(str, ("name",)),
    "index": Row(xml.count, ("index",)),
    "persistence_mode": Row(worded(on="enabled", off="disabled"), ("persistence",)),
    "driver_model": Row(word, ("model",)),
    "display_active": Row(worded(on="enabled", off="disabled"), ("display_active",)),
    "ecc/mode_current": Row(one_of(off="disabled", on="enabled"), ("ecc_mode",)),
    "ecc/volatile/uncorrected": Row(xml.count, ("ecc",)),
    "fan/speed": Row(number("%"), ("fan",)),
    "temperature/gpu": Row(number("C"), ("temperature",)),
    "performance_state": Row(str, ("performance_state",)),
    "power/draw": Row(number("W", 1000), ("draw",)),
    "enforced_power_limit": Row(number("W", 1000), ("limit",)),
    "memory/used": Row(number("MiB", 1 << 20), ("used",)),
    "memory/total": Row(number("MiB", 1 << 20), ("total",)),
    "utilization/gpu": Row(number("%"), ("utilization",)),
    "compute_mode": Row(
        worded(**{"e._process": "exclusive_process", "e._thread": "exclusive_thread"}), ("compute_mode",)
    ),
    "mig/mode_current": Row(word, ("mig",)),
}
DIALECT = Dialect(GPU, {}, {})
_FEATURE = {"driver_version": "nvml/driver_version", "cuda_version": "nvml/cuda_version"}
DRIVER: Mapping[str, Row] = {fact: Row(str, (name,)) for name, fact in _FEATURE.items()}


def read(text: str, _redactor: Redactor) -> Told:
    """A name that the table cuts off is left out. Where processes follow, all GPUs stand above."""
    head = Element("log")
    for name, value in _versions(text).items():
        SubElement(head, name).text = value
    gpus = dict(_gpus(text, driver_model="Driver-Model" in text[:2000]))
    if not gpus:
        raise ValueError("a table of `nvidia-smi` without a whole row of a GPU")
    cut = "" if "Processes:" in text else "the table of `nvidia-smi` has no end: there may be more GPUs than it tells"
    sections = {"gpu": gpus_of(DIALECT, gpus, head), "driver": built(Driver, facts_of(head, DRIVER))}
    return of_host(sections, moment(text.partition("\n")[0]))._replace(doubt=cut)


def _versions(text: str) -> Mapping[str, str]:
    found = _VERSIONS.search(text)
    return {name: value for name, value in found.groupdict().items() if value} if found else {}


def _gpus(text: str, *, driver_model: bool) -> Iterator[tuple[str, Element]]:
    lines = [line.strip() for line in text.splitlines() if len(line) < LONGEST]
    for at, line in enumerate(lines):
        first = _FIRST.match(line)
        second = _SECOND.match(lines[at + 1]) if first and at + 1 < len(lines) else None
        if first and second:
            third = _THIRD.match(lines[at + 2]) if at + 2 < len(lines) else None
            told = {**first.groupdict(), **second.groupdict(), **(third.groupdict() if third else {})}
            yield slot(first["address"]), _element(told, "model" if driver_model else "persistence")


def _element(told: dict[str, str], setting: str) -> Element:
    told[setting] = told.pop("setting")
    told["mig"] = told.get("mig", "").rstrip("*")
    if told["name"].endswith("..."):
        del told["name"]
    if not told["mig"]:
        del told["mig"]
    told.update(_ecc(told.pop("ecc")))
    gpu = Element("gpu")
    for name, value in told.items():
        SubElement(gpu, name).text = value
    return gpu


def _ecc(printed: str) -> Mapping[str, str]:
    """A count, `Off`, or nothing; under MIG the column tells something else."""
    if printed.isdecimal():
        return {"ecc": printed, "ecc_mode": "On"}
    return {"ecc_mode": printed} if printed in ("Off", "N/A") else {}


VERSION_BEGINS = lazy_regex(r"^NVIDIA-SMI version *: \d.*$", re.MULTILINE)
_NUMBERS = lazy_regex(
    r"^(?P<name>DRIVER|KMD|CUDA|CUDA UMD) version *: (?P<value>\d[\d.]*)$", re.MULTILINE | re.IGNORECASE
)


def read_version(text: str, _redactor: Redactor) -> Told:
    """Of `nvidia-smi --version`; from R610 on the older names stand without a number."""
    told = {found["name"].partition(" ")[0]: found["value"] for found in _NUMBERS.finditer(text)}
    nvml = Answers(
        driver_version=told.get("KMD", told.get("DRIVER", NOT_READ)), cuda_version=told.get("CUDA", NOT_READ)
    )
    return of_host({"driver": Driver(nvml=nvml)})
