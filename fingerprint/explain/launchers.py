"""Programs that start others, which have what they were given."""

from fingerprint.elsewhere import ELSEWHERE

OF_RANKS = frozenset(("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"))
ON_HOSTS = OF_RANKS | {"aprun", "flux", "helm", "jsrun", "kubectl", "oc", "pdsh", "salloc", "sbatch", "srun", "ssh"}
"""That may start them on other hosts."""
WHERE_NOBODY_LOOKED = ELSEWHERE | ON_HOSTS | {
    "bwrap", "ch-run", "ctr", "docker-compose", "firejail", "incus", "lxc", "machinectl", "shifter", "systemd-nspawn",
    "systemd-run",
}  # fmt: skip
WRAPPERS = frozenset((
    "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh", "make", "parallel", "xargs", "chrt", "choom", "ionice",
    "nice", "numactl", "prlimit", "setpriv", "taskset", "catchsegv", "chroot", "env", "nohup", "nsenter", "script",
    "setsid", "stdbuf", "time", "timeout", "unshare", "watch", "doas", "gosu", "runuser", "setuidgid", "su",
    "su-exec", "sudo", "conda", "mamba", "micromamba", "pdm", "pipenv", "pixi", "poetry", "uv", "uvx", "catatonit",
    "dumb-init", "s6-supervise", "supervisord", "tini", "compute-sanitizer", "cuda-gdb", "gdb", "hyperfine", "ltrace",
    "ncu", "nsys", "perf", "py-spy", "rocprof", "rocprofv3", "strace", "valgrind", "llama-swap",
))  # fmt: skip
"""That start others on their own host, and do little beside."""
