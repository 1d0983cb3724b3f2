"""The GPU's driver: versions, options, libraries and daemons."""

from fingerprint.explain.mechanisms.driver_options import NOT_ACCEPTANCE, OPEN, OPTION
from fingerprint.explain.mechanisms.gpu_clocks import SM_LOWER
from fingerprint.explain.mechanisms.gpu_links import REROUTED
from fingerprint.explain.mechanisms.gpu_unit import OTHER_GPUS
from fingerprint.explain.mechanisms.graph import Rule

FABRIC = "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html"

RULES: tuple[Rule, ...] = (
    Rule(
        name="driver-version",
        sees=(
            "driver/module/version",
            "driver/nvml/driver_version",
            "driver/nvml/driver_branch",
            "driver/gsp_firmware",
            "gpu/*/gsp/version",
        ),
        moves=("kernel choice", "launch latency", "sm clock", "gpu memory", "pcie link", "collective"),
        breaks="often",
        usual=(1.1, 7.0),
        beside=("driver/module/flavour", "gpu/*/gsp/mode_current", "gpu/*/memory/reserved"),
        told_by=("cuda-driver-too-old", "ptx-too-new"),
        why="With the driver come the compiler of PTX, the control of clocks, the firmware and what is reserved of "
        "memory: of what was reported the median is 1.5x. It also resets limits, locks and counters, as any reload.",
        confirm="install the other version (same engine, same container), reboot, set limits again, and repeat",
        confirmed=3,
        drifted=28,
        sources=(
            "https://github.com/ggml-org/llama.cpp/issues/23765",
            f"{OPEN}/issues/1001",
            "https://github.com/ROCm/legacy-rocm-build/issues/4868",
            "https://github.com/dmlc/xgboost/issues/11242",
        ),
    ),
    Rule(
        name="driver-flavour",
        sees=("driver/module/flavour",),
        moves=("collective", "launch latency", "sm clock", "code"),
        phases=NOT_ACCEPTANCE,
        breaks="often",
        usual=(1.02, 1.3),
        beside=("gpu/*/peers/*/p2p_read", "gpu/*/gsp/mode_current"),
        why="Open and proprietary modules of one version differ in peer access, GSP and power management, and the "
        "open ones are what people patch: with peer access added 114 became 125 tok/s under the same version string. "
        "GPUs from Blackwell on are driven by the open ones alone, those before Turing by the others.",
        confirm="modinfo nvidia (license, srcversion) on both; install the other flavour of this version",
        confirmed=1,
        sources=(
            "https://github.com/noonghunna/club-3090/issues/91",
            f"{OPEN}/issues/483",
            "https://github.com/Start9Labs/start-technologies/pull/3693",
        ),
    ),
    Rule(
        name="gpu-bound-elsewhere",
        sees=("driver/gpus_bound_elsewhere", "driver/gpus_bound_elsewhere/*", f"{OPTION}/ExcludedGpus"),
        moves=("availability",),
        shows=(OTHER_GPUS,),
        breaks="often",
        beside=("driver/next_load/blacklist",),
        told_by=("cuda-no-device",),
        why="A GPU that nouveau or vfio-pci took, or that the driver was told to leave alone, is not there for CUDA.",
        confirm="lspci -nnk -d 10de: (kernel driver in use); bind it to nvidia and repeat",
        sources=("https://docs.kernel.org/driver-api/vfio.html",),
    ),
    Rule(
        name="library-mismatch",
        sees=("driver/libraries/match_module", "driver/libraries/nvml", "driver/kernel_log/api_mismatches"),
        moves=("availability",),
        best=("true",),
        breaks="often",
        beside=("driver/module/version",),
        told_by=("cuda-driver-combination", "driver-library-mismatch"),
        why="An upgrade replaces the libraries at once and the module only at a reboot: between the two new processes "
        "find no driver (and engines fall back to the CPU), while old ones run on.",
        confirm="nvidia-smi; compare /proc/driver/nvidia/version with the name behind libcuda.so.1; reboot",
        confirmed=1,
        sources=(
            "https://github.com/pando85/homelab/issues/4110",
            "https://github.com/NVIDIA/nvidia-docker/issues/182",
        ),
    ),
    Rule(
        name="cuda-driver",
        sees=("driver/libraries/cuda", "driver/nvml/cuda_version"),
        moves=("kernel choice", "launch latency", "availability"),
        breaks="often",
        usual=(1.1, 5.0),
        beside=("driver/module/version", "driver/libraries/match_module"),
        why="libcuda compiles PTX and launches kernels. An engine built for a later CUDA than it knows refuses, "
        "compiles at each start, or falls back to another path, the CPU's among them.",
        confirm="the engine's log for its CUDA version and backend; the same engine built for the older CUDA",
        drifted=1,
        sources=(
            "https://github.com/ggml-org/llama.cpp/issues/26024",
            "https://docs.nvidia.com/deploy/cuda-compatibility/index.html",
        ),
    ),
    Rule(
        name="preloaded-library",
        sees=("driver/libraries/preload",),
        moves=("gpu memory", "launch latency", "availability", "system calls"),
        breaks="often",
        beside=("process/*/env/LD_PRELOAD",),
        why="A library in every process that stands between program and driver: those that share a GPU count and "
        "refuse memory and delay launches, and one dead-locked with NCCL.",
        confirm="empty /etc/ld.so.preload for one run (or CUDA_DISABLE_CONTROL=true for HAMi)",
        confirmed=1,
        sources=("https://github.com/Project-HAMi/HAMi/issues/2641",),
    ),
    Rule(
        name="fabric-manager",
        sees=(
            "driver/daemons/nvidia-fabricmanager",
            "driver/daemons/nvidia-fabricmanager/running",
            "driver/fabricmanager/matches_module",
        ),
        moves=("nvlink", "collective", "availability"),
        best=("true", "present"),
        binds=REROUTED,
        between=True,
        breaks="often",
        usual=(1.2, 4.0),
        beside=("gpu/*/fabric/state", "driver/module/version"),
        told_by=("nccl-multicast-failed", "cuda-system-not-ready", "nccl-no-switch-reduction"),
        why="It sets up NVSwitch and must be of exactly the driver's version: without it CUDA does not start (error "
        "802) or peers go over PCIe. After an upgrade of one alone no job had NVLink; in one fleet it was down for 20 "
        "days.",
        confirm="systemctl status nvidia-fabricmanager; nv-fabricmanager --version; nvidia-smi -q (Fabric)",
        confirmed=4,
        sources=(
            "https://github.com/ollama/ollama/issues/12136",
            "https://github.com/NVIDIA/gpu-operator/issues/1043",
            "https://github.com/NVIDIA/NVSentinel/issues/891",
            FABRIC,
        ),
    ),
    Rule(
        name="fabric-manager-setup",
        sees=(
            "driver/daemons/nvidia-fabricmanager/arguments",
            "driver/daemons/nvidia-fabricmanager/version",
            "driver/fabricmanager/settings",
            "driver/fabricmanager/settings/*",
        ),
        moves=("nvlink", "collective", "availability"),
        between=True,
        breaks="often",
        usual=(1.2, 4.0),
        beside=("driver/fabricmanager/matches_module", "gpu/*/fabric/state"),
        told_by=("cuda-system-not-ready",),
        why="Its version must be the driver's, and its settings decide whether work goes on with fewer links where one "
        "is missing, or not at all.",
        confirm="nv-fabricmanager --version beside /proc/driver/nvidia/version; fabricmanager.cfg of both",
        confirmed=1,
        sources=("https://github.com/ollama/ollama/issues/12136", FABRIC),
    ),
    Rule(
        name="imex",
        sees=("driver/daemons/nvidia-imex/*",),
        moves=("nvlink", "collective", "network"),
        between=True,
        breaks="often",
        beside=("gpu/*/fabric/cluster_uuid",),
        told_by=("nccl-no-switch-reduction",),
        why="It exports memory between the hosts of one NVLink domain: without it, ranks on other hosts are reached "
        "over the network, or a communicator that counts on it fails.",
        confirm="nvidia-imex-ctl -N on each host; NCCL_DEBUG=INFO for the transport that was chosen",
        sources=("https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/index.html",),
    ),
    Rule(
        name="powerd",
        sees=("driver/daemons/nvidia-powerd/*",),
        moves=("sm clock", "cpu clock"),
        shows=(SM_LOWER,),
        usual=(1.1, 2.0),
        beside=("gpu/*/enforced_power_limit", "gpu/*/power/source"),
        why="On notebooks it shifts power between CPU and GPU while they work; without it the GPU stays at its base "
        "limit.",
        confirm="systemctl stop nvidia-powerd (or start it), and watch enforced.power.limit under load",
        sources=("https://github.com/seerge/g-helper/issues/5411",),
    ),
    Rule(
        name="driver-daemon",
        sees=("driver/daemons/*/running", "driver/daemons/*/arguments", "driver/daemons/*/version"),
        moves=("cpu time",),
        why="Programs that come with the driver run beside the work, some at each event of a GPU; what each of them "
        "does besides is a rule of its own.",
        confirm="ps -eo pid,comm,time during the run; stop the one that differs (systemctl stop) and repeat",
        sources=("https://docs.nvidia.com/deploy/driver-persistence/index.html",),
    ),
    Rule(
        name="gpu-monitoring",
        sees=("driver/daemons/nvidia-dcgm/*", "driver/daemons/dcgm-exporter/*"),
        moves=("launch latency", "nvlink", "collective", "cpu time"),
        best=("false", "absent"),
        usual=(1.02, 1.2),
        why="Monitoring asks the driver while the work runs: fields of NVLink slowed collectives, queries ten times a "
        "second stalled frames, profiling fields pin or pause counters, and an exporter took 15 to 130 % of a CPU.",
        confirm="systemctl stop nvidia-dcgm (or remove the exporter's pod) for one run",
        confirmed=1,
        sources=(
            "https://github.com/microsoft/DLWorkspace/pull/1070",
            f"{OPEN}/issues/953",
            "https://github.com/NVIDIA/dcgm-exporter/issues/311",
        ),
    ),
)
