"""`nvidia-smi --query-gpu=... --format=csv`: the facts of its XML by the names of its queries."""

import csv
import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, SubElement

from fingerprint.imports import nvidia_smi_table as xml
from fingerprint.imports.dump import Told, numbered, of_host
from fingerprint.imports.nvidia_smi_facts import Dialect, built, facts_of, gpus_of
from fingerprint.imports.nvidia_smi_table import Told as Row
from fingerprint.imports.nvidia_smi_text import named
from fingerprint.imports.times import moment
from probes.driver import Driver
from probes.gpu.nvlink import slot
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor

_KNOWN = (
    r"index|uuid|name|gpu_name|timestamp|driver_version|pci\.bus_id|gpu_bus_id|memory\.(?:total|used|free) \[MiB\]"
    r"|utilization\.(?:gpu|memory) \[%\]|temperature\.gpu|power\.(?:draw|limit) \[W\]|pstate|count|serial"
    r"|clocks\.(?:current\.)?(?:sm|graphics|gr) \[MHz\]"
)
BEGINS = lazy_regex(rf"^(?:{_KNOWN})(?:, ?[a-z_.A-Z0-9]+(?: \[[^]]*\])?)*, ?(?:{_KNOWN})(?:,.*)?$", re.MULTILINE)
_NUMBER = lazy_regex(r"-?\d+(?:\.\d+)?")
_ADDRESS = lazy_regex(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")

_SAME = (
    "uuid serial vbios_version persistence_mode compute_mode addressing_mode display_active name=name|gpu_name "
    "performance_state=pstate driver_model=driver_model_current driver_model_pending=driver_model_pending "
    "accounting_mode=accounting_mode pci_device_id=pci_device_id pci_sub_system_id=pci_sub_device_id "
    "gom=gom_current gom_pending=gom_pending mig/mode_current=mig_mode_current mig/mode_pending=mig_mode_pending "
    "inforom/img=inforom_img inforom/oem=inforom_oem inforom/ecc=inforom_ecc inforom/pwr=inforom_pwr "
    "power_limit=power_limit enforced_power_limit=enforced_power_limit power_default_limit=power_default_limit "
    "power_min_limit=power_min_limit power_max_limit=power_max_limit power/draw=power_draw "
    "power/draw_average=power_draw_average power/draw_instant=power_draw_instant "
    "clocks/graphics=clocks_current_graphics|clocks_graphics|clocks_gr clocks/sm=clocks_current_sm|clocks_sm "
    "clocks/mem=clocks_current_memory|clocks_mem clocks/video=clocks_current_video|clocks_video "
    "clocks/max/graphics=clocks_max_graphics|clocks_max_gr clocks/max/sm=clocks_max_sm "
    "clocks/max/mem=clocks_max_memory|clocks_max_mem clocks/applications/graphics=clocks_applications_graphics "
    "clocks/applications/mem=clocks_applications_memory "
    "clocks/default_applications/graphics=clocks_default_applications_graphics "
    "clocks/default_applications/mem=clocks_default_applications_memory utilization/gpu=utilization_gpu "
    "utilization/memory=utilization_memory temperature/gpu=temperature_gpu temperature/memory=temperature_memory "
    "temperature/margin=temperature_gpu_tlimit fan/speed=fan_speed memory/total=memory_total "
    "memory/used=memory_used memory/free=memory_free memory/reserved=memory_reserved "
    "ecc/mode_current=ecc_mode_current ecc/mode_pending=ecc_mode_pending "
    "ecc/sram_threshold_exceeded=ecc_errors_uncorrected_aggregate_sram_thresholdexceeded "
    "health/recovery_action=gpu_recovery_action "
    "pcie/link_gen_current=pcie_link_gen_gpucurrent|pcie_link_gen_current pcie/link_gen_max=pcie_link_gen_max "
    "pcie/link_gen_gpumax=pcie_link_gen_gpumax pcie/link_width_current=pcie_link_width_current "
    "pcie/link_width_max=pcie_link_width_max fabric/state=fabric_state fabric/status=fabric_status "
    "fabric/clique_id=fabric_cliqueid fabric/cluster_uuid=fabric_clusteruuid "
    "nvlink/c2c_mode=c2c_mode confidential/protected_used=protected_memory_used"
)
"""Fact=query, or a fact that is called as its query is; `|` stands between queries for one fact, the first counts."""
_ERRORS = {
    f"ecc/{scope}/{fact}": f"ecc_errors_{kind}_{scope}_{where}"
    for scope in ("volatile", "aggregate")
    for fact, kind, where in (
        ("corrected", "corrected", "total"),
        ("uncorrected", "uncorrected", "total"),
        ("dram_corrected", "corrected", "dram"),
        ("dram_uncorrected", "uncorrected", "dram"),
        ("sram_corrected", "corrected", "sram"),
        ("sram_uncorrected", "uncorrected", "sram"),
        ("sram_uncorrected_parity", "uncorrected", "sram_parity"),
        ("sram_uncorrected_secded", "uncorrected", "sram_secded"),
    )
}
_ROWS = {
    f"health/remapped_rows/{name}": f"remapped_rows_{name}"
    for name in ("correctable", "uncorrectable", "pending", "failure", "correctable_inactive", "uncorrectable_inactive")
}
_REASONS = {fact: f"{fact.replace('/', '_')}|clocks_throttle_reasons_{fact.rpartition('/')[2]}" for fact in xml.EVENTS}
_COUNTERS = {fact: fact.replace("/", "_") for fact in xml.EVENT_COUNTERS}
_BARE = frozenset(
    "pcie/link_width_current pcie/link_width_max temperature/gpu temperature/memory temperature/margin".split()
)
"""Printed without a unit."""


def _queries() -> Iterator[tuple[str, str]]:
    for pair in _SAME.split():
        fact, _, query = pair.partition("=")
        yield fact, query or fact
    for table in (_ERRORS, _ROWS, _REASONS, _COUNTERS):
        yield from table.items()


def _row(fact: str, queries: str) -> Row:
    return Row(xml.count if fact in _BARE else xml.GPU[fact].read, tuple(queries.split("|")))


GPU: Mapping[str, Row] = {fact: _row(fact, queries) for fact, queries in _queries()}
DIALECT = Dialect(GPU, {}, {})
DRIVER: Mapping[str, Row] = {"nvml/driver_version": Row(str, ("kmd_version", "driver_version"))}


def read(text: str, _redactor: Redactor) -> Told:
    """Of several samples of a GPU, as `-l` prints them, the last."""
    header, *rows = csv.reader(text.splitlines(), skipinitialspace=True)
    elements = [_element(header, row) for row in rows if len(row) == len(header)]
    if not elements:
        raise ValueError("a header of `nvidia-smi --query-gpu` without a whole row below it")
    gpus = {_key(element, elements): element for element in elements}
    last = elements[-1]
    whole = Element("log")
    SubElement(whole, "attached_gpus").text = last.findtext("count", "")
    sections = {"gpu": gpus_of(DIALECT, gpus, whole), "driver": built(Driver, facts_of(last, DRIVER))}
    return of_host(sections, moment(last.findtext("timestamp", "")), _host(last))


def _element(header: list[str], row: list[str]) -> Element:
    """With `nounits` the unit stands in the header alone."""
    element = Element("gpu")
    for name, value in zip(header, row, strict=True):
        query, _, unit = name.rstrip("]").partition(" [")
        below = SubElement(element, named(query))
        below.text = f"{value} {unit}" if unit and _NUMBER.fullmatch(value.strip()) else value.strip()
    return element


def _key(element: Element, all_of_them: list[Element]) -> str:
    """By address, else by number, else by the order in which they appear."""
    address = element.findtext("pci_bus_id") or element.findtext("gpu_bus_id") or ""
    if _ADDRESS.fullmatch(address):
        return slot(address)
    index = element.findtext("index", "")
    if index.isdecimal():
        return numbered(index)
    units = list(dict.fromkeys(other.findtext("uuid", "") for other in all_of_them))
    if "" in units:
        raise ValueError(
            "a table of `nvidia-smi --query-gpu` that does not tell GPUs apart: query pci.bus_id, index or uuid as well"
        )
    return numbered(units.index(element.findtext("uuid", "")))


def _host(row: Element) -> str:
    name = row.findtext("hostname", "")
    return "" if name.startswith("[") else name
