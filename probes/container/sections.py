"""What is told of the container of a process."""

from probes.kit.facts import Map, Section, Seen, config, telemetry

_STATUS = "/proc/PID/status"
_IMAGE = (
    "/var/lib/docker/containers/ID/config.v2.json, /run/.containerenv inside, the annotations in config.json of "
    "containerd and CRI-O"
)
_BY_RUNTIME = ("container/*/runtime",)


class Groups(Section):
    """Of its control groups, what `process` does not tell."""

    version: Seen[int] = config(
        "Of the hierarchy that holds its memory: limits differ in what they count", "mountinfo", context=True
    )
    io_max: Seen[Map[Seen[str]]] = config(
        "Weights and caches come no faster than this",
        "io.max, blkio.throttle.*_device, by MAJOR:MINOR",
        "B/s, IO/s",
        restore="echo '{key} {value}' > /sys/fs/cgroup/CGROUP/io.max # v1: blkio/CGROUP/blkio.throttle.*_device",
    )
    hugetlb_max: Seen[Map[Seen[str]]] = config(
        "How much memory of this page size it may use, however many such pages the host has set aside",
        "hugetlb.SIZE.max, hugetlb.SIZE.limit_in_bytes",
        "B",
    )


class Container(Section):
    """The container of one process, or that it is in none.

    A restart of a container is another `started`; one of the host another boot (kernel/boot_id) as well. What each
    of them sets back is told with them: it is where to look, not a cause.
    """

    runtime: Seen[str] = config(
        "Runtimes differ in default limits, seccomp filter, network and storage; `none` where it is in no container, "
        "`unknown` where its file system and pids are its own and nothing tells whose",
        "/proc/PID/cgroup, and what runtimes leave in the root: /.dockerenv, /run/.containerenv, /.singularity.d",
    )
    id: Seen[str] = telemetry("Which container; each start has a new one", "/proc/PID/cgroup, /proc/PID/mountinfo")
    image: Seen[str] = config(
        "Another tag is another environment from end to end",
        _IMAGE,
        follows=("process/**/flags/*", "process/**/operands"),
    )
    image_id: Seen[str] = config(
        "A tag that was moved (latest, nightly) is another image under the same name",
        _IMAGE,
        follows=("container/*/image",),
    )
    started: Seen[int] = config(
        "Another start of the container begins with what its image holds: compiled and tuned kernels, /tmp, /dev/shm, "
        "limits, devices, variables and placement are new, while GPU clocks, power limits, persistence, the page cache "
        "and the host's settings stay. Where kernel/boot_id differs too it was the host: those were set back as well",
        "/proc/PID/stat field 22 of the oldest process in its cgroup",
        "1/100 s since boot",
        context=True,
    )
    namespaces: Seen[tuple[str, ...]] = config(
        "What is separate from the host: a network of its own costs a bridge or NAT for each packet, an ipc of its own "
        "has its own /dev/shm",
        "/proc/PID/ns against those of process 1, else of the reader",
        follows=_BY_RUNTIME,
    )
    root_type: Seen[str] = config(
        "Overlay, FUSE and network file systems open the thousands of files of a start-up at their own speed",
        "/proc/PID/mountinfo",
        follows=_BY_RUNTIME,
    )
    shm_size: Seen[int] = config(
        "Docker gives 64 MiB, which NCCL and data loaders outgrow: hangs, bus errors, sockets instead of shared memory",
        "statvfs of /dev/shm",
        "B",
        follows=_BY_RUNTIME,
        restore="docker run --shm-size={value} IMAGE",
    )
    shm_used: Seen[int] = telemetry("How near it is to its size", "statvfs of /dev/shm", "B")
    capabilities: Seen[tuple[str, ...]] = config(
        "Without sys_nice the kernel refuses to place memory and threads, without ipc_lock to lock memory for RDMA; "
        "programs go on without",
        f"{_STATUS} CapEff, as capabilities(7) names them; `all` for all that this kernel has",
        follows=_BY_RUNTIME,
    )
    label: Seen[str] = config(
        "An AppArmor profile or SELinux domain is asked at each open file, socket and signal",
        "/proc/PID/attr/apparmor/current, /proc/PID/attr/current",
        follows=_BY_RUNTIME,
    )
    devices: Seen[tuple[str, ...]] = config(
        "Which GPUs and RDMA devices were put into it; after a daemon-reload they may be there and refuse to open",
        "names in its /dev",
        follows=("container/*/image", "process/*/env/NVIDIA_VISIBLE_DEVICES"),
    )
    cgroup: Groups = Groups()
