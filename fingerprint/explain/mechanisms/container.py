"""The container: which one, and what it was given beside CPU and memory."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

_NAMESPACES = "https://man7.org/linux/man-pages/man7/namespaces.7.html"
_CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html"

RULES: tuple[Rule, ...] = (
    Rule(
        name="container-runtime",
        sees=("container/*/runtime",),
        moves=("system calls", "storage", "network", "availability"),
        breaks="often",
        usual=(1.02, 2.1),
        beside=("process/*/seccomp", "container/*/namespaces", "container/*/root_type"),
        why="A runtime brings its own defaults: a seccomp filter (interpreted code ran at half its speed under an old "
        "one), a network behind NAT, an overlay as root, 64 MiB of shared memory. In no container there is none of it.",
        confirm="docker run --security-opt seccomp=unconfined --network host --ipc host, one at a time",
        confirmed=4,
        sources=("https://github.com/davepl/Primes/pull/3", "https://docs.docker.com/engine/security/seccomp/"),
    ),
    Rule(
        name="container-image",
        sees=("container/*/image", "container/*/image_id"),
        moves=("code", "kernel choice"),
        members=("libraries", "mapped"),
        breaks="often",
        why="Everything from the C library to the kernels of the engine comes with the image, and a tag like latest or "
        "nightly moves from one to the next.",
        confirm="Start the other run's image by its digest with the same arguments",
        sources=(
            "https://docs.docker.com/reference/cli/docker/image/pull/#pull-an-image-by-digest-immutable-identifier",
        ),
    ),
    Rule(
        name="container-namespaces",
        sees=("container/*/namespaces",),
        moves=("network", "collective", "availability"),
        breaks="often",
        beside=("container/*/runtime", "process/*/env/NCCL_SOCKET_IFNAME"),
        told_by=("mps-unreachable",),
        why="A network of its own takes each packet through a bridge or NAT and hides interfaces from NCCL and Gloo; "
        "an ipc of its own keeps ranks of two containers from sharing memory, and they fall back to sockets.",
        confirm="--network host and --ipc host, one at a time; NCCL_DEBUG=INFO: the transports",
        confirmed=1,
        sources=(
            _NAMESPACES,
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
            "https://github.com/NVIDIA/nvidia-docker/issues/1396",
        ),
    ),
    Rule(
        name="container-root",
        sees=("container/*/root_type",),
        moves=("storage",),
        phases=("start-up", "any work"),
        why="A start opens thousands of small files. Overlays, FUSE and network file systems look each of them up in "
        "several layers or through another process.",
        confirm="strace -c -f -e openat,newfstatat for the start in both; put the environment on a volume",
        sources=("https://docs.kernel.org/filesystems/overlayfs.html",),
    ),
    Rule(
        name="shared-memory-size",
        sees=("container/*/shm_size",),
        moves=("collective", "availability", "host memory"),
        way="more helps",
        breaks="often",
        usual=(1.1, 45.0),
        beside=("container/*/namespaces",),
        told_by=("nccl-shm-full", "nccl-shm-segment", "shared-memory-full", "no-space-left", "worker-shared-memory"),
        why="NCCL, data loaders and message queues between workers put their buffers into /dev/shm: too small is a bus "
        "error, a hang or copies through sockets. Docker gives 64 MiB.",
        confirm="df /dev/shm inside during the run; --shm-size=16g or --ipc=host",
        confirmed=5,
        sources=(
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
            "https://github.com/fal-ai-community/video-diffusion-speedrun/issues/2",
            "https://github.com/NVIDIA/Megatron-LM/issues/878",
        ),
    ),
    Rule(
        name="capabilities",
        sees=("container/*/capabilities",),
        moves=("page placement", "cpu time", "network", "availability"),
        breaks="often",
        beside=("process/*/limits/memlock", "process/*/seccomp"),
        told_by=(
            "nccl-without-host-allocations",
            "memory-policy-denied",
        ),
        why="Without sys_nice mbind, set_mempolicy of others and real-time scheduling are refused, without ipc_lock "
        "locked memory ends at its limit, without sys_ptrace peers cannot map each other's memory. Most programs say "
        "so once and go on.",
        confirm="--cap-add=SYS_NICE, IPC_LOCK, SYS_PTRACE, one at a time; `Operation not permitted` in the log",
        sources=("https://man7.org/linux/man-pages/man7/capabilities.7.html",),
    ),
    Rule(
        name="security-label",
        sees=("container/*/label",),
        moves=("system calls", "storage", "availability"),
        breaks="often",
        why="A profile is asked at each open file, socket and signal, and may refuse devices, huge pages, debuggers.",
        confirm="--security-opt apparmor=unconfined (label=disable); DENIED in the kernel's log",
        sources=("https://docs.kernel.org/admin-guide/LSM/apparmor.html",),
    ),
    Rule(
        name="container-devices",
        sees=("container/*/devices",),
        moves=("gpu compute", "collective", "network", "availability"),
        breaks="often",
        beside=("process/*/env/NVIDIA_VISIBLE_DEVICES", "mapped/*/devices"),
        told_by=("cuda-no-device", "cuda-init-failed", "nccl-net-socket", "nccl-no-adapter", "no-gpu-used"),
        why="What is in the container's /dev is what can be used at all: other GPUs, no NVSwitch or IMEX channel, no "
        "InfiniBand and thus sockets.",
        confirm="ls /dev/nvidia* /dev/infiniband inside; --gpus and --device as in the other run",
        sources=("https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",),
    ),
    Rule(
        name="disk-throttle",
        sees=("container/*/cgroup/io_max", "container/*/cgroup/io_max/*"),
        moves=("storage",),
        binds=(
            Condition(facts="usage/main/cgroup/pressure/io", sign="grew", says="its tasks waited for a disk"),
            Condition(facts="pressure/io/some/total", sign="grew", says="threads of this host waited for a disk"),
        ),
        why="Weights, caches and logs come no faster than the control group may read and write.",
        confirm="io.stat of the group during the start; echo 'MAJOR:MINOR rbps=max wbps=max' > io.max",
        sources=(_CGROUP,),
    ),
    Rule(
        name="huge-pages-granted",
        sees=("container/*/cgroup/hugetlb_max", "container/*/cgroup/hugetlb_max/*"),
        moves=("page size", "availability"),
        way="more helps",
        breaks="often",
        why="Beyond what the control group may have, mapping a huge page fails, and programs take small ones or end.",
        confirm="hugetlb.SIZE.events of the group; echo max > hugetlb.SIZE.max",
        sources=(_CGROUP,),
    ),
    Rule(
        name="tasks-refused",
        sees=("usage/*/cgroup/pids_events",),
        moves=("availability", "cpu time"),
        way="less helps",
        breaks="often",
        beside=("process/*/cgroup/pids_max",),
        told_by=("threads-refused",),
        why="A thread or process was not started because the control group had as many as it may: pools run with fewer "
        "threads, or the program ends.",
        confirm="--pids-limit=-1; `Resource temporarily unavailable` in the log",
        sources=("https://docs.kernel.org/admin-guide/cgroup-v1/pids.html",),
    ),
)
