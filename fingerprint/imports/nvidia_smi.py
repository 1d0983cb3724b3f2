"""`nvidia-smi -q -x` as sections: the facts of area `gpu` that it tells, and the driver's version."""

from xml.etree.ElementTree import Element

from fingerprint.imports.nvidia_smi_facts import Dialect, built, facts_of, gpus_of
from fingerprint.imports.nvidia_smi_table import DRIVER, GPU, INSTANCE, PROCESS
from fingerprint.imports.xml import document
from probes.driver import Driver
from probes.gpu.nvlink import slot
from probes.kit.facts import Section
from probes.kit.lazy import lazy_regex

DIALECT = Dialect(GPU, INSTANCE, PROCESS)
ROOT = "nvidia_smi_log"
OTHERS = {
    "NVSMI LOG": "the text of `nvidia-smi -q`",
    "| NVIDIA-SMI": "the table of `nvidia-smi`",
    "GPU 0:": "the list of `nvidia-smi -L`",
    "Unable to determine the device handle": "an error of `nvidia-smi`: one of its GPUs does not answer",
    "NVIDIA-SMI has failed": "an error of `nvidia-smi`: it does not reach the driver",
}
"""What a file may begin with that is something else of nvidia-smi."""
LOOKED_AT = 4000
ADDRESS = lazy_regex(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")


def sections(text: str) -> dict[str, Section]:
    """Area -> section. Raises ValueError, in one sentence, for what is no log of nvidia-smi."""
    log = _log(text)
    gpus = {_slot(gpu): gpu for gpu in log.findall("gpu")}
    return {"gpu": gpus_of(DIALECT, gpus, log), "driver": built(Driver, facts_of(log, DRIVER))}


def _slot(gpu: Element) -> str:
    address = gpu.get("id", "")
    if not ADDRESS.fullmatch(address):
        raise ValueError(f"a log of `nvidia-smi -q -x` with a GPU whose id is no PCI address: {address!r}")
    return slot(address)


def _log(text: str) -> Element:
    """What preloaded libraries printed before and after it is passed over."""
    start, end = text.find(f"<{ROOT}"), text.rfind(f"</{ROOT}>")
    if start < 0:
        raise ValueError(f"no log of `nvidia-smi -q -x`, but {_recognised(text)}")
    if end < 0:
        raise ValueError("a log of `nvidia-smi -q -x` that is cut off before its end")
    declared = text.find("<?xml"), text.find("<!DOCTYPE")
    return document(text[min(at for at in (*declared, start) if at >= 0) : end + len(f"</{ROOT}>")])


def _recognised(text: str) -> str:
    head = text[:LOOKED_AT]
    if not head.strip():
        return "an empty file"
    known = next((what for mark, what in OTHERS.items() if mark in head), None)
    return known or f"a file that begins {head.split(None, 1)[0][:40]!r}"
