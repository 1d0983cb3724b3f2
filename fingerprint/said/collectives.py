"""NCCL, the network below it, and the all-reduce of engines."""

from fingerprint.said.message import Message

PATHS = "https://github.com/NVIDIA/nccl/blob/master/src/graph/paths.cc"
SHARED_MEMORY = "https://github.com/NVIDIA/nccl/blob/master/src/misc/shmutils.cc"
ALL_REDUCE = "https://github.com/vllm-project/vllm/blob/main/vllm/distributed/device_communicators/custom_all_reduce.py"

MESSAGES = (
    Message(
        "nccl-shm-full",
        (b"posix_fallocate failed", b"failed to extend /dev/shm/"),
        "cause",
        "NCCL found no room for a segment in /dev/shm",
        "https://github.com/NVIDIA/nccl/issues/342",
    ),
    Message(
        "nccl-shm-segment",
        (b"Error while creating shared memory segment",),
        "resource",
        "NCCL could not make a segment in /dev/shm",
        SHARED_MEMORY,
    ),
    Message(
        "nccl-net-socket",
        (b"NET/Socket : Using",),
        "resource",
        "NCCL talks to other hosts by TCP, as it does wherever it finds no adapter for RDMA",
        "https://github.com/areal-project/AReaL/issues/639",
    ),
    Message(
        "nccl-no-adapter",
        (b"NET/IB : No device found",),
        "resource",
        "NCCL found no adapter for RDMA",
        "https://github.com/vllm-project/vllm/issues/10626",
    ),
    Message(
        "nccl-no-direct-rdma",
        (b"GPU Direct RDMA Disabled",),
        "resource",
        "NCCL hands data to an adapter through the host's memory",
        "https://github.com/NVIDIA/nccl/blob/master/src/transport/net.cc",
    ),
    Message(
        "nccl-nvlink-without-peers",
        (b"P2P is disabled between NVLINK connected GPUs",),
        "resource",
        "GPUs that NVLink joins cannot reach each other's memory",
        PATHS,
    ),
    Message(
        "nccl-without-peers",
        (b"P2P is disabled between connected GPUs",),
        "resource",
        "GPUs cannot reach each other's memory: NCCL copies through the host's",
        PATHS,
    ),
    Message(
        "nccl-no-switch-reduction",
        (b"NVLS multicast support is not available",),
        "resource",
        "NCCL cannot let the switches reduce",
        "https://github.com/NVIDIA/nccl/blob/master/src/transport/nvls.cc",
    ),
    Message(
        "register-memory-failed",
        (b"ibv_reg_mr",),
        "resource",
        "an adapter could not be given memory: mostly the limit of locked memory",
        "https://github.com/NVIDIA/nccl-tests/issues/206",
        also=b"Cannot allocate memory",
    ),
    Message(
        "locked-memory-limit",
        (b"Please set max locked memory", b"RLIMIT_MEMLOCK"),
        "cause",
        "the limit of locked memory is too low",
        "https://github.com/openucx/ucx/blob/master/src/uct/ib/base/ib_md.c",
    ),
    Message(
        "rdma-timeout",
        (b"Got completion with error 12", b"ibv_modify_qp failed"),
        "resource",
        "two adapters do not reach each other: the address that is used, or what is between them",
        "https://github.com/NVIDIA/nccl/issues/426",
    ),
    Message(
        "all-reduce-over-pcie",
        (b"Custom allreduce is disabled because it's not supported on",),
        "resource",
        "the engine leaves all-reduces to NCCL, for more than two GPUs are not all joined by NVLink",
        ALL_REDUCE,
    ),
    Message(
        "all-reduce-without-peers",
        (b"Custom allreduce is disabled because your platform lacks",),
        "resource",
        "the engine leaves all-reduces to NCCL, for GPUs cannot reach each other's memory",
        ALL_REDUCE,
    ),
    Message(
        "all-reduce-ranks",
        (
            b"Custom allreduce is disabled due to an unsupported world size",
            b"Custom allreduce is disabled because this process group spans",
        ),
        "cause",
        "the engine leaves all-reduces to NCCL for as many ranks, or for several hosts",
        ALL_REDUCE,
    ),
    Message(
        "nccl-timeout",
        (b"Watchdog caught collective operation timeout",),
        "failure",
        "a collective did not end in time",
        "https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
        unnamed="whatever stops one rank stops all: it tells of no state",
    ),
    Message(
        "nccl-system-error",
        (b"ncclSystemError",),
        "failure",
        "a call of NCCL to the system failed",
        "https://github.com/vllm-project/vllm/issues/6574",
        unnamed="which call failed stands in the lines before it",
    ),
    Message(
        "nccl-cuda-error",
        (b"unhandled cuda error",),
        "failure",
        "a call of NCCL to CUDA failed",
        "https://github.com/NVIDIA/nccl/issues/425",
        unnamed="which call failed stands in the lines before it",
    ),
)
