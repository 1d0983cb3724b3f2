"""Flags and boot parameters are known by their family, and by none where nobody knows them."""

import pytest

from fingerprint.explain.mechanisms import phases_of, rule, rules_of
from fingerprint.explain.mechanisms.graph import Phase
from probes.kit.paths import FactPath

FLAGS = {
    "served-model": "--model --model-path -m -hf --revision",
    "number-formats": "--dtype --quantization -q",
    "parallelism": "--tensor-parallel-size --tp -tp --pp-size --data-parallel-size --ep-size --nnodes --split-mode -ts",
    "no-custom-all-reduce": "--disable-custom-all-reduce",
    "all-reduce-flags": "--enable-nccl-nvls --all2all-backend --moe-a2a-backend",
    "batches": "--max-num-seqs --max-running-requests --parallel",
    "prefill-chunks": "--max-num-batched-tokens --chunked-prefill-size -ub",
    "no-graphs": "--enforce-eager --disable-cuda-graph",
    "graphs-and-eager": "--cuda-graph-max-bs --compilation-config -cc -O3",
    "attention-kernels": "--attention-backend --decode-attention-backend -fa --mamba-backend",
    "matrix-kernels": "--moe-runner-backend --fp8-gemm-backend --linear-backend --enable-eplb",
    "speculation-flags": "--speculative-config --speculative-num-steps --spec-model --draft-max -md",
    "cache-size": "--gpu-memory-utilization --mem-fraction-static --max-model-len --kv-cache-dtype -ctk --ctx-size",
    "no-prefix-caching": "--no-enable-prefix-caching --disable-radix-cache",
    "prefix-caching": "--enable-prefix-caching --cache-reuse",
    "layers-on-the-gpu": "-ngl --n-gpu-layers --n-cpu-moe -ot --no-kv-offload",
    "weights-from-the-host": "--cpu-offload-gb --offload-mode --kv-offloading-size --kt-cpuinfer",
    "cache-tiers": "--hicache-ratio --enable-hierarchical-cache --disaggregation-mode --kv-transfer-config",
    "loading-weights": "--no-mmap --mlock --direct-io --load-format --safetensors-load-strategy",
    "thread-flags": "--threads -t --threads-batch --cpu-range --poll",
    "numa-flags": "--numa --numa-bind --numa-node",
    "no-overlap": "--disable-overlap-schedule --no-async-scheduling",
    "steps-on-the-host": "--async-scheduling --enable-dbo --stream-interval",
    "front-end": "--api-server-count --tokenizer-worker-num --grammar-backend --chat-template --tool-call-parser",
    "logs-and-traces": "--log-level --disable-log-stats --enable-metrics --otlp-traces-endpoint -v",
    "server-address": "--host --port --master-port --api-key",
    "server-names": "--served-model-name --alias --root-path --cors-origins",
    "sampling-and-seeds": "--seed --temperature --top-p --generation-config",
    "benchmark-load": "--num-prompts --request-rate --max-concurrency --random-input-len --dataset-name --n-gen",
    "configuration-file": "--config --extra-llm-api-options",
    "arguments": "--a-flag-of-nobody -z",
}
PARAMETERS = {
    "boot-iommu": "iommu amd_iommu intel_iommu iommu.passthrough",
    "boot-iommu-flush": "iommu.strict",
    "boot-pci": "pci",
    "boot-link-sleep": "pcie_aspm",
    "boot-pcie": "pcie_bus_perf",
    "boot-gpu-modules": "nvidia.NVreg_EnableGpuFirmware",
    "display-parameters": "nvidia_drm.modeset",
    "shared-gpu-memory": "amdgpu.gttsize ttm.pages_limit",
    "boot-drivers-kept-out": "modprobe.blacklist rd.driver.blacklist",
    "boot-mitigations": "mitigations spectre_v2 retbleed",
    "boot-page-table-isolation": "nopti",
    "boot-isolation": "isolcpus",
    "boot-tickless": "nohz_full rcu_nocbs",
    "boot-interrupt-placement": "irqaffinity",
    "boot-watchdogs": "nmi_watchdog nowatchdog",
    "boot-cpus": "nosmt maxcpus",
    "boot-idle": "intel_idle.max_cstate processor.max_cstate",
    "boot-idle-polling": "idle",
    "boot-clocks": "intel_pstate amd_pstate",
    "boot-timekeeping": "clocksource tsc",
    "boot-huge-pages": "transparent_hugepage",
    "boot-huge-page-pool": "hugepages hugepagesz default_hugepagesz",
    "boot-numa": "numa",
    "boot-numa-balancing": "numa_balancing",
    "boot-memory-size": "mem crashkernel",
    "boot-memory-clearing": "init_on_alloc",
    "boot-accounting": "psi",
    "boot-cgroups": "cgroup_disable systemd.unified_cgroup_hierarchy",
    "boot-console": "console quiet loglevel",
    "boot-root": "root ro",
    "boot-start-only": "rd.lvm.lv",
    "kernel-command-line": "a_parameter_of_nobody --",
}
LINES = [
    (name, path)
    for above, families in ((("process", "main", "flags"), FLAGS), (("kernel", "cmdline"), PARAMETERS))
    for name, keys in families.items()
    for path in (FactPath((*above, key)) for key in keys.split())
]


@pytest.mark.parametrize(("name", "path"), LINES, ids=[str(path) for _, path in LINES])
def test_it_is_known_by_its_family(name: str, path: FactPath) -> None:
    assert name in [one.name for one in rules_of(path)]


@pytest.mark.parametrize("general", ["arguments", "kernel-command-line"])
def test_the_rule_of_those_that_nobody_knows_is_about_no_other(general: str) -> None:
    known = [path for name, path in LINES if name not in ("arguments", "kernel-command-line")]
    assert [path for path in known if general in [one.name for one in rules_of(path)]] == []


@pytest.mark.parametrize(
    ("name", "phases"),
    [
        ("server-address", {"completion"}),
        ("speculation-flags", {"accept length", "verify step"}),
        ("prefix-caching", {"prefill"}),
    ],
)
def test_a_family_reaches_what_it_is_about(name: str, phases: set[Phase]) -> None:
    reached = set(phases_of(rule(name)))
    assert phases <= reached
    assert name != "server-address" or reached == phases
