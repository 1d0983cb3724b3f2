"""Which GPU it is: product, board, unit and place. Where one of these differs, it was another machine."""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"

OTHER_GPUS = Condition("gpu/*/busy", "active", "a GPU was at work in one run and not in the other")

RULES: tuple[Rule, ...] = (
    Rule(
        name="gpu-model",
        sees=("gpu/*/name", "gpu/*/compute_cap"),
        moves=(
            "gpu compute",
            "sm clock",
            "memory clock",
            "gpu memory bandwidth",
            "gpu memory",
            "kernel choice",
            "pcie link",
            "nvlink",
        ),
        breaks="often",
        usual=(1.2, 5.0),
        told_by=("cuda-no-kernel-image", "without-flash-attention", "weights-only-fp8", "kernel-too-large"),
        why="Another product has other clocks, limits, memory and links, and libraries choose other kernels and tuned "
        "settings by its name: NVL, PCIe and SXM of one name count as others. A changed device order does this unseen.",
        confirm="run both on the same GPU, chosen by its UUID (CUDA_VISIBLE_DEVICES=GPU-...)",
        confirmed=2,
        sources=(
            "https://github.com/gpustack/gpustack/issues/1633",
            "https://github.com/unslothai/unsloth/issues/11029",
            "https://github.com/NVIDIA/TensorRT-LLM/issues/8391",
        ),
    ),
    Rule(
        name="gpu-cores",
        sees=("gpu/*/gpu_cores",),
        moves=("gpu compute",),
        way="more helps",
        usual=(1.05, 2.0),
        bound=Bound("ratio", "gpu/*/gpu_cores", "at most as the number of cores, where arithmetic is all"),
        beside=("gpu/*/virtualization/mode", "gpu/*/mig/mode_current"),
        why="A cut-down variant of one name, or a share of a virtual GPU, has fewer multiprocessors.",
        confirm="nvidia-smi -q on both, then a large matrix product on each",
        sources=(NVML,),
    ),
    Rule(
        name="memory-bus-width",
        sees=("gpu/*/memory_bus_width",),
        moves=("gpu memory bandwidth",),
        way="more helps",
        usual=(1.1, 2.0),
        bound=Bound("ratio", "gpu/*/memory_bus_width", "at most as the width, at the same memory clock"),
        beside=("gpu/*/clocks/max/mem",),
        why="Bandwidth is width times clock, and decode is bound by it.",
        confirm="a copy within device memory on both (nvbandwidth -t device_local_copy)",
        sources=(NVML,),
    ),
    Rule(
        name="gpu-board",
        sees=("gpu/*/board_part_number", "gpu/*/vbios_version", "gpu/*/inforom/img", "gpu/*/inforom/pwr"),
        moves=("sm clock", "memory clock"),
        beside=("gpu/*/power_default_limit", "gpu/*/clocks/max/sm"),
        why="Clock and voltage curves, default limits and fan curves come from the board's VBIOS and InfoROM. No "
        "incident with a confirmed effect of them alone was found.",
        confirm="compare limits and maximum clocks (nvidia-smi -q -d POWER,CLOCK), then the clocks under the same load",
        drifted=3,
        sources=(NVML,),
    ),
    Rule(
        name="gpu-unit",
        sees=("gpu/*/uuid", "gpu/*/serial"),
        moves=("sm clock", "memory clock"),
        binds=(
            Condition("gpu/*/clocks/sm", "lower", "the SM clock under load was lower on it"),
            Condition("gpu/*/clocks/mem", "lower", "the memory clock under load was lower on it"),
        ),
        usual=(1.01, 1.1),
        why="Units of one model differ in leakage and cooling, and so in the clock that they reach within the same "
        "limits: a few per cent, 5 and more over a fleet.",
        confirm="run the same work on both units in turn, on an otherwise idle host",
        sources=("https://github.com/NVIDIA/nccl-tests/issues/106",),
    ),
    Rule(
        name="gpu-presence",
        sees=("gpu", "gpu/*"),
        moves=("availability", "collective"),
        shows=(OTHER_GPUS,),
        breaks="often",
        usual=(1.2, 10.0),
        beside=("driver/gpus_bound_elsewhere",),
        told_by=("cuda-no-device", "cuda-invalid-ordinal", "gpu-lost", "no-gpu-used"),
        why="A GPU fell off the bus, is bound to another driver, or was not given to this container: the rest does its "
        "work, with less memory, or nothing starts.",
        confirm="nvidia-smi -L and lspci -d 10de: on both; dmesg for `fallen off the bus`",
        sources=("https://docs.nvidia.com/deploy/xid-errors/index.html",),
    ),
    Rule(
        name="gpu-place",
        sees=("gpu/*/platform/*",),
        moves=("nvlink", "collective", "network", "sm clock"),
        usual=(1.05, 1.8),
        beside=("gpu/*/fabric/cluster_uuid", "gpu/*/fabric/clique_id"),
        why="Chassis, tray and slot decide the neighbours over NVLink, the cooling and the route to the network: one "
        "node of equal topology dumps ran at 49 instead of 88 GB/s.",
        confirm="run the same work in the other place, or a collective over each set of GPUs (nccl-tests)",
        sources=("https://github.com/NVIDIA/nccl-tests/issues/106", NVML),
    ),
)
