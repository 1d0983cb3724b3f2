"""Variables of collectives: which algorithm, on how many multiprocessors, which way within a host, which memory."""

from fingerprint.explain.mechanisms.gpu_links import REROUTED
from fingerprint.explain.mechanisms.graph import LEVELS, Rule
from fingerprint.explain.mechanisms.variables import env

_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"


RULES: tuple[Rule, ...] = (
    Rule(
        name="nccl-algorithm",
        sees=env(
            "NCCL_ALGO NCCL_PROTO NCCL_*THRESHOLD NCCL_TUNER_* NCCL_THREAD_* NCCL_PAT_ENABLE NCCL_SYM_*"
            " NCCL_LL128_BUFFER_PADDING RCCL_LL128_FORCE_ENABLE"
        ),
        moves=("collective",),
        between=True,
        breaks="seldom",
        usual=(1.05, 1.6),
        why="A forced algorithm or protocol replaces the choice that NCCL makes for each size: 1.2 to 1.6x, often by a "
        "value left over from an older version. One that a collective does not have is an error (there is no broadcast "
        "by trees), and what a list leaves unnamed changed with releases.",
        confirm="Unset it; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING,COLL in both states; all_reduce_perf at the run's "
        "sizes",
        confirmed=2,
        sources=(
            _NCCL,
            "https://github.com/NVIDIA/nccl/issues/1368",
            "https://github.com/NVIDIA/nccl/issues/317",
            "https://github.com/NVIDIA/nccl/issues/1716",
            "https://github.com/vllm-project/vllm/pull/58179",
        ),
    ),
    Rule(
        name="nccl-channel-count",
        sees=env(
            "NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_MIN_CTAS NCCL_MAX_CTAS NCCL_MIN_NRINGS NCCL_MAX_NRINGS"
            " NCCL_NTHREADS NCCL_LL128_NTHREADS NCCL_NCHANNELS_* NCCL_MIN_P2P_NCHANNELS NCCL_MAX_P2P_NCHANNELS"
            " NCCL_NVLS_NCHANNELS NCCL_CTA_POLICY NCCL_CGA_* RCCL_CHANNEL_TUNING_ENABLE RCCL_UNROLL_FACTOR"
            " NCCL_MULTI_RANK_GPU_ENABLE"
        ),
        moves=("collective", "gpu compute", "gpu memory"),
        between=True,
        breaks="seldom",
        usual=(1.02, 2.5),
        beside=("process/*/env/CUDA_DEVICE_MAX_CONNECTIONS",),
        why="Each channel is a thread block that has a multiprocessor to itself, and buffers: too few leave a link "
        "idle (one ring over TCP 2.1 GB/s, eight 3.8; send and receive 24 against 18), many take the GPU from the "
        "kernels that run beside them, and small messages wait for more of them.",
        confirm="all_reduce_perf or sendrecv_perf at the run's sizes with both values, then the step with both",
        confirmed=1,
        sources=(
            _NCCL,
            "https://github.com/NVIDIA/nccl/issues/209",
            "https://github.com/NVIDIA/nccl/issues/1272",
            "https://github.com/NVIDIA/nccl/issues/689",
        ),
    ),
    Rule(
        name="rccl-kernels",
        sees=env("RCCL_MSCCL_* RCCL_MSCCLPP_* RCCL_P2P_BATCH_* RCCL_DIRECT_* RCCL_DDA_* RCCL_CE_* MSCCLPP_*"),
        moves=("collective", "gpu memory"),
        between=True,
        breaks="seldom",
        beside=("gpu/*/peers/*/topology",),
        why="Which collectives of AMD's library go by kernels of their own for one host, up to which size, and whether "
        "small sends are sent together. Late releases no longer have MSCCL: there the switch does nothing.",
        confirm="rccl-tests at the run's sizes with both values; NCCL_DEBUG=INFO names MSCCL and MSCCL++",
        sources=(
            "https://rocm.docs.amd.com/projects/rccl/en/latest/api-reference/env-variables.html",
            "https://rocm.docs.amd.com/projects/rccl/en/docs-7.14.0/how-to/rccl-usage-tips.html",
        ),
    ),
    Rule(
        name="nccl-switch-reduction",
        sees=env("NCCL_NVLS_*"),
        moves=("collective", "nvlink", "gpu memory"),
        between=True,
        breaks="often",
        usual=(1.02, 2.7),
        beside=("driver/daemons/nvidia-fabricmanager/running", "gpu/*/fabric/state"),
        told_by=("nccl-multicast-failed",),
        why="Whether switches of NVLink reduce on the way. It binds multicast memory on every GPU, some of it for each "
        "communicator: where the fabric manager is not ready, or memory is short, communicators cannot be built. Off, "
        "together with CUMEM, an all-reduce of 112 MB over four hosts of one rack took 1350 us, not 506.",
        confirm="NCCL_NVLS_ENABLE=0, then the same start; NCCL_DEBUG=INFO names NVLS",
        sources=(
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-nvls-enable",
            "https://github.com/lightseekorg/tokenspeed/pull/1127",
            "https://github.com/NVIDIA/nccl/issues/1197",
        ),
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
        sees=env("NCCL_P2P_* NCCL_SHM_* NCCL_IGNORE_DISABLED_P2P NCCL_NVB_DISABLE"),
        moves=("collective", "nvlink", "pcie link"),
        binds=REROUTED,
        between=True,
        breaks="seldom",
        usual=(1.02, 2.0),
        beside=("gpu/*/peers/*/topology", "gpu/*/pcie/numa_node"),
        why="Up to which distance GPUs read each other's memory: beyond it they pass through the host's. By default "
        "not through a host bridge, but for two GPUs on a CPU of AMD. SYS forces it there, which helps where the "
        "bridge is good at it and hangs where it blocks what is advertised.",
        confirm="NCCL_DEBUG=INFO: `via P2P` or `via SHM` of each channel in both states; p2pBandwidthLatencyTest",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/blob/master/src/graph/paths.cc"),
    ),
    Rule(
        name="nccl-copying",
        sees=env(
            "NCCL_P2P_USE_CUDA_MEMCPY NCCL_SHM_USE_CUDA_MEMCPY NCCL_SHM_MEMCPY_MODE NCCL_SHM_LOCALITY"
            " NCCL_P2P_DIRECT_DISABLE NCCL_P2P_READ_ENABLE NCCL_CE_* NCCL_IPC_USE_ABSTRACT_SOCKET"
        ),
        moves=("collective", "nvlink", "pcie link"),
        between=True,
        breaks="seldom",
        why="By which hand data go between GPUs of one host: kernels or copy engines, reading or writing, from the "
        "program's buffer or by one in between, on whose side of the host's memory.",
        confirm="all_reduce_perf on one host with both values; the channels' lines of NCCL_DEBUG=INFO",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/blob/master/src/transport/p2p.cc"),
    ),
    Rule(
        name="nccl-nvlink-between-hosts",
        sees=env("NCCL_MNNVL_*"),
        moves=("collective", "nvlink", "network"),
        between=True,
        breaks="often",
        beside=("gpu/*/fabric/state", "gpu/*/fabric/clique_id"),
        why="Whether hosts of one rack use NVLink between them, or adapters at a small part of its rate. It needs "
        "CUMEM and an IMEX domain on all of them: with 1 the start fails without these, with 2 it falls back in "
        "silence. Cliques by hand divide the rack.",
        confirm="NCCL_DEBUG=INFO: `MNNVL 1`; nvidia-imex-ctl -N; the same start with 1",
        sources=(
            _NCCL,
            "https://github.com/NVIDIA/nccl/issues/2186",
            "https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/index.html",
        ),
    ),
    Rule(
        name="nccl-buffers",
        sees=env(
            "NCCL_BUFFSIZE NCCL_*_BUFFSIZE NCCL_*CHUNKSIZE NCCL_CHUNK_SIZE NCCL_ALLOC_P2P_NET_LL_BUFFERS"
            " NCCL_MAX_P2P_PEERS"
        ),
        moves=("gpu memory", "collective"),
        between=True,
        breaks="seldom",
        why="In pieces of which size data are handed on, and how much memory each channel and peer takes for it (4 MiB "
        "by default): small pieces pay the proxy's work for each, large ones start the next hop late.",
        confirm="all_reduce_perf and alltoall_perf at the run's sizes with both values; used memory after the start",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/issues/2409"),
    ),
    Rule(
        name="nccl-registration",
        sees=env("NCCL_*REGISTER* NCCL_WIN_* NCCL_REG_CACHE_* NCCL_NO_CACHE"),
        moves=("collective", "gpu memory", "gpu compute"),
        between=True,
        breaks="seldom",
        why="Whether NCCL works on the program's own buffers: without a copy at each end, and with fewer "
        "multiprocessors. Buffers from cudaMalloc need a synchronisation for it, by which ranks can hang.",
        confirm="Both values in all_reduce_perf -R 1 and in the run; NCCL_DEBUG_SUBSYS=REG tells what was registered",
        sources=(
            _NCCL,
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/bufferreg.html",
        ),
    ),
    Rule(
        name="nccl-memory",
        sees=env("NCCL_CUMEM_* NCCL_MEM_* NCCL_DISABLE_MEM_MANAGER"),
        moves=("gpu memory", "collective"),
        between=True,
        breaks="often",
        why="By which calls NCCL gets its buffers: CUMEM is on by default since 2.19, takes memory in larger pieces "
        "that the cache no longer has, and is what NVLS, windows and NVLink between hosts need. Launchers force it "
        "off. Starts that build fifty communicators hung in it now and then.",
        confirm="Unset it; used memory after the communicators are built (NCCL_DEBUG=INFO) in both states",
        confirmed=2,
        sources=(
            _NCCL,
            "https://github.com/NovaSky-AI/SkyRL/pull/1629",
            "https://github.com/NVIDIA/nccl/issues/2379",
        ),
    ),
    Rule(
        name="nccl-topology",
        sees=env("NCCL_TOPO_* NCCL_GRAPH_FILE NCCL_RINGS NCCL_HOSTID"),
        moves=("collective", "nvlink", "pcie link"),
        between=True,
        breaks="often",
        beside=("nccl/*/files",),
        why="What NCCL believes of the machine: rings are laid by it. Images of clouds bring a file for their own type "
        "of host; on another one rings cross links that are not there, or the start ends. Ranks with one HOSTID take "
        "each other for neighbours.",
        confirm="NCCL_TOPO_DUMP_FILE in both states, then compare the two files",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/issues/1240"),
    ),
    Rule(
        name="nccl-settings-from-elsewhere",
        sees=env("NCCL_CONF_FILE NCCL_ENV_PLUGIN NCCL_CONFIG_FILE"),
        moves=("collective", "network"),
        between=True,
        breaks="seldom",
        beside=("nccl/*/files", "nccl/*/origins/*"),
        why="From which file or plugin NCCL takes variables that the environment does not show: any of them can be "
        "another one.",
        confirm="NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=ENV in both states: what it says that it took",
        sources=(_NCCL,),
    ),
    Rule(
        name="nccl-threads",
        sees=env("NCCL_IGNORE_CPU_AFFINITY NCCL_PROXY_* NCCL_PROGRESS_*"),
        moves=("cpu time", "page placement", "collective"),
        between=True,
        beside=("process/*/affinity", "process/*/cgroup/cpuset_cpus"),
        why="Where NCCL's own threads stand, which feed the network and poll: on the cores that the launcher left "
        "them, sometimes one for all, or on all that are near the GPU. In some releases the program's later threads "
        "inherit what it set: 75 ms of each request by the wrong half of the cores.",
        confirm="`Setting affinity for GPU` in NCCL_DEBUG=INFO; taskset -pc of each thread in both states",
        sources=(
            _NCCL,
            "https://github.com/meta-pytorch/torchcomms/pull/2906",
            "https://github.com/NVIDIA/nccl-tests/issues/57",
        ),
    ),
    Rule(
        name="nccl-launching",
        sees=env(
            "NCCL_LAUNCH_* NCCL_GRAPH_MIXING_SUPPORT NCCL_GRAPH_STREAM_ORDERING NCCL_GRAPH_HELPER_DISABLE"
            " NCCL_SET_STACK_SIZE NCCL_WORK_* NCCL_GROUP_* NCCL_MEM_SYNC_DOMAIN"
        ),
        moves=("launch latency", "collective"),
        between=True,
        breaks="often",
        why="How NCCL's kernels are launched and ordered against each other and against graphs. GROUP lets one thread "
        "launch for all GPUs, later and safer; orders that are not kept end in a wait of two kernels for each other, "
        "and orders that are kept needlessly in gaps.",
        confirm="Unset it, then the same run; gaps around ncclDevKernel in a trace of one step; py-spy dump of a hang",
        sources=(
            _NCCL,
            "https://github.com/NVIDIA/nccl/pull/297",
            "https://github.com/NVIDIA/nccl/issues/613",
        ),
    ),
    Rule(
        name="nccl-checks",
        sees=env("NCCL_CHECK_* NCCL_CHECKS_DISABLE"),
        moves=("cpu time", "launch latency"),
        between=True,
        why="Whether each call's pointers and sizes are checked on the host before it is launched: some microseconds "
        "a call, and with the global check a word with all ranks. Off by default.",
        confirm="Unset it, then the same run; count the collectives that are not in a graph",
        sources=(_NCCL,),
    ),
    Rule(
        name="nccl-watched",
        sees=env("NCCL_PROFILER_* NCCL_PROFILE_* NCCL_INSPECTOR_* NCCL_TRACE_* NPKIT_* NCCL_NVTX_*"),
        moves=("cpu time", "launch latency", "storage"),
        best=("absent",),
        between=True,
        why="A profiler in NCCL notes events of each operation, channel and step of the proxy, and some write them "
        "down.",
        confirm="Start without it; files that grow during the run",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/tree/master/plugins/profiler"),
    ),
    Rule(
        name="nccl-takes-no-part",
        sees=env(
            "NCCL_VERSION NCCL_HOME NCCL_ROOT NCCL_DIR NCCL_INCLUDE_* NCCL_LIB_* NCCL_LIBRARY NCCL_RAS_*"
            " NCCL_SET_THREAD_NAME NCCL_SOCKET_MAGIC NCCL_TOPO_DUMP_* NCCL_GRAPH_DUMP_*"
            " NCCL_TESTS_* NCCL_COMM_NAME NCCL_PORT NVSHMEM_HOME NVSHMEM_DIR NVSHMEM_PREFIX"
        ),
        moves=("code",),
        phases=("start-up", "any work"),
        between=True,
        unused=True,
        why="Where NCCL was built from or lies, how threads are named, to whom it tells its health, where it writes "
        "what it found: no step waits for it. The release that an image names is that of its package, which a wheel's "
        "copy often replaces.",
        confirm="NCCL_DEBUG=VERSION prints the release that was loaded",
        drifted=2,
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
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/issues/1716"),
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
        name="log-levels",
        sees=env(
            "NCCL_DEBUG NCCL_DEBUG_* NCCL_WARN_* RCCL_LOG* RCCL_DEBUG* NVSHMEM_DEBUG NVSHMEM_DEBUG_* NVSHMEM_INFO"
            " NVSHMEM_INFO_* NVSHMEM_VERSION VLLM_LOGGING_* VLLM_LOG_* VLLM_TRACE_* VLLM_CONFIGURE_LOGGING"
            " SGLANG_LOG_* SGLANG_*_LOG SGLANG_*_LOG_* SGLANG_*LOGGING* TRTLLM_LOG_* TRTLLM_*_LOG TRTLLM_*_LOG_*"
            " TRTLLM_*LOGGING* TLLM_LOG* TORCH_LOGS* TORCH_CPP_LOG_* TORCH_SHOW_* TF_CPP_* UCX_LOG_* GLOG_*"
            " ONEDNN_VERBOSE MKL_VERBOSE RUST_LOG CUBLAS_LOG* CUBLASLT_LOG* CUDNN_LOG* CUDA_LOG_FILE"
            " AMD_LOG_* MIOPEN_*LOG* ROCBLAS_LAYER ROCBLAS_LOG_* HIPBLASLT_LOG_* KINETO_LOG_* VERBOSE"
        ),
        moves=("cpu time", "system calls", "storage"),
        scale=LEVELS,
        phases=("host latency", "decode step", "verify step", "start-up", "any work"),
        usual=(1.0, 1.2),
        why="Lines written on the path of each step are time of the thread that launches; at usual levels little.",
        confirm="Start without it; count the lines that one step writes",
        drifted=1,
        sources=(_NCCL, "https://docs.vllm.ai/en/stable/configuration/env_vars/"),
    ),
)
