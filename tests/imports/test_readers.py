"""Each format's facts: values that were read by eye in dumps of real machines."""

from typing import Any

import msgspec
import pytest

from fingerprint.imports.files import plain
from fingerprint.imports.joined import Piece, joined
from fingerprint.imports.recognised import read
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Key
from fingerprint.walk import value_at
from probes.kit.facts import NOT_READ, Gap, Redacted
from probes.kit.redact import Redactor
from tests.imports import texts

REDACTOR = Redactor(b"of the tests")
UNSUPPORTED = Gap("unsupported")


def of(text: str, path: str, target: str = "") -> Any:
    """The fact that a text tells, as it comes through a strict decode."""
    pieces = [Piece(one.format, one.told) for one in read(plain(text), REDACTOR) if one.told]
    area, *names = path.split("/")
    section = joined(pieces).sections[Key(area, target)]
    return value_at(decoder_of(type(section))(msgspec.json.encode(section)), tuple(names))


GPU = "gpu/0000:53:00.0"


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        (texts.H100, f"{GPU}/name", "NVIDIA H100 80GB HBM3"),
        (texts.H100, f"{GPU}/power_limit", 650_000),
        (texts.H100, f"{GPU}/enforced_power_limit", 700_000),
        (texts.H100, f"{GPU}/power/draw", 118_010),
        (texts.H100, f"{GPU}/pci_device_id", "0x233010de"),
        (texts.H100, f"{GPU}/pcie/link_width_current", 16),
        (texts.H100, f"{GPU}/clocks_event_reasons/active", "sw_thermal_slowdown hw_power_brake_slowdown"),
        (texts.H100, f"{GPU}/busy", 1),
        (texts.H100, f"{GPU}/ecc/aggregate/dram_uncorrected", 1),
        (texts.H100, f"{GPU}/health/remapped_rows/histogram/max", 2559),
        (texts.H100, f"{GPU}/memory/total", 81559 << 20),
        (texts.H100, f"{GPU}/processes/4711/used_memory", 300 << 20),
        (texts.H100, f"{GPU}/processes/4712/type", "graphics"),
        (texts.H100, f"{GPU}/index", 0),
        (texts.H100, "gpu/0000:64:00.0/health/remapped_rows/pending", UNSUPPORTED),
        (texts.H100, "driver/nvml/cuda_version", "12.2"),
        (texts.TABLE, f"{GPU}/enforced_power_limit", 700_000),
        (texts.TABLE, f"{GPU}/compute_mode", "exclusive_process"),
        (texts.TABLE, f"{GPU}/memory/used", 19818 << 20),
        (texts.TABLE, f"{GPU}/ecc/mode_current", "enabled"),
        (texts.TABLE, f"{GPU}/mig/instances", NOT_READ),
        (texts.TABLE, "gpu/0000:64:00.0/name", NOT_READ),
        (texts.TABLE, "gpu/0000:64:00.0/index", 1),
        (texts.TABLE, "gpu/0000:64:00.0/fan/speed", 37),
        (texts.CSV, "gpu/0000:64:00.0/power_limit", 650_000),
        (texts.CSV, "gpu/0000:64:00.0/ecc/mode_current", "disabled"),
        (texts.CSV, f"{GPU}/fan/speed", UNSUPPORTED),
        (texts.CSV.replace(" W,", ",").replace(" MiB,", ","), f"{GPU}/power_limit", 700_000),
        (texts.LIST, "gpu/GPU00/nvlink/active", 1),
        (texts.LIST, "gpu/GPU01/nvlink/links/1/speed", 26562),
        (texts.LIST, "gpu/GPU00/nvlink/links/1/state", "inactive"),
        (texts.ERRORS, "gpu/GPU00/nvlink/errors/replay", 7),
        (texts.ERRORS, "gpu/GPU00/nvlink/errors/crc", 42),
        (texts.TOPO, "gpu/GPU00/peers/GPU01/p2p_nvlink", "ok"),
        (texts.TOPO, "gpu/GPU00/peers/GPU01/topology", NOT_READ),
        (texts.TOPO, "gpu/GPU02/peers/GPU00/topology", "SYS"),
        (texts.TOPO, "gpu/GPU02/affinity/cpus", "32-63,96-127"),
        (texts.TOPO, "gpu/GPU02/affinity/memory", "1"),
        (texts.TOPO, "gpu/GPU02/affinity/numa_node", UNSUPPORTED),
        (texts.LSCPU, "cpu/cores", 64),
        (texts.LSCPU, "cpu/caches/L2/size", 2048),
        (texts.LSCPU, "cpu/caches/L3/size", 61440),
        (texts.LSCPU, "cpu/processor/model", "143"),
        (texts.LSCPU, "cpu/processor/hypervisor", False),
        (texts.LSCPU, "cpu/mitigations/l1tf", "Not affected"),
        (texts.LSCPU, "cpu/mitigations/spec_store_bypass", NOT_READ),
        (texts.LSCPU, "numa/nodes/node1/cpus", "32-63,96-127"),
        (texts.NUMACTL, "numa/nodes/node1/distance", (80, 10, 255)),
        (texts.NUMACTL, "numa/has_cpu", "0"),
        (texts.NUMACTL, "numa/has_memory", "0-1"),
        (texts.NUMACTL, "numa/nodes/node0/total", 490029 * 1024),
        (texts.PROC, "driver/module/version", "440.31"),
        (texts.PROC, "numa/has_memory", "0-1"),
        (texts.PROC, "driver/module/flavour", "proprietary"),
        (texts.PROC, "driver/module/parameters/EnableMSI", "1"),
        (texts.PROC, "gpu/0000:02:00.0/vbios_version", "90.02.0B.00.DF"),
        (texts.PROC, "gpu/0000:03:00.0/uuid", NOT_READ),
        (texts.PROC, "gpu/0000:03:00.0/minor_number", 1),
        (texts.KERNEL_LOG, "driver/log/0000:53:00.0/xid/79", 1),
        (texts.KERNEL_LOG, "driver/log/0000:53:00.0/fallen_off_bus", 1),
        (texts.KERNEL_LOG, "driver/log/0000:52:01.0/aer_corrected", 1),
        (texts.KERNEL_LOG, "driver/kernel_log/driver_loaded_at", 12),
        (texts.KERNEL_LOG, "driver/kernel_log/api_mismatches", 0),
        (texts.KERNEL_LOG, "kernel/release", "6.8.0-40-generic"),
        (texts.KERNEL_LOG, "kernel/cmdline/iommu", ("pt",)),
        (texts.KERNEL_LOG, "kernel/troubles/warn_count", 1),
        (texts.KERNEL_LOG, "kernel/troubles/oops_count", 0),
        (texts.KERNEL_LOG, "memory/vmstat/oom_kill", 1),
        (texts.COLLECT_ENV, "kernel/release", "5.14.0-362.8.1.el9_3.x86_64"),
        (texts.COLLECT_ENV, "driver/nvml/driver_version", "550.127.05"),
        (texts.COLLECT_ENV, "gpu/GPU02/name", "NVIDIA H200"),
        (texts.COLLECT_ENV, "gpu/GPU02/affinity/cpus", "32-63,96-127"),
        (texts.COLLECT_ENV, "cpu/processor/model_name", "Intel(R) Xeon(R) Platinum 8462Y+"),
        (texts.CHECK_ENV, "gpu/GPU01/compute_cap", "8.0"),
        (texts.CHECK_ENV, "driver/nvml/driver_version", "550.144.03"),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/bridges", ("0000:00:03.0", "0000:01:00.0", "0000:02:08.0")),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/max_link_speed", 16_000),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/current_link_speed", 2500),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/aspm", "L1"),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/relaxed_ordering", True),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/max_read_request", 512),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/driver", "nvidia"),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/narrowest/hop", "0000:01:00.0"),
        (texts.LSPCI, "pcie/gpus/0000:03:00.0/narrowest/width", 8),
        (texts.LSPCI, "pcie/bridges/0000:01:00.0/usable_link_width", 16),
        (texts.LSPCI, "pcie/bridges/0000:00:03.0/acs_control", ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")),
        (texts.LSPCI, "pcie/bridges/0000:00:03.0/current_link_width", UNSUPPORTED),
        (texts.LSPCI, "pcie/bridges/0000:01:00.0/current_link_width", 8),
        (texts.LSPCI, "pcie/cards/0000:05:00.0/kind", "nic"),
        (texts.LSPCI, "pcie/cards/0000:05:00.0/current_link_width", UNSUPPORTED),
        (texts.LSPCI.partition("\n\n")[2], "pcie/cards", NOT_READ),
        ("06:00.0 3D controller [0302]: NVIDIA Corporation GA102GL [A10] [10de:2236] (rev a1)\n",
         "pcie/gpus/0000:06:00.0/pci_id", "10de:2236"),
        (texts.IBSTAT, "network/rdma/mlx5_0/fw_ver", "28.39.1002"),
        (texts.IBSTAT, "network/rdma/mlx5_0/ports/1/rate", 400_000),
        (texts.IBSTAT, "network/rdma/mlx5_0/ports/1/lid", 13247),
        (texts.IBSTAT, "network/rdma/mlx5_0/node_guid", REDACTOR.redacted("76f4:0fcb:f57a:a64a")),
        (texts.IBSTAT, "network/rdma/mlx4_0/ports/1/state", "INIT"),
        (texts.IBSTAT, "network/rdma/mlx4_0/ports/1/rate", NOT_READ),
        (texts.IBSTATUS, "network/rdma/mlx5_0/ports/1/rate", 200_000),
        (texts.IBSTATUS, "network/rdma/mlx5_0/ports/1/lid", 0x33BF),
        (texts.IBSTATUS, "network/rdma/mlx5_0/ports/1/state", "ACTIVE"),
        (texts.NCCL, "gpu/0000:01:00.0/compute_cap", "8.9"),
        (texts.NCCL, "gpu/0000:01:00.0/pci_device_id", "0x268410de"),
        (texts.NCCL, "cpu/processor/family", "23"),
        (texts.NCCL.replace("AuthenticAMD", "GenuineIntel").replace("143", "6"), "cpu/processor/family", "6"),
        (texts.NCCL, "pcie/gpus/0000:01:00.0/subsystem_id", "1043:889a"),
        (texts.NCCL, "pcie/gpus/0000:01:00.0/usable_link_speed", 8000),
        (texts.NCCL, "pcie/gpus/0000:01:00.0/numa_node", 0),
    ],
)  # fmt: skip
def test_a_dump_tells_its_facts_in_their_units(text: str, path: str, value: Any) -> None:
    assert of(text, path) == value


@pytest.mark.parametrize(
    ("text", "package", "version"),
    [
        (texts.COLLECT_ENV, "torch", "2.5.1"),
        (texts.COLLECT_ENV, "nvidia-nccl-cu12", "2.21.5"),
        (texts.COLLECT_ENV, "vllm", "0.7.2"),
        (texts.CHECK_ENV, "torch", "2.5.1+cu124"),
        (texts.CHECK_ENV, "sgl-kernel", "0.0.5"),
        (texts.CHECK_ENV, "pyzmq", "26.3.0"),
    ],
)
def test_a_report_tells_versions_by_the_names_of_distributions(text: str, package: str, version: str) -> None:
    assert of(text, f"libraries/packages/{package}/version", "main") == version


def test_a_newer_layout_of_a_report_tells_the_same() -> None:
    newer = texts.COLLECT_ENV.replace("PyTorch version: ", "PyTorch version              : ").replace(
        "Nvidia driver version: ", "Nvidia driver version        : "
    )
    assert of(newer, "driver/nvml/driver_version") == "550.127.05"
    assert of(newer, "libraries/packages/torch/version", "main") == "2.5.1"


def test_variables_of_a_report_are_redacted_as_those_of_a_process() -> None:
    env = of(texts.COLLECT_ENV, "process/env", "main").items
    assert env["NCCL_CUMEM_ENABLE"] == "0"
    assert isinstance(env["OPENAI_API_KEY"], Redacted)


def test_what_a_log_that_begins_after_boot_does_not_hold_is_not_told() -> None:
    later = texts.KERNEL_LOG.partition("\n")[2]
    assert of(later, "driver/kernel_log/xids") == 1
    assert of(later, "driver/kernel_log/api_mismatches") is NOT_READ


@pytest.mark.parametrize(
    "line",
    [
        "6,3964,206764307,-;NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, gone",
        "kern  :warn  : 2025-01-21T02:21:33,498559+00:00 NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, gone",
        "[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, gone",
        "Feb 23 16:24:18 gpu-07 kernel: NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, gone",
        "2025-02-23T16:24:18+0000 gpu-07 kernel: NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, gone",
        "<4>[ 1108.858286] NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, gone",
        "NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, gone",
    ],
)
def test_a_line_of_the_kernel_is_read_however_it_is_stamped(line: str) -> None:
    assert of(f"something else\n{line}\n", "driver/log/0000:53:00.0/xid/79") == 1


@pytest.mark.parametrize(
    "line",
    [
        "kern  :warn  : 2026-01-21T04:41:44,285060+00:00 VFS: file-max limit 1000000 reached",
        "kern  :info  : [    1.234567] random: crng init done",
        "6,3986,242226782,-;wireguard: loaded",
    ],
)
def test_a_kernels_log_that_tells_nothing_is_recognised_all_the_same(line: str) -> None:
    [found] = read(f"{line}\n", REDACTOR)
    assert found.format == "a kernel log"
    assert found.told is None or not found.told.sections  # of one that says when it was, that is taken


def test_a_log_that_a_report_holds_twice_is_counted_once() -> None:
    journal = "".join(f"Feb 23 16:24:18 gpu-07 kernel: {line}\n" for line in texts.KERNEL_LOG.splitlines()[3:])
    assert of(f"{texts.KERNEL_LOG}\n{journal}", "driver/log/0000:53:00.0/xid/79") == 1


def test_of_several_boots_the_last_counts() -> None:
    assert of(texts.KERNEL_LOG * 2, "driver/log/0000:53:00.0/xid/79") == 1
    assert of(texts.KERNEL_LOG + texts.KERNEL_LOG.partition("[  100")[0], "driver/kernel_log/xids") == 0


def test_distances_to_cards_that_have_no_address_are_left_out_and_that_is_said() -> None:
    with_cards = "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\nGPU0\t X \tPIX\tPXB\t0-7\nGPU1\tPIX\t X \tSYS\t0-7\n"
    [one] = read(with_cards, REDACTOR)
    assert one.says.endswith("names network cards without their addresses: how far GPUs are from them is left out")
    assert of(with_cards, "gpu/GPU00/peers/GPU01/topology") == "PIX"
    [without] = read("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPIX\t0-7\nGPU1\tPIX\t X \t0-7\n", REDACTOR)
    assert without.says == ""


def test_what_links_can_is_no_fact_and_the_gpus_of_such_a_list_are_taken() -> None:
    text = "GPU 0: NVIDIA A100 (UUID: GPU-1a)\n\t Link 0, P2P is supported: true\n\t Link 0, SLI is supported: false\n"
    assert (of(text, "gpu/GPU00/uuid"), of(text, "gpu/GPU00/nvlink/link_count")) == ("GPU-1a", NOT_READ)


def test_what_a_shell_may_use_is_refused_with_what_is_read_instead() -> None:
    [one] = read("policy: default\npreferred node: current\nphyscpubind: 0 1\n", REDACTOR)
    assert one.told is None
    assert "`numactl -H` is read" in one.says


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (texts.H100.replace(": 2\nGPU", ": 8\nGPU"), "tells of 2 of 8 GPUs: it is cut off"),
        (texts.TOPO.replace("GPU2\tSYS", "G"), "names 3 GPUs and has rows of 2"),
        (texts.TOPO.replace("GPU1\tNV18\t X ", "GPU1\t X \tNV18"), "the row of GPU1 does not fit the others"),
        (texts.NUMACTL[: texts.NUMACTL.index("node 2")], "tells of 2 of 3 nodes"),
        (texts.LIST[: texts.LIST.rindex("\t")], "GPU 1 has 1, the others 2"),
        (texts.IBSTAT[: texts.IBSTAT.index("\tPort 1")], "mlx5_0 has 0 of its ports"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "did not reach the driver"),
        ("# dmidecode 3.2\nGetting SMBIOS data from sysfs.\n", "nothing is read"),
        ("-[0000:00]-+-00.0  Intel Corporation\n", "`lspci -vvv` is read"),
        ("00:1f.0 ISA bridge: Intel Corporation C226 LPC (rev 04)\n", "without a GPU, a network card"),
        (texts.NCCL.replace(' sm="89"', ""), "in which no GPU says what it is"),
        (texts.NCCL[:-10], "cut off before its end"),
        ('{"lscpu": [{"field": "Arch', "cut off or damaged"),
        ("name, memory.total [MiB]\nNVIDIA L4, 23034 MiB\n", "does not tell GPUs apart"),
    ],
)
def test_what_would_tell_wrong_is_refused_in_a_sentence(text: str, words: str) -> None:
    [one] = read(plain(text), REDACTOR)
    assert one.told is None
    assert words in one.says
