"""Modes of a GPU: confidential computing, persistence, addressing, firmware, driver model."""

from fingerprint.explain.mechanisms.graph import Rule

NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"
PERSISTENCE = "https://docs.nvidia.com/deploy/driver-persistence/index.html"

RULES: tuple[Rule, ...] = (
    Rule(
        name="confidential-computing",
        sees=("driver/confidential_computing/feature", "gpu/*/confidential/protected_size"),
        moves=("pcie link", "launch latency"),
        best=("disabled",),
        breaks="seldom",
        usual=(1.03, 3.3),
        beside=("driver/confidential_computing/multi_gpu_mode", "gpu/*/confidential/dram_encryption_current"),
        why="What crosses the bus is encrypted and passes a bounce buffer, and asynchronous copies become "
        "synchronous: 18 % at one request, 3 % at 256. An engine upgrade cost 3.3x, and only where this was on.",
        confirm="nvidia-smi conf-compute -f on both; the same versions with the feature off",
        confirmed=1,
        sources=(
            "https://github.com/sgl-project/sglang/pull/15188",
            "https://github.com/vllm-project/vllm/issues/57680",
        ),
    ),
    Rule(
        name="confidential-peers",
        sees=("driver/confidential_computing/multi_gpu_mode",),
        moves=("collective", "nvlink"),
        breaks="seldom",
        beside=("driver/confidential_computing/feature",),
        why="Whether peers may talk over NVLink at all, and encrypted or not: under protected PCIe they do so in the "
        "clear, and the bus alone is encrypted.",
        confirm="nvidia-smi conf-compute -mgm on both; all_reduce_perf (nccl-tests)",
        sources=(NVML,),
    ),
    Rule(
        name="memory-encryption",
        sees=("gpu/*/confidential/dram_encryption_current",),
        moves=("gpu memory bandwidth",),
        best=("disabled",),
        why="All that is read from memory is decrypted on the way. No measured effect was found.",
        confirm="a copy within device memory on both (nvbandwidth -t device_local_copy)",
        sources=(NVML,),
    ),
    Rule(
        name="persistence-start",
        sees=(
            "gpu/*/persistence_mode",
            "driver/daemons/nvidia-persistenced/running",
            "driver/daemons/nvidia-persistenced/arguments",
        ),
        moves=("gpu initialisation",),
        best=("enabled", "true"),
        breaks="seldom",
        usual=(1.2, 10.0),
        beside=("driver/daemons/nvidia-persistenced/unit",),
        why="Without persistence the driver shuts a GPU down when its last user leaves, and each start brings all of "
        "them up again: 2 to 3 s, up to 30 for nvidia-smi in a CPU cgroup, past the time-outs of container hooks.",
        confirm="nvidia-smi -pm 1, then time the start of any CUDA program twice",
        confirmed=3,
        sources=(
            "https://github.com/gunrock/gunrock/issues/88",
            "https://github.com/NVIDIA/nvidia-docker/issues/723",
            "https://github.com/Azure/aks-gpu/issues/105",
            PERSISTENCE,
        ),
    ),
    Rule(
        name="persistence-forgets",
        sees=("gpu/*/persistence_mode", "driver/daemons/nvidia-persistenced/running"),
        moves=("sm clock", "memory clock"),
        phases=("prefill", "decode step", "verify step", "transfer"),
        usual=(1.05, 1.6),
        beside=("gpu/*/power_limit", "gpu/*/clocks/applications/graphics", "gpu/*/inferred/power_limit_until"),
        why="With a GPU that the driver shuts down go its power limit, application clocks and compute mode: what was "
        "set before holds until the last program ends. Of 536 limits watched in a fleet 113 were found raised again.",
        confirm="nvidia-smi -q -d POWER,CLOCK while the work runs, not before it",
        sources=(
            "https://docs.nvidia.com/deploy/driver-persistence/data-persistence.html",
            "https://github.com/Datura-ai/lium-io/issues/1229",
        ),
    ),
    Rule(
        name="addressing-mode",
        sees=("gpu/*/addressing_mode",),
        moves=("page placement", "gpu memory", "availability"),
        breaks="often",
        beside=("gpu/*/affinity/numa_node", "kernel/release"),
        why="With HMM or ATS the GPU reads pageable memory of the host in place: managed memory faults, moves and "
        "places pages otherwise. HMM on some kernels made CUDA fail to start.",
        confirm="nvidia-smi -q (Addressing Mode) on both; options nvidia_uvm uvm_disable_hmm=1, and reload the driver",
        sources=(NVML,),
    ),
    Rule(
        name="gsp-firmware",
        sees=("gpu/*/gsp/mode_current", "driver/module/parameters/EnableGpuFirmware"),
        moves=("launch latency", "gpu initialisation", "sm clock"),
        best=("disabled", "0"),
        mostly=True,
        breaks="seldom",
        usual=(1.05, 1.6),
        beside=("driver/module/flavour", "driver/module/version"),
        why="With it the driver's calls and its control of clocks go through firmware on the GPU: 93 frames a second "
        "where 144 were without. When it hangs (Xid 119, 120) each call waits 45 s.",
        confirm="NVreg_EnableGpuFirmware=0 where the closed module and the GPU allow it, a reboot, and repeat",
        confirmed=2,
        sources=(
            "https://github.com/CachyOS/CachyOS-Settings/pull/71",
            "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/446",
        ),
    ),
    Rule(
        name="driver-model",
        sees=("gpu/*/driver_model",),
        moves=("launch latency", "gpu memory"),
        breaks="often",
        usual=(1.1, 3.2),
        why="Under WDDM Windows schedules the GPU and pages its memory: launches are batched, and what does not fit "
        "spills to the host without an error, and a kernel that runs for more than two seconds is ended. Under TCC and "
        "MCDM none of this is so.",
        confirm="nvidia-smi -q (Driver Model); under WDDM watch `shared GPU memory` of the process",
        sources=(NVML,),
    ),
    Rule(
        name="pending-mode",
        sees=(
            "gpu/*/ecc/mode_pending",
            "gpu/*/mig/mode_pending",
            "gpu/*/confidential/dram_encryption_pending",
            "gpu/*/driver_model_pending",
            "gpu/*/gom_pending",
            "driver/next_load/pending",
        ),
        moves=("gpu initialisation",),
        phases=("start-up",),
        beside=("kernel/boot_time",),
        why="Set, and not in force: the next reset, load of the driver or reboot takes it up, and what is slow or gone "
        "then was decided here. Until then it moves nothing.",
        confirm="compare the pending with the current mode: nvidia-smi -q, grep -i -A2 'mode'",
        sources=(NVML, "https://docs.nvidia.com/deploy/driver-persistence/data-persistence.html"),
    ),
)
