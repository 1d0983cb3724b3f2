"""Variables of other ways between GPUs and hosts: torch's groups, Gloo, UCX, NVSHMEM, MPI."""

from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.rdma import REPEATED
from fingerprint.explain.mechanisms.variables import env

_TORCH = "https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html"
_UCX = "https://openucx.readthedocs.io/en/master/faq.html"
_NVSHMEM = "https://docs.nvidia.com/nvshmem/api/gen/env.html"


RULES: tuple[Rule, ...] = (
    Rule(
        name="torch-waits-on-host",
        sees=env("TORCH_NCCL_BLOCKING_WAIT NCCL_BLOCKING_WAIT"),
        moves=("collective", "cpu time", "launch latency"),
        best=("absent", "0"),
        mostly=True,
        between=True,
        breaks="seldom",
        usual=(1.1, 4.0),
        why="With 1 the thread that launches waits for each collective, and nothing is queued behind it: fourfold, or "
        "as slow as on one GPU. Some launchers set it to notice dead ranks; without it one rank's failure is noticed "
        "by the watchdog, later.",
        confirm="Unset it, then the same run; gaps behind each ncclDevKernel in a trace of one step",
        sources=(
            _TORCH,
            "https://github.com/pytorch/pytorch/issues/32162",
            "https://github.com/pytorch/pytorch/issues/50820",
            "https://github.com/ray-project/ray/issues/29419",
        ),
    ),
    Rule(
        name="torch-checks-collectives",
        sees=env(
            "TORCH_DISTRIBUTED_DEBUG TORCH_NCCL_DESYNC_DEBUG NCCL_DESYNC_DEBUG TORCH_NCCL_NAN_CHECK"
            " TORCH_DIST_NAN_CHECK TORCH_NCCL_ENABLE_TIMING NCCL_ENABLE_TIMING ENABLE_NCCL_HEALTH_CHECK"
            " TORCH_NCCL_TRACE_* TORCH_FR_BUFFER_SIZE"
        ),
        moves=("collective", "cpu time", "launch latency"),
        between=True,
        breaks="seldom",
        why="What is done beside each collective: with DETAIL shapes are compared over Gloo before it (a start hung in "
        "that), the check for NaN reads every buffer once more, timing records an event. The recorder alone costs "
        "hardly anything.",
        confirm="Unset it, then the same run; kernels and Gloo calls beside each collective in a trace",
        sources=(
            _TORCH,
            "https://docs.pytorch.org/docs/stable/distributed.html",
            "https://github.com/pytorch/pytorch/issues/129672",
        ),
    ),
    Rule(
        name="torch-collective-memory",
        sees=env(
            "TORCH_NCCL_AVOID_RECORD_STREAMS NCCL_AVOID_RECORD_STREAMS TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
            " NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
        ),
        moves=("gpu memory", "collective"),
        between=True,
        breaks="seldom",
        told_by=("gpu-memory-full",),
        why="Until when tensors of a collective are kept from the allocator, and whether all that it allocates is "
        "registered with NCCL: kept longer, memory grows and fragments until allocations wait for the GPU.",
        confirm="torch.cuda.max_memory_reserved() and num_alloc_retries in both runs",
        sources=(
            _TORCH,
            "https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp",
        ),
    ),
    Rule(
        name="torch-watchdog",
        sees=env(
            "TORCH_NCCL_ASYNC_ERROR_HANDLING NCCL_ASYNC_ERROR_HANDLING TORCH_NCCL_ENABLE_MONITORING"
            " TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC TORCH_NCCL_DUMP_* TORCH_NCCL_WAIT_* TORCH_NCCL_COORD_*"
            " TORCH_NCCL_RETHROW_* TORCH_NCCL_PROPAGATE_* TORCH_NCCL_ABORT_* TORCH_NCCL_DEBUG_*"
        ),
        moves=("availability",),
        between=True,
        breaks="often",
        why="Whether a collective that does not end takes the process down, after how long, and what is written "
        "before: a slow load or a long compilation on one rank ends a job that another value lets through. A step "
        "that comes to its end is no other.",
        confirm="The log for `Watchdog caught collective operation timeout` or `heartbeat`; the same start with it off",
        sources=(_TORCH,),
    ),
    Rule(
        name="torch-collective-priority",
        sees=env("TORCH_NCCL_HIGH_PRIORITY"),
        moves=("collective", "gpu compute"),
        between=True,
        why="On a stream of high priority a collective's blocks are placed before those of kernels that wait: it "
        "starts early while the GPU is full, and those start later.",
        confirm="Both values; the time from launch to start of ncclDevKernel in a trace",
        sources=(_TORCH,),
    ),
    Rule(
        name="torch-collectives",
        sees=env("TORCH_NCCL_* TORCH_DISTRIBUTED_* TORCHELASTIC_* TORCH_SYMM_MEM_* TORCH_GLOO_*"),
        moves=("collective", "cpu time"),
        between=True,
        breaks="seldom",
        why="How torch builds its groups and calls the collectives: on demand or at the start, with which patience, in "
        "which memory that ranks see of each other.",
        confirm="Unset it, then the same run",
        sources=(_TORCH,),
    ),
    Rule(
        name="gloo-interface",
        sees=env("GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME GLOO_DEVICE_TRANSPORT"),
        moves=("network", "availability"),
        phases=("start-up", "host latency", "decode step", "any work"),
        breaks="often",
        why="Over which interface the CPU's part of the groups talks. It takes one name, and no list or `^` as NCCL "
        "does. Unset, it is the address of the host's name, which in many containers is 127.0.0.1: ranks of other "
        "hosts do not get there.",
        confirm="The log for `Gloo connectFullMesh failed` or `Unable to find address`; getent hosts $(hostname)",
        sources=(
            "https://docs.pytorch.org/docs/stable/distributed.html",
            "https://github.com/aws-samples/aws-do-eks/pull/51",
            "https://github.com/aws-samples/aws-do-eks/pull/69",
        ),
    ),
    Rule(
        name="gloo-others",
        sees=env("GLOO_*"),
        moves=("network", "cpu time"),
        phases=("start-up", "host latency", "decode step", "any work"),
        breaks="seldom",
        why="A switch of Gloo, by which the CPU's part of the groups goes: barriers, checks, batches that a scheduler "
        "sends round.",
        confirm="Unset it, then the same start",
        sources=("https://github.com/pytorch/gloo",),
    ),
    Rule(
        name="ucx-transport-list",
        sees=env("UCX_TLS UCX_*_DEVICES UCX_IB_GPU_DIRECT_RDMA UCX_CUDA_IPC_ENABLE_*"),
        moves=("network", "nvlink", "collective"),
        breaks="often",
        beside=("network/rdma/*/ports/*/state", "mapped/*/libraries/libuct_cuda/version"),
        why="By which ways UCX may go, and over which ports: without cuda_ipc GPUs of one host talk by TCP, without "
        "cuda_copy GPU memory cannot be sent at all, without rc the adapter stands idle. A cache between prefill and "
        "decode goes by what is left.",
        confirm="UCX_PROTO_INFO=y names the way of each size; unset it, then ucx_perftest -m cuda",
        sources=(
            _UCX,
            "https://github.com/ai-dynamo/nixl/pull/2208",
            "https://github.com/vllm-project/vllm/issues/26382",
        ),
    ),
    Rule(
        name="ucx-large-messages",
        sees=env("UCX_RNDV_* UCX_MAX_RNDV_RAILS UCX_MAX_EAGER_RAILS UCX_MULTI_LANE_* UCX_PROTO_* UCX_ZCOPY_*"),
        moves=("network", "nvlink"),
        breaks="seldom",
        why="From which size on UCX asks before it sends, who then moves the data (reading, writing, or in pieces by "
        "the host) and over how many adapters. A threshold that suits GPU memory is wrong for the host's.",
        confirm="UCX_PROTO_INFO=y in both states; ucx_perftest -m cuda at the run's sizes",
        sources=(
            "https://docs.rapids.ai/api/ucxx/stable/configuration",
            "https://github.com/openucx/ucx/issues/7880",
        ),
    ),
    Rule(
        name="ucx-memory-caches",
        sees=env("UCX_MEMTYPE_CACHE UCX_*_CACHE UCX_RCACHE_* UCX_*RCACHE* UCX_CUDA_COPY_* UCX_MEM_* UCX_REG_*"),
        moves=("network", "nvlink", "cpu time"),
        breaks="seldom",
        why="Whether UCX remembers which memory is a GPU's, what it has mapped and what it has registered: without it "
        "each message pays for opening and registering (0.5 GB/s over NVLink), and with it memory that came by another "
        "door is taken for the host's, and the process ends.",
        confirm="ucx_perftest -m cuda with both values; the log for `invalid permissions` or a segmentation fault",
        sources=(
            "https://docs.rapids.ai/api/ucxx/stable/configuration",
            "https://github.com/rapidsai/ucx-py/issues/370",
        ),
    ),
    Rule(
        name="ucx-relaxed-ordering",
        sees=env("UCX_IB_PCI_RELAXED_ORDERING"),
        moves=("network", "pcie link"),
        over_rdma=True,
        usual=(1.1, 2.5),
        beside=("cpu/processor/model_name",),
        why="Whether the adapter's writes may overtake each other on PCIe, which UCX switches on by itself only for "
        "CPUs that it knows: 16 GB/s became 40 on one of Intel, 150 Gbit/s 200 on one of AMD. With "
        "UD, a cluster of AMD was slower by it.",
        confirm="ucx_perftest -m cuda with y and n; ucx_info -s tells which CPU it takes this for",
        confirmed=1,
        sources=(
            "https://github.com/openucx/ucx/pull/10955",
            "https://github.com/openucx/ucx/pull/8062",
            "https://github.com/openucx/ucx/issues/9055",
        ),
    ),
    Rule(
        name="ucx-rdma-address",
        sees=env("UCX_IB_GID_INDEX UCX_IB_PKEY UCX_IB_SL UCX_IB_TRAFFIC_CLASS UCX_IB_ROCE_* UCX_IB_ADDR_TYPE"),
        moves=("network", "availability"),
        over_rdma=True,
        breaks="often",
        shows=REPEATED,
        beside=("network/rdma/*/ports/*/gids/*/*",),
        why="From which address, in which partition and in which class of the network queue pairs talk: another entry "
        "is not routed, and the lossy class repeats what it loses.",
        confirm="show_gids on both hosts for this index; ib_write_bw -x with it",
        sources=(_UCX,),
    ),
    Rule(
        name="ucx-transports",
        sees=env("UCX_* UCC_*"),
        moves=("network", "collective"),
        breaks="seldom",
        why="A switch of UCX or of its collectives: queues, sizes and features of one transport. `ucx_info -cf` names "
        "those that this version has, and it warns of those that nothing read.",
        confirm="UCX_LOG_LEVEL=info and ucx_perftest in both states; unset it, then the same run",
        sources=(_UCX,),
    ),
    Rule(
        name="rdma-libraries",
        sees=env("IBV_* MLX5_* RDMAV_* FI_* PSM3_* SHARP_* HCOLL_* CCL_* MC_* MOONCAKE_* NIXL_* GDRCOPY_*"),
        moves=("network", "collective"),
        breaks="seldom",
        why="The library beneath the collectives or the transfer of caches: queues, fork safety, providers, reduction "
        "in the switch.",
        confirm="ib_write_bw or fi_pingpong in both states; unset it, then the same run",
        sources=("https://ofiwg.github.io/libfabric/main/man/fi_provider.7.html",),
    ),
    Rule(
        name="nvshmem-way",
        sees=env(
            "NVSHMEM_IB_ENABLE_IBGDA NVSHMEM_IBGDA_* NVSHMEM_REMOTE_TRANSPORT NVSHMEM_DISABLE_P2P NVSHMEM_DISABLE_MNNVL"
            " NVSHMEM_DISABLE_NVLS NVSHMEM_DISABLE_*NIC* NVSHMEM_QP_DEPTH NVSHMEM_USE_GDRCOPY NVSHMEM_DISABLE_GDRCOPY"
            " NVSHMEM_DISABLE_DATA_DIRECT"
        ),
        moves=("network", "collective", "gpu compute"),
        between=True,
        breaks="often",
        beside=("network/peer_memory/gdrdrv",),
        why="Whether the GPU rings the adapter's bell itself or a thread of the host does it for all, on how many "
        "queue pairs: microseconds of each small message, of which experts exchange thousands. Where the driver does "
        "not let GPUs at the adapter, the start fails.",
        confirm="NVSHMEM_DEBUG=INFO names the transport; the library's low-latency test with both values",
        sources=(
            _NVSHMEM,
            "https://github.com/deepseek-ai/DeepEP/issues/139",
            "https://github.com/deepseek-ai/DeepEP/issues/461",
        ),
    ),
    Rule(
        name="nvshmem-adapters",
        sees=env(
            "NVSHMEM_ENABLE_NIC_PE_MAPPING NVSHMEM_HCA_* NVSHMEM_IB_GID_INDEX NVSHMEM_IB_SL NVSHMEM_IB_TRAFFIC_CLASS"
            " NVSHMEM_IB_ADDR_* NVSHMEM_IB_DISABLE_* NVSHMEM_IB_ROCE_* NVSHMEM_LIBFABRIC_*"
        ),
        moves=("network", "collective"),
        between=True,
        over_rdma=True,
        breaks="often",
        beside=("network/rdma/*/numa_node", "network/rdma/*/ports/*/gids/*/*"),
        why="Which adapter each GPU uses, and from which address. With a mapping by hand all eight "
        "ranks of a host took the first adapter in one library, and its rate was all there was.",
        confirm="NVSHMEM_DEBUG=INFO: the adapter of each rank; traffic of each port during the run",
        sources=(_NVSHMEM, "https://github.com/deepseek-ai/DeepEP/issues/336"),
    ),
    Rule(
        name="nvshmem-heap",
        sees=env(
            "NVSHMEM_SYMMETRIC_SIZE NVSHMEM_HEAP_KIND NVSHMEM_CUMEM_* NVSHMEM_DISABLE_CUDA_VMM"
            " NVSHMEM_MAX_MEMORY_PER_GPU NVSHMEM_MAX_TEAMS ROCSHMEM_HEAP_SIZE"
        ),
        moves=("gpu memory",),
        between=True,
        breaks="often",
        told_by=("register-gpu-memory-failed", "gpu-memory-full"),
        why="How much of each GPU is set aside and registered for the exchange, 1 GiB by default: what a cache no "
        "longer has, or what a buffer does not fit into.",
        confirm="Used memory after the start in both states; NVSHMEM_INFO=1",
        sources=(_NVSHMEM,),
    ),
    Rule(
        name="nvshmem-start",
        sees=env("NVSHMEM_BOOTSTRAP NVSHMEM_BOOTSTRAP_* NVSHMEM_MPI_* NVSHMEM_SHMEM_* NVSHMEM_PMIX_*"),
        moves=("availability", "network"),
        phases=("start-up", "any work"),
        between=True,
        breaks="often",
        why="How ranks find each other at the start, by whose library and over which interface. Steps do not use it.",
        confirm="NVSHMEM_DEBUG=INFO: the lines of the bootstrap in both states",
        sources=(_NVSHMEM,),
    ),
    Rule(
        name="expert-exchange",
        sees=env("NVSHMEM_* DEEPEP_* DEEP_EP_* MSCCL_* ROCSHMEM_*"),
        moves=("collective", "gpu compute", "network"),
        between=True,
        breaks="seldom",
        why="How tokens go to their experts and back: over which adapters, in how much registered memory, by how many "
        "multiprocessors.",
        confirm="The library's own dispatch and combine test in both states",
        sources=(_NVSHMEM,),
    ),
    Rule(
        name="mpi-runtime",
        sees=env("OMPI_MCA_* PMIX_MCA_* PRTE_MCA_* I_MPI_* MPICH_*"),
        moves=("network", "collective", "cpu time", "page placement"),
        phases=("start-up", "prefill", "decode step", "verify step", "transfer", "any work"),
        breaks="seldom",
        usual=(1.1, 10.0),
        why="Where ranks are bound and over what they talk; a binding to one core is the default of some launchers.",
        confirm="mpirun --report-bindings in both states",
        sources=("https://docs.open-mpi.org/en/main/mca.html",),
    ),
)
