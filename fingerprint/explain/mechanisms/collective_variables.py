"""Variables of collectives and fabrics: which algorithm, which way, which memory, who takes part."""

from fingerprint.explain.mechanisms.gpu_links import REROUTED
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.variables import env

_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_UCX = "https://openucx.readthedocs.io/en/master/faq.html"


RULES: tuple[Rule, ...] = (
    Rule(
        name="nccl-algorithm",
        sees=env(
            "NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_MIN_CTAS NCCL_MAX_CTAS NCCL_MIN_NRINGS"
            " NCCL_MAX_NRINGS NCCL_NTHREADS NCCL_*THRESHOLD NCCL_TUNER_* NCCL_COLLNET_* NCCL_NCHANNELS_*"
            " NCCL_NSOCKS_* NCCL_CGA_* NCCL_WORK_* NCCL_THREAD_* NCCL_PXN_*"
        ),
        moves=("collective", "gpu compute"),
        between=True,
        breaks="seldom",
        usual=(1.05, 1.6),
        why="A forced algorithm, protocol or number of channels replaces the choice that NCCL makes for each size, and "
        "channels take multiprocessors from the kernels beside them. 1.2 to 1.6x, often by a value left over from an "
        "older version; one that a collective does not have is an error: there is no broadcast by trees.",
        confirm="Unset it; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING,COLL in both states; all_reduce_perf at the run's "
        "sizes",
        confirmed=3,
        sources=(
            _NCCL,
            "https://github.com/NVIDIA/nccl/issues/1368",
            "https://github.com/NVIDIA/nccl/issues/209",
            "https://github.com/NVIDIA/nccl/issues/317",
            "https://github.com/NVIDIA/nccl/issues/1716",
        ),
    ),
    Rule(
        name="nccl-switch-reduction",
        sees=env("NCCL_NVLS_*"),
        moves=("collective", "nvlink", "gpu memory"),
        between=True,
        breaks="often",
        usual=(1.02, 1.6),
        beside=("driver/daemons/nvidia-fabricmanager/running", "gpu/*/fabric/state"),
        told_by=("nccl-multicast-failed",),
        why="Whether switches of NVLink reduce on the way. It binds multicast memory on every GPU, some of it for each "
        "communicator: where the fabric manager is not ready, or memory is short, communicators cannot be built.",
        confirm="NCCL_NVLS_ENABLE=0, then the same start; NCCL_DEBUG=INFO names NVLS",
        sources=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-nvls-enable",),
    ),
    Rule(
        name="nccl-peer-access",
        sees=env("NCCL_P2P_DISABLE NCCL_SHM_DISABLE"),
        moves=("collective", "nvlink", "pcie link"),
        best=("absent", "0"),
        mostly=True,
        binds=REROUTED,
        between=True,
        breaks="often",
        usual=(1.1, 4.0),
        beside=("kernel/cmdline/*iommu", "kernel/cmdline/pci", "gpu/*/pcie/numa_node"),
        why="Whether GPUs of one host read each other's memory or pass through the host's: 288 against 223 tok/s by a "
        "launcher's variable; where ACS or the IOMMU blocks what is advertised, on means a hang.",
        confirm="NCCL_DEBUG=INFO: `via P2P` or `via SHM` in both states; nvidia-smi topo -p2p r",
        confirmed=2,
        sources=(
            _NCCL,
            "https://github.com/vllm-project/vllm/issues/51513",
            "https://github.com/noonghunna/club-3090/issues/356",
        ),
    ),
    Rule(
        name="nccl-peer-distance",
        sees=env("NCCL_P2P_* NCCL_SHM_* NCCL_MNNVL_* NCCL_IGNORE_DISABLED_P2P NCCL_LEGACY_CUDA_REGISTER"),
        moves=("collective", "nvlink", "pcie link"),
        binds=REROUTED,
        between=True,
        breaks="seldom",
        usual=(1.02, 2.0),
        beside=("gpu/*/peers/*/topology", "gpu/*/pcie/numa_node"),
        why="Up to which distance GPUs read each other's memory, and in which pieces: beyond it they pass through the "
        "host's.",
        confirm="NCCL_DEBUG=INFO: `via P2P` or `via SHM` of each channel in both states",
        sources=(_NCCL,),
    ),
    Rule(
        name="nccl-network",
        sees=env(
            "NCCL_NET NCCL_NET_* NCCL_IB_* NCCL_SOCKET_* NCCL_CROSS_NIC NCCL_DMABUF_* NCCL_GDR* NCCL_COMM_ID NCCL_OOB_*"
        ),
        moves=("collective", "network"),
        between=True,
        breaks="often",
        usual=(1.1, 18.0),
        told_by=("nccl-net-socket", "nccl-no-adapter", "rdma-timeout"),
        why="Which adapters carry the traffic between hosts, and whether straight from the GPU's memory. What NCCL "
        "does not find it replaces by TCP without a word: 50 ms became 370. Launchers copy one host's list to all.",
        confirm="NCCL_DEBUG=INFO: the NET/ lines and channels of both states, on each node",
        confirmed=2,
        sources=(
            _NCCL,
            "https://github.com/areal-project/AReaL/issues/639",
            "https://github.com/spark-arena/sparkrun/pull/137",
            "https://github.com/NVIDIA/nccl/issues/1403",
        ),
    ),
    Rule(
        name="nccl-memory",
        sees=env(
            "NCCL_CUMEM_* NCCL_BUFFSIZE NCCL_*_BUFFSIZE NCCL_*REGISTER* NCCL_GRAPH_REGISTER NCCL_WIN_* NCCL_MEM_*"
        ),
        moves=("gpu memory", "collective"),
        between=True,
        breaks="often",
        why="How NCCL gets its buffers and whether it uses the program's own: memory that the cache no longer has, and "
        "a copy at each end. The default of CUMEM changed with versions.",
        confirm="Unset it; used memory after the communicators are built (NCCL_DEBUG=INFO) in both states",
        confirmed=2,
        sources=(
            _NCCL,
            "https://github.com/NovaSky-AI/SkyRL/pull/1629",
        ),
    ),
    Rule(
        name="nccl-topology",
        sees=env(
            "NCCL_TOPO_* NCCL_GRAPH_FILE NCCL_GRAPH_MIXING_SUPPORT NCCL_IGNORE_CPU_AFFINITY NCCL_HOSTID NCCL_CONF_FILE"
        ),
        moves=("collective", "page placement"),
        between=True,
        breaks="seldom",
        beside=("process/*/affinity",),
        why="What NCCL believes of the machine and where its own threads stand: rings are laid by it.",
        confirm="NCCL_TOPO_DUMP_FILE in both states, then compare the two files",
        sources=(_NCCL,),
    ),
    Rule(
        name="nccl-others",
        sees=env("NCCL_* RCCL_*"),
        moves=("collective",),
        between=True,
        breaks="seldom",
        why="A switch of NCCL or RCCL, or a name that this version does not read: in NCCL_DEBUG=INFO it tells those "
        "that it took.",
        confirm="Unset it; NCCL_DEBUG=INFO: `set by environment` in both states",
        drifted=2,
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/issues/1716"),
    ),
    Rule(
        name="torch-collectives",
        sees=env(
            "TORCH_NCCL_* NCCL_BLOCKING_WAIT NCCL_ASYNC_ERROR_HANDLING NCCL_DESYNC_DEBUG TORCH_DISTRIBUTED_*"
            " TORCHELASTIC_* GLOO_* TORCH_SYMM_MEM_*"
        ),
        moves=("collective", "cpu time"),
        between=True,
        breaks="seldom",
        usual=(1.1, 4.0),
        why="How torch calls the collectives: waiting on the host (fourfold, or as slow as on one GPU), checks before "
        "each one (a start that hung), recorders, which adapter gloo takes for the CPU's part.",
        confirm="Unset it, then the same run",
        sources=(
            "https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html",
            "https://github.com/pytorch/pytorch/issues/32162",
            "https://github.com/pytorch/pytorch/issues/50820",
            "https://github.com/pytorch/pytorch/issues/129672",
        ),
    ),
    Rule(
        name="engine-collectives",
        sees=env(
            "VLLM_*ALLREDUCE* VLLM_*ALL_REDUCE* VLLM_*ALL2ALL* VLLM_*NCCL* SGLANG_*ALL_REDUCE* SGLANG_*NCCL*"
            " SGLANG_*MSCCL*"
        ),
        moves=("collective", "kernel choice"),
        between=True,
        breaks="seldom",
        usual=(1.02, 1.3),
        why="Whether an engine reduces by its own kernels or by NCCL, below which size, and how experts exchange "
        "tokens. Its own need peer access that works: where it is advertised and blocked, the start hangs.",
        confirm="The engine's log at the start names the backend; unset it, then the same run",
        sources=(
            "https://docs.vllm.ai/en/stable/configuration/env_vars/",
            "https://github.com/vllm-project/vllm/issues/51513",
        ),
    ),
    Rule(
        name="ucx-transports",
        sees=env("UCX_* UCC_*"),
        moves=("network", "collective"),
        breaks="seldom",
        usual=(1.1, 2.5),
        beside=("cpu/processor/model_name",),
        why="Transports, devices and ordering of transfers: relaxed ordering, which a library switches on only for "
        "CPUs that it knows, made 16 GB/s into 40.",
        confirm="UCX_LOG_LEVEL=info and ucx_perftest in both states; unset it, then the same run",
        confirmed=1,
        sources=(_UCX, "https://github.com/openucx/ucx/pull/10955"),
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
        name="expert-exchange",
        sees=env("NVSHMEM_* DEEPEP_* DEEP_EP_* MSCCL_* MSCCLPP_*"),
        moves=("collective", "gpu compute", "network"),
        between=True,
        breaks="seldom",
        why="How tokens go to their experts and back: over which adapters, in how much registered memory, by how many "
        "multiprocessors.",
        confirm="The library's own dispatch and combine test in both states",
        sources=("https://docs.nvidia.com/nvshmem/api/gen/env.html",),
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
    Rule(
        name="log-levels",
        sees=env(
            "NCCL_DEBUG NCCL_DEBUG_* RCCL_LOG* VLLM_LOGGING_* VLLM_LOG_* VLLM_TRACE_* VLLM_CONFIGURE_LOGGING"
            " SGLANG_*LOG* TRTLLM_*LOG* TLLM_LOG* TORCH_LOGS* TORCH_CPP_LOG_* TORCH_SHOW_* TF_CPP_* UCX_LOG_* GLOG_*"
            " ONEDNN_VERBOSE MKL_VERBOSE RUST_LOG RUST_BACKTRACE CUBLAS_LOG* CUDNN_LOG* AMD_LOG_LEVEL VERBOSE"
        ),
        moves=("cpu time", "system calls", "storage"),
        phases=("host latency", "decode step", "verify step", "start-up", "any work"),
        usual=(1.0, 1.2),
        why="Lines written on the path of each step are time of the thread that launches; at usual levels little.",
        confirm="Start without it; count the lines that one step writes",
        drifted=1,
        sources=(_NCCL, "https://docs.vllm.ai/en/stable/configuration/env_vars/"),
    ),
)
