"""What readers make of dumps of FINGERPRINT_CORPUS is what a person reads in them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint.imports.files import content
from fingerprint.imports.joined import Piece, joined
from fingerprint.imports.recognised import read
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Key
from fingerprint.walk import value_at
from probes.kit.facts import NOT_READ, Gap, Section
from probes.kit.redact import Redactor

CORPUS = os.environ.get("FINGERPRINT_CORPUS", "")
RAW = Path(CORPUS) / "raw"
pytestmark = pytest.mark.skipif(not CORPUS or not RAW.is_dir(), reason="FINGERPRINT_CORPUS holds no raw dumps")
REDACTOR = Redactor(b"of the tests")
UNSUPPORTED = Gap("unsupported")
MIB = 1 << 20

READ: dict[str, dict[str, Any]] = {
    "nvidia-smi-q/exporter_geforce-rtx-2080-super__610.57.04_load.txt": {
        "driver/nvml/driver_version": "610.57.04",
        "driver/nvml/cuda_version": "13.3",
        "gpu/0000:0c:00.0/power_limit": 250_000,
        "gpu/0000:0c:00.0/enforced_power_limit": 250_000,
        "gpu/0000:0c:00.0/power_default_limit": 250_000,
        "gpu/0000:0c:00.0/power_min_limit": 105_000,
        "gpu/0000:0c:00.0/power_max_limit": 350_000,
        "gpu/0000:0c:00.0/power/draw_instant": 97_750,
        "gpu/0000:0c:00.0/performance_state": "P2",
        "gpu/0000:0c:00.0/pcie/link_gen_current": 3,
        "gpu/0000:0c:00.0/memory/reserved": 400 * MIB,
        "gpu/0000:0c:00.0/memory/bar1_total": 256 * MIB,
        "gpu/0000:0c:00.0/clocks_event_reasons_counters/sw_power_cap": 15_820_333_506,
        "gpu/0000:0c:00.0/clocks/applications/graphics": Gap("retired"),
    },
    "nvidia-smi-q/gls_GTX680_470.256.02.txt": {
        "driver/nvml/cuda_version": "11.4",
        "gpu/0000:08:00.0/name": "NVIDIA GeForce GTX 680",
        "gpu/0000:08:00.0/pci_sub_system_id": "0x353c1458",
        "gpu/0000:08:00.0/fan/speed": 37,
        "gpu/0000:08:00.0/memory/total": 2000 * MIB,
        "gpu/0000:08:00.0/power_limit": UNSUPPORTED,
        "gpu/0000:08:00.0/pcie/link_gen_current": UNSUPPORTED,
        "gpu/0000:08:00.0/clocks_event_reasons/active": UNSUPPORTED,
    },
    "nvidia-smi-q/exporter_h100-mig__590.48.01_idle.txt": {
        "gpu/0000:00:09.0/mig/mode_current": "enabled",
        "gpu/0000:00:09.0/mig/instances/2%2F0/multiprocessors": 60,
        "gpu/0000:00:09.0/mig/instances/3%2F0/copy_engines": 2,
        "gpu/0000:00:09.0/mig/instances/9%2F0/memory_used": 9 * MIB,
        "gpu/0000:00:09.0/mig/instances/10%2F0/multiprocessors": 16,
    },
    "nvidia-smi-csv/exporter_h200__590.48.01_idle.csv": {
        "gpu/0000:83:00.0/vbios_version": "96.00.A5.00.03",
        "gpu/0000:83:00.0/power_min_limit": 200_000,
        "gpu/0000:83:00.0/power/draw_average": 77_710,
        "gpu/0000:83:00.0/power/draw_instant": 78_210,
        "gpu/0000:83:00.0/temperature/margin": 59,
        "gpu/0000:83:00.0/clocks/max/mem": 3201,
        "gpu/0000:83:00.0/memory/total": 143_771 * MIB,
    },
    "topo/nvsentinel_H100DGX8GPU_Mlx5Columns.txt": {
        "gpu/GPU05/affinity/cpus": "48-95,144-191",
        "gpu/GPU05/affinity/memory": "1",
        "gpu/GPU03/affinity/cpus": "0-47,96-143",
        "gpu/GPU00/peers/GPU07/p2p_nvlink": "ok",
        "gpu/GPU00/peers/GPU07/topology": NOT_READ,
    },
    "topo/nvsentinel_WrappedHeaderEightGPUOCI.txt": {
        "gpu/GPU03/affinity/cpus": "0-55",
        "gpu/GPU04/affinity/cpus": "56-111",
        "gpu/GPU04/affinity/memory": "1",
        "gpu/GPU04/affinity/numa_node": UNSUPPORTED,
    },
    "lspci/marcredhat_cmlgpu_lspci.txt": {
        "pcie/gpus/0000:04:00.0/bridges": ("0000:00:02.0",),
        "pcie/gpus/0000:04:00.0/current_link_speed": 8000,
        "pcie/gpus/0000:04:00.0/current_link_width": 16,
        "pcie/gpus/0000:04:00.0/max_payload": 256,
        "pcie/gpus/0000:04:00.0/max_read_request": 4096,
        "pcie/gpus/0000:04:00.0/aspm": "disabled",
        "pcie/gpus/0000:04:00.0/numa_node": 0,
        "pcie/gpus/0000:82:00.0/numa_node": 1,
        "pcie/bridges/0000:00:02.0/max_payload": 256,
    },
    "lspci/asus_x670_bifurcation_lspci_nvidia.log": {
        "pcie/gpus/0000:01:00.0/current_link_width": 8,
        "pcie/gpus/0000:01:00.0/current_link_speed": 2500,
        "pcie/gpus/0000:01:00.0/max_link_width": 16,
        "pcie/gpus/0000:01:00.0/max_link_speed": 16_000,
        "pcie/gpus/0000:01:00.0/aspm": "L1",
        "pcie/gpus/0000:01:00.0/iommu_group": "15",
        "pcie/cards": NOT_READ,
    },
    "ib/ibstat_h100_some_down_0.txt": {
        "network/rdma/mlx5_2/ports/1/state": "DOWN",
        "network/rdma/mlx5_2/ports/1/phys_state": "Disabled",
        "network/rdma/mlx5_2/ports/1/rate": 40_000,
        "network/rdma/mlx5_1/ports/1/link_layer": "Ethernet",
        "network/rdma/mlx5_1/fw_ver": "22.38.1002",
        "network/rdma/mlx5_10/hca_type": "MT4129",
        "network/rdma/mlx5_10/ports/1/lid": 828,
        "network/rdma/mlx5_10/ports/1/sm_lid": 334,
        "network/rdma/mlx5_10/ports/1/rate": 400_000,
    },
    "ib/ibstatus_a100_all_active.txt": {
        "network/rdma/mlx5_1/ports/1/lid": 0x33BE,
        "network/rdma/mlx5_0/ports/1/rate": 200_000,
        "network/rdma/mlx5_0/ports/1/phys_state": "LinkUp",
    },
    "numactl/gh200_numa_gpu_cpu.txt": {
        "numa/online": "0-8",
        "numa/has_memory": "0-1",
        "numa/nodes/node0/cpus": "0-71",
        "numa/nodes/node1/cpus": "",
        "numa/nodes/node1/total": 97_280 * 1024,
        "numa/nodes/node8/distance": (80, 255, 255, 255, 255, 255, 255, 255, 10),
    },
    "nccl-topo/rwkv_topo.xml": {
        "cpu/processor/vendor": "AuthenticAMD",
        "cpu/processor/family": "23",
        "cpu/processor/model": "49",
        "gpu/0000:46:00.0/compute_cap": "8.9",
        "pcie/gpus/0000:46:00.0/numa_node": 2,
        "pcie/gpus/0000:01:00.0/numa_node": 3,
        "pcie/gpus/0000:01:00.0/usable_link_speed": 16_000,
        "pcie/gpus/0000:01:00.0/subsystem_id": "1458:40bf",
    },
    "nccl-topo/a100pcie_nccl_topo_dump.xml": {
        "cpu/processor/family": "6",
        "cpu/processor/model": "106",
        "gpu/0000:65:00.0/pci_device_id": "0x20b510de",
        "pcie/gpus/0000:65:00.0/usable_link_width": 16,
    },
    "kmsg/gpud_memory_oom_dmesg.log": {
        "driver/kernel_log/xids": 17,
        "driver/log/0000:38:00.0/xid/13": 16,
        "driver/log/0000:38:00.0/xid/43": 1,
    },
    "kmsg/bugreport2022_nvrm.log": {"driver/kernel_log/driver_loads": 3, "driver/kernel_log/xids": NOT_READ},
    "procdriver/2080tix4_440.31_proc_driver_nvidia.txt": {
        "kernel/release": "5.0.0-36-generic",
        "kernel/cmdline/vt.handoff": ("1",),
        "driver/module/version": "440.31",
        "gpu/0000:02:00.0/vbios_version": "90.02.0B.00.DF",
        "gpu/0000:84:00.0/minor_number": 3,
    },
    "envreport/full_vllm_7246_NVIDIA-A30x4_525.85.12.txt": {
        "libraries:main/packages/torch/version": "2.4.0",
        "libraries:main/packages/pytorch-triton/version": "3.0.0+989adb9a2",
        "libraries:main/packages/vllm/version": "0.5.4",
        "libraries:main/python": "3.10.12",
        "driver/nvml/driver_version": "525.85.12",
        "kernel/release": "3.10.0-1062.9.1.el7.x86_64",
        "cpu/cores": 64,
        "cpu/caches/L2/size": 1280,
        "cpu/caches/L3/size": 48 << 10,
        "cpu/mitigations/spec_store_bypass": "Vulnerable",
        "gpu/GPU03/peers/GPU00/topology": "SYS",
        "gpu/GPU03/affinity/memory": UNSUPPORTED,
    },
    "envreport/full_sglang_945_NVIDIA-GeForce-RTX-4090x8_535.104.05.txt": {
        "libraries:main/packages/vllm/version": "0.5.3.post1",
        "libraries:main/packages/pillow/version": "7.0.0",
        "libraries:main/packages/pyzmq/version": "26.0.3",
        "gpu/GPU07/name": "NVIDIA GeForce RTX 4090",
        "gpu/GPU02/peers/GPU03/topology": "PIX",
        "gpu/GPU02/peers/GPU04/topology": "NODE",
        "gpu/GPU06/affinity/cpus": "0-31,64-95",
    },
}  # fmt: skip
"""File -> fact -> value. An area stands with its target, where it is of one."""


@pytest.mark.parametrize("name", READ)
def test_a_file_tells_what_was_read_in_it_by_eye(name: str) -> None:
    pieces = [Piece(one.format, one.told) for one in read(content(RAW / name).text, REDACTOR) if one.told]
    sections = joined(pieces).sections
    told = {path: _told(sections, path) for path in READ[name]}
    assert told == READ[name]


def _told(sections: Mapping[Key, Section], path: str) -> Any:
    """As it comes through a strict decode."""
    place, *names = path.split("/")
    area, _, target = place.partition(":")
    section = sections[Key(area, target)]
    decoded = decoder_of(type(section))(msgspec.json.encode(section))
    return value_at(decoded, tuple(name.replace("%2F", "/") for name in names))
