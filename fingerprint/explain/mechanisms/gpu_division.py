"""A GPU that is divided or shared: MIG, virtual GPUs and their licences, MPS, and who may use it at all."""

from fingerprint.explain.mechanisms.gpu_links import REROUTED
from fingerprint.explain.mechanisms.gpu_unit import OTHER_GPUS
from fingerprint.explain.mechanisms.graph import Bound, Rule

MIG = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/index.html"
MPS = "https://docs.nvidia.com/deploy/mps/index.html"
NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"
INSTANCE = "gpu/*/mig/instances/*"

RULES: tuple[Rule, ...] = (
    Rule(
        name="mig-mode",
        sees=("gpu/*/mig/mode_current",),
        moves=("collective", "nvlink", "gpu compute", "gpu memory", "availability"),
        best=("disabled",),
        binds=REROUTED,
        breaks="often",
        usual=(1.2, 8.0),
        beside=("gpu/*/peers/*/p2p_read", "gpu/*/mig/instances"),
        why="In MIG mode a GPU has no peers: no peer access, no NVLink, no NVLink SHARP, for any of its instances; and "
        "work gets an instance, never the whole.",
        confirm="nvidia-smi -L and nvidia-smi topo -p2p r on both; nvidia-smi -mig 0 while nothing runs on it",
        confirmed=2,
        sources=("https://github.com/NVIDIA/nccl/issues/1716", MIG),
    ),
    Rule(
        name="mig-instance",
        sees=("gpu/*/mig/instances", INSTANCE, f"{INSTANCE}/uuid", f"{INSTANCE}/profile"),
        moves=("gpu compute", "gpu memory bandwidth", "gpu memory", "availability"),
        breaks="often",
        usual=(1.1, 7.0),
        beside=("gpu/*/mig/mode_current",),
        why="The instance decides how many multiprocessors, how much memory and what share of its bandwidth work "
        "gets. A reboot ends all instances; made anew they have other UUIDs, by which a server no longer finds its "
        "own.",
        confirm="nvidia-smi mig -lgi; nvidia-smi mig -lci; give the process the same profile by its UUID",
        sources=(MIG,),
    ),
    Rule(
        name="mig-compute",
        sees=(f"{INSTANCE}/compute_slices", f"{INSTANCE}/multiprocessors"),
        moves=("gpu compute",),
        way="more helps",
        usual=(1.1, 7.0),
        bound=Bound("ratio", f"{INSTANCE}/multiprocessors", "at most as the multiprocessors, where arithmetic is all"),
        why="Kernels run on the multiprocessors of the instance alone: work bound by arithmetic takes as much longer.",
        confirm="a large matrix product in both instances",
        sources=(MIG,),
    ),
    Rule(
        name="mig-bandwidth",
        sees=(f"{INSTANCE}/gpu_slices",),
        moves=("gpu memory bandwidth",),
        way="more helps",
        usual=(1.1, 8.0),
        bound=Bound("ratio", f"{INSTANCE}/gpu_slices", "at most as the slices, where memory is all"),
        why="Memory controllers and cache are divided with the slices: decode slows with them.",
        confirm="a copy within device memory in both instances",
        sources=(MIG,),
    ),
    Rule(
        name="mig-memory",
        sees=(f"{INSTANCE}/memory_size",),
        moves=("gpu memory",),
        way="more helps",
        breaks="often",
        told_by=("gpu-memory-full",),
        why="What weights and the key-value cache must fit in; with less the cache is smaller, or the model does not "
        "load.",
        confirm="compare the cache's size in the server's log",
        sources=(MIG,),
    ),
    Rule(
        name="mig-copy-engines",
        sees=(f"{INSTANCE}/copy_engines",),
        moves=("pcie link",),
        way="more helps",
        usual=(1.1, 2.0),
        why="Copies run beside kernels only on a copy engine of their own; small instances have one, for both "
        "directions.",
        confirm="a copy in both directions at once in both instances (nvbandwidth)",
        sources=(MIG,),
    ),
    Rule(
        name="virtual-gpu",
        sees=("gpu/*/virtualization/mode", "gpu/*/virtualization/host_vgpu_mode"),
        moves=("gpu compute", "gpu memory", "launch latency", "pcie link", "collective"),
        breaks="seldom",
        usual=(1.1, 5.0),
        beside=("gpu/*/virtualization/licences/*/licensed", "gpu/*/memory/total"),
        why="A virtual GPU gets turns on engines that others use too, and a share of the memory; one that is passed "
        "through is whole, but behind the hypervisor's IOMMU, often without peers.",
        confirm="repeat while the host's other guests are idle, or on bare metal",
        sources=("https://github.com/NVIDIA/TensorRT-LLM/issues/1861", NVML),
    ),
    Rule(
        name="vgpu-licence",
        sees=(
            "gpu/*/virtualization/licences",
            "gpu/*/virtualization/licences/*",
            "gpu/*/virtualization/licences/*/licensed",
            "gpu/*/virtualization/licences/*/enabled",
            "gpu/*/virtualization/licences/*/expiry_status",
        ),
        moves=("gpu compute", "availability"),
        best=("yes",),
        breaks="seldom",
        usual=(10.0, 2000.0),
        why="Some 20 minutes after its start a virtual GPU without a licence is held back, whatever runs on it: 15 "
        "tok/s became 0.1, 150x to 2000x in all.",
        confirm="nvidia-smi -q (License Status) on both; renew the lease (nvidia-gridd) and repeat without a restart",
        confirmed=3,
        sources=(
            "https://github.com/ollama/ollama/issues/1863",
            "https://docs.nvidia.com/vgpu/12.0/grid-licensing-user-guide/index.html",
        ),
    ),
    Rule(
        name="compute-mode",
        sees=("gpu/*/compute_mode",),
        moves=("availability",),
        shows=(OTHER_GPUS,),
        breaks="often",
        told_by=("cuda-device-busy",),
        why="In an exclusive mode a second process gets no context, and in `prohibited` none does: workers fail, or "
        "fall back to another GPU or the CPU. A reboot puts it back to the default.",
        confirm="nvidia-smi --query-gpu=compute_mode --format=csv; nvidia-smi -c DEFAULT",
        confirmed=1,
        sources=(
            "https://github.com/local-inference-lab/b12x/issues/339",
            NVML,
            "https://github.com/tensorflow/tensorflow/issues/526",
        ),
    ),
    Rule(
        name="mps",
        sees=(
            "driver/daemons/nvidia-mps-*/running",
            "driver/daemons/nvidia-mps-*/arguments",
            "process/*/env/CUDA_MPS_*",
        ),
        moves=("gpu compute", "launch latency", "availability"),
        breaks="seldom",
        usual=(1.05, 3.0),
        beside=("gpu/*/compute_mode",),
        told_by=(
            "mps-unreachable",
            "cuda-device-busy",
        ),
        why="Under MPS processes share one context and run kernels at the same time instead of in turns; a limit of "
        "active threads takes multiprocessors away, and a client that dies can take the others with it.",
        confirm="stop the daemon (echo quit | nvidia-cuda-mps-control), or unset the CUDA_MPS_ variables, and repeat",
        sources=(MPS,),
    ),
    Rule(
        name="gpu-operation-mode",
        sees=("gpu/*/gom",),
        moves=("gpu compute",),
        why="Boards of the Kepler generation switch off what their operation mode does not need: graphics, or double "
        "precision.",
        confirm="nvidia-smi --gom=ALL_ON, a reboot, and repeat",
        sources=(NVML,),
    ),
)
