"""Variables of what a process or container is given of a GPU: MPS, libraries that share it, container run times."""

from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.mechanisms.variables import env

_CUDA = "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html"
_TOOLKIT = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html"
_GPU_PHASES: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")


RULES: tuple[Rule, ...] = (
    Rule(
        name="mps-client",
        sees=env("CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_*"),
        moves=("gpu compute", "launch latency", "gpu memory"),
        breaks="seldom",
        usual=(1.05, 3.0),
        beside=("driver/daemons/nvidia-mps-control/running",),
        why="By the folder a process finds the daemon of MPS, or another one, or none: as a client it shares the GPU's "
        "time and queues with others at once, and ends with them where one of them faults. Without it processes take "
        "turns.",
        confirm="echo get_server_list | nvidia-cuda-mps-control; the same run without MPS",
        sources=("https://docs.nvidia.com/deploy/mps/index.html",),
    ),
    Rule(
        name="mps-compute-share",
        sees=env(
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING"
            " CUDA_MPS_SM_PARTITION"
        ),
        moves=("gpu compute",),
        way="more helps",
        beside=("driver/daemons/nvidia-mps-control/running",),
        why="Of a client of MPS, how many of the GPU's multiprocessors it may use, in percent: what is bound by "
        "arithmetic slows down as the share does, what is bound by memory only where a share is small. Without MPS "
        "nothing reads it.",
        confirm="100 for one run; nvidia-smi must show nvidia-cuda-mps-server",
        sources=(
            "https://docs.nvidia.com/deploy/topics/topic_5_2_5.html",
            "https://docs.nvidia.com/deploy/mps/latest/appendix-environment-variables.html",
        ),
    ),
    Rule(
        name="mps-memory-share",
        sees=env("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT CUDA_MPS_DEVICE_MEM_LIMIT"),
        moves=("gpu memory",),
        breaks="often",
        told_by=("gpu-memory-full",),
        why="Of a client of MPS, how much of each GPU's memory it may take: a cache is sized by less, and an "
        "allocation fails while nvidia-smi shows room.",
        confirm="Unset it, then the same start; torch.cuda.mem_get_info() in both states",
        sources=("https://docs.nvidia.com/deploy/mps/latest/appendix-environment-variables.html",),
    ),
    Rule(
        name="persisting-cache",
        sees=env("CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT"),
        moves=("gpu memory bandwidth",),
        beside=("driver/daemons/nvidia-mps-control/running",),
        why="How much of the level-2 cache MPS sets aside for data that programs mark: less is left for all others. "
        "Only what the daemon was started with counts.",
        confirm="Restart the daemon with 0, then the same run",
        sources=(_CUDA,),
    ),
    Rule(
        name="gpu-sharing",
        sees=env(
            "CUDA_DISABLE_CONTROL CUDA_DEVICE_MEMORY_* CUDA_DEVICE_SM_LIMIT CUDA_OVERSUBSCRIBE GPU_CORE_UTIL*"
            " LIBCUDA_LOG_LEVEL"
        ),
        moves=("launch latency", "gpu compute", "gpu memory", "availability"),
        breaks="often",
        usual=(1.05, 300.0),
        beside=("process/*/env/LD_PRELOAD",),
        why="A library in front of the driver divides the GPU among containers: it counts memory and delays launches, "
        "and calls that it does not hand on hang or fail, as NCCL's when communicators are built.",
        confirm="CUDA_DISABLE_CONTROL=true, or start without the preloaded library",
        confirmed=1,
        sources=("https://github.com/Project-HAMi/HAMi/issues/2641",),
    ),
    Rule(
        name="container-driver-parts",
        sees=env("NVIDIA_DRIVER_CAPABILITIES"),
        moves=("availability",),
        phases=("start-up", "any work"),
        breaks="often",
        beside=("container/*/runtime",),
        told_by=("cuda-no-device",),
        why="Which of the host's driver libraries a container is given. Without `compute` there is no libcuda.so.1 "
        "while nvidia-smi works, without `utility` no NVML, by which engines size their cache. Unset, an image that is "
        "not NVIDIA's gets `utility` alone. Read when the container starts.",
        confirm="ldconfig -p | grep -e libcuda -e libnvidia-ml in the container, in both states",
        drifted=2,
        sources=(_TOOLKIT, "https://github.com/mudler/LocalAI/issues/11973"),
    ),
    Rule(
        name="container-requirements",
        sees=env("NVIDIA_REQUIRE_* NVIDIA_DISABLE_REQUIRE"),
        moves=("availability",),
        phases=("start-up",),
        breaks="often",
        beside=("driver/module/version",),
        why="Which drivers an image wants: the run time refuses the container on an older one, or with the check "
        "disabled lets it fail at its first call of CUDA. What runs, runs no other way.",
        confirm="NVIDIA_DISABLE_REQUIRE=1, then the same start; nvidia-container-cli info",
        drifted=1,
        sources=(_TOOLKIT,),
    ),
    Rule(
        name="container-more-devices",
        sees=env("NVIDIA_IMEX_CHANNELS NVIDIA_GDS NVIDIA_GDRCOPY NVIDIA_MOFED NVIDIA_NVSWITCH NVIDIA_MIG_*"),
        moves=("network", "nvlink", "storage", "availability"),
        breaks="seldom",
        beside=("container/*/runtime", "network/peer_memory/gdrdrv_node"),
        why="Which devices beside the GPUs a container is given: channels for NVLink between hosts, gdrdrv, adapters, "
        "direct storage. What is missing libraries replace by a slower way, mostly without a word. Where devices come "
        "by CDI nothing reads it.",
        confirm="ls /dev/nvidia-caps-imex-channels /dev/gdrdrv /dev/infiniband in both containers",
        sources=(_TOOLKIT, "https://github.com/NVIDIA/nvidia-container-toolkit"),
    ),
    Rule(
        name="cuda-runtime",
        sees=env("NVIDIA_* NVJITLINK_*"),
        moves=("launch latency", "kernel choice", "gpu memory", "availability"),
        phases=_GPU_PHASES,
        breaks="seldom",
        why="The container run time, a tool or library of NVIDIA or an image's own script reads it: which GPUs and "
        "driver libraries are there, or how something is linked.",
        confirm="Start without it",
        sources=(_CUDA, _TOOLKIT),
    ),
    Rule(
        name="gpu-image-labels",
        sees=env(
            "CUDA_VERSION CUDA_DRIVER_VERSION CUDA_COMPAT_* NV_* NVIDIA_*_VERSION NVIDIA_BUILD_* NVIDIA_PRODUCT_NAME"
            " NVIDIA_CPU_ONLY CUBLAS_VERSION CUBLASMP_VERSION CUDNN_VERSION CUDNN_FRONTEND_VERSION CUFFT_VERSION"
            " CUSPARSE_VERSION CUSPARSELT_VERSION CUSOLVER_VERSION CUTENSOR_VERSION NVJITLINK_VERSION CUDLA_VERSION"
            " CUFILE_VERSION ROCM_VERSION HIP_VERSION CUDA_MPS_LOG_DIRECTORY CUDA_MODULE_PATH"
        ),
        moves=("code",),
        phases=("start-up", "any work"),
        unused=True,
        why="What the makers of an image wrote down about it. Nothing reads it in a step, and what is loaded may be "
        "another copy: the libraries themselves are compared beside it.",
        confirm="The versions in mapped/ and libraries/ of both runs; env -u NAME, then the same run",
        drifted=3,
        sources=("https://hub.docker.com/r/nvidia/cuda",),
    ),
)
