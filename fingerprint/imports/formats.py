"""The formats, in the order in which they are believed where two tell one fact otherwise."""

import re
from collections.abc import Callable

from fingerprint.imports import (
    bug_report,
    environment_report,
    ibstat,
    kernel_log,
    lscpu,
    lspci,
    nccl_topology,
    numactl,
    nvidia_smi,
    nvidia_smi_csv,
    nvidia_smi_list,
    nvidia_smi_summary,
    nvidia_smi_text,
    nvidia_smi_topo,
    proc,
)
from fingerprint.imports.dump import Format, Reader, Told, of_host
from fingerprint.imports.times import moment
from probes.kit.facts import Section
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor

KERNEL_LOG = "a kernel log"
_XML_TIME = lazy_regex(r"<timestamp>([^<]{1,60})</timestamp>")
_TEXT_TIME = lazy_regex(r"^Timestamp +: (.{1,60})$", re.MULTILINE)


def _timed(sections: Callable[[str], dict[str, Section]], printed: re.Pattern[str]) -> Reader:
    def read(text: str, _redactor: Redactor) -> Told:
        found = printed.search(text)
        return of_host(sections(text), moment(found[1]) if found else 0)

    return read


NOT_TAKEN = (
    ("an error of nvidia-smi", r"^NVIDIA-SMI has failed because", "it did not reach the driver"),
    ("an error of nvidia-smi", r"^Unable to determine the device handle for", "one of its GPUs did not answer"),
    ("an error of nvidia-smi", r"^No devices were found[ \t]*$", "there was no GPU that it could open"),
    ("dmidecode", r"^# dmidecode \d", "of the firmware's tables nothing is read"),
    ("ibnetdiscover", r"^(?:Switch|Ca)\t.*# \"", "the fabric beyond this host; `ibstat` is read"),
    ("ibnetdiscover", r"^vendid=0x[0-9a-f]+[ \t]*$", "the fabric beyond this host; `ibstat` is read"),
    ("rocm-smi", r"^=+ ?ROCm System Management Interface ?=+", "of AMD's GPUs nothing is read yet"),
)
"""Name, the line that it begins with, and why nothing of it is taken."""

FORMATS: tuple[Format, ...] = (
    Format("nvidia-smi -q -x", lazy_regex(r"<nvidia_smi_log\b"), _timed(nvidia_smi.sections, _XML_TIME), closed=True),
    Format("nvidia-smi -q", nvidia_smi_text.HEAD, _timed(nvidia_smi_text.sections, _TEXT_TIME), closed=True),
    Format("nvidia-smi --query-gpu", nvidia_smi_csv.BEGINS, nvidia_smi_csv.read, closed=True),
    Format("/proc/driver/nvidia/version", proc.VERSION_BEGINS, proc.read_version),
    Format("/proc/driver/nvidia/params", proc.PARAMETERS_BEGINS, proc.read_parameters),
    Format("/proc/driver/nvidia/gpus", proc.INFORMATION_BEGINS, proc.read_information, continued=True),
    Format("/proc/cmdline", proc.CMDLINE_BEGINS, proc.read_cmdline),
    Format("/proc/version", proc.RELEASE_BEGINS, proc.read_release),
    Format("uname -a", proc.UNAME_BEGINS, proc.read_uname, closed=True),
    Format("lscpu", lscpu.BEGINS, lscpu.read, continued=True),
    Format("lscpu -J", lscpu.JSON_BEGINS, lscpu.read_json, closed=True),
    Format("lscpu -e", lscpu.TABLE_BEGINS, lscpu.read_table),
    Format("numactl -H", numactl.BEGINS, numactl.read),
    Format("numactl --show", numactl.SHOW_BEGINS, numactl.SHOW),
    Format("lspci", lspci.BEGINS, lspci.read, continued=True),
    Format("lspci -t", lspci.TREE_BEGINS, lspci.TREE, continued=True),
    Format("ibstat", ibstat.BEGINS, ibstat.read, continued=True),
    Format("ibstatus", ibstat.STATUS_BEGINS, ibstat.read_status, continued=True),
    Format(KERNEL_LOG, kernel_log.BEGINS, kernel_log.read, lines=True),
    Format("nvidia-smi", nvidia_smi_summary.BEGINS, nvidia_smi_summary.read, closed=True),
    Format("nvidia-smi --version", nvidia_smi_summary.VERSION_BEGINS, nvidia_smi_summary.read_version),
    Format("nvidia-smi -L or nvlink", nvidia_smi_list.BEGINS, nvidia_smi_list.read, continued=True, closed=True),
    Format("nvidia-smi topo -m", nvidia_smi_topo.BEGINS, nvidia_smi_topo.read, closed=True),
    *(
        Format(name, lazy_regex(begins, re.MULTILINE), why, continued=True, closed=True)
        for name, begins, why in NOT_TAKEN
    ),
    Format("a topology of NCCL", nccl_topology.BEGINS, nccl_topology.read, closed=True),
    Format("a graph of NCCL", nccl_topology.GRAPH_BEGINS, nccl_topology.GRAPH),
    Format(
        "collect_env of torch or vLLM", environment_report.COLLECT_BEGINS, environment_report.read_collected, whole=True
    ),
    Format("check_env of SGLang", environment_report.CHECK_BEGINS, environment_report.read_checked, whole=True),
    Format("nvidia-bug-report.sh", bug_report.BEGINS, bug_report.read, whole=True),
)
