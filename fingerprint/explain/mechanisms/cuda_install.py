"""CUDA on the host: toolkits that compile, a newer driver's libraries, and what containers are given of the GPUs."""

from fingerprint.explain.mechanisms.graph import Rule

_COMPAT = "https://docs.nvidia.com/deploy/cuda-compatibility/"
_TOOLKIT = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/"

RULES: tuple[Rule, ...] = (
    Rule(
        name="cuda-toolkit",
        sees=(
            "platform/cuda/default",
            "platform/cuda/toolkits",
            "platform/cuda/toolkits/*",
            "platform/cuda/toolkits/*/version",
        ),
        moves=("kernel choice", "code"),
        unused=True,
        breaks="seldom",
        usual=(1.0, 1.3),
        beside=("process/*/env/CUDA_HOME", "storage/*/caches/*/at_start"),
        why="FlashInfer, DeepGEMM and torch's extensions compile with the toolkit that they find: another nvcc makes "
        "other code, or none for a new GPU. Wheels bring what they need and do not look here.",
        confirm="CUDA_HOME=/usr/local/cuda-X.Y with an empty cache, in both runs",
        sources=("https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/",),
    ),
    Rule(
        name="forward-compatibility",
        sees=("platform/cuda/toolkits/*/compat", "platform/cuda/compat_in_loader"),
        moves=("code", "kernel choice", "availability"),
        breaks="often",
        usual=(1.0, 1.4),
        beside=("driver/module/version", "mapped/*/libraries/libcuda.so.1/path"),
        told_by=("cuda-driver-combination", "cuda-compatibility-refused"),
        why="A process that finds a newer libcuda first has another compiler and launch path than those beside it, on "
        "the same kernel module; on GPUs or modules that it does not serve, CUDA does not start (error 803, 804).",
        confirm="grep libcuda /proc/PID/maps in both runs; start without .../compat in LD_LIBRARY_PATH",
        sources=(_COMPAT,),
    ),
    Rule(
        name="mps-pipe",
        sees=("platform/cuda/mps_pipe",),
        moves=("gpu compute", "availability"),
        breaks="often",
        beside=("driver/daemons/nvidia-mps-control/running", "process/*/env/CUDA_MPS_PIPE_DIRECTORY"),
        why="CUDA becomes a client of the daemon whose pipe it finds: kernels of several processes run side by side "
        "and share threads and memory as it was told. A pipe without a daemon ends the start with error 805.",
        confirm="echo get_server_list | nvidia-cuda-mps-control; quit the daemon and remove its folder",
        sources=("https://docs.nvidia.com/deploy/mps/",),
    ),
    Rule(
        name="container-toolkit",
        sees=(
            "platform/containers/toolkit_version",
            "platform/containers/toolkit",
            "platform/containers/toolkit/*",
            "platform/containers/cdi",
            "platform/containers/cdi/*",
        ),
        moves=("availability", "code"),
        breaks="seldom",
        beside=("driver/module/version", "container/*/devices"),
        why="It mounts the driver's libraries and devices into a container: by another mode or an old list a container "
        "has other ones, or none after the next reload of systemd.",
        confirm="nvidia-ctk cdi list; ldconfig -p | grep -E 'cuda|nvidia' inside of both containers",
        sources=(_TOOLKIT, "https://github.com/cncf-tags/container-device-interface"),
    ),
    Rule(
        name="docker-defaults",
        sees=("platform/containers/docker", "platform/containers/docker/*"),
        moves=("availability", "host memory", "storage", "system calls"),
        breaks="seldom",
        usual=(1.0, 2.1),
        beside=("container/*/shm_size", "container/*/runtime"),
        why="What a container has that asks for nothing: 64 MiB of /dev/shm, limits of locked memory, a seccomp filter "
        "(2x where it interprets code), the storage driver that its files are read through.",
        confirm="docker inspect of both containers: HostConfig",
        sources=("https://docs.docker.com/reference/cli/dockerd/", "https://github.com/davepl/Primes/pull/3"),
    ),
)
