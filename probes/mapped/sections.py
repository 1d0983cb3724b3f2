"""What is told of a process's address space."""

from typing import Literal, Union

from probes.kit.facts import Map, Section, Seen, config, state, telemetry

Node = Union[int, Literal["several"]]

_MAPS = "/proc/PID/maps"
_STATUS = "/proc/PID/status"
_SEARCHED = (
    "process/*/interpreter/environment",
    "process/*/program/path",
    "process/*/env/LD_LIBRARY_PATH",
    "process/*/env/LD_PRELOAD",
)
_COPIES = "mapped/*/libraries/*/copies"
_ITS_PATH = ("mapped/*/libraries/*/path", "mapped/*/libraries/*/others/*/path", _COPIES)
_ITS_VERSION = ("mapped/*/libraries/*/version", "mapped/*/libraries/*/others/*/version", *_ITS_PATH)
_ITS_CONTENT = (
    "mapped/*/libraries/*/build_id",
    "mapped/*/libraries/*/sha256",
    "mapped/*/libraries/*/others/*/build_id",
    "mapped/*/libraries/*/others/*/sha256",
)


class File(Section):
    """One file of machine code. What the file tells is read from it, never from its name or its package."""

    path: Seen[str] = config(
        "Wheels, conda, the distribution and engines bring copies of their own; which one is mapped decides",
        _MAPS,
        follows=(_COPIES, *_SEARCHED),
    )
    version: Seen[str] = config(
        "A release behaves differently: NCCL 2.30.4 gave 4.12 or 2.58 by chance where 2.27 was steady",
        "the file: a text in its .rodata, else the symbol versions that it defines",
        follows=_ITS_PATH,
    )
    build_id: Seen[str] = config(
        "Tells one build from the next where version and name are the same: a rebuild, a patched engine kernel",
        "the file: .note.gnu.build-id",
        follows=_ITS_VERSION,
    )
    sha256: Seen[str] = config(
        "Stands for the build id where the linker wrote none", "the file, of up to 64 MiB", follows=_ITS_VERSION
    )
    size: Seen[int] = config(
        "Another build is seldom of the same size, which is all that is known of one that may not be read",
        "the file",
        "B",
        follows=(*_ITS_VERSION, *_ITS_CONTENT),
    )
    soname: Seen[str] = config("By which name others ask for it", "the file: DT_SONAME", context=True)
    owner: Seen[str] = config(
        "Which package to reinstall or to swap; the file decides what runs",
        "the dist-info whose RECORD lists it, /var/lib/dpkg/info/*.list",
        context=True,
    )
    deleted: Seen[bool] = state(
        "True: an upgrade replaced the file while it was mapped. The process runs what no file holds any more, and the "
        "next one something else",
        _MAPS,
        settled="always",
        follows=(_COPIES,),
        restore="restart the process",
    )


class Library(File):
    """Of several files of one name, the first by its path, and the others below it."""

    copies: Seen[int] = state(
        "More than one file of this name in one process: which of them answers a call is an accident of loading order",
        _MAPS,
        "files",
        settled="always",
        follows=_SEARCHED,
    )
    others: Seen[Map[File]] = config(
        "What each further file of this name is", f"{_MAPS}, numbered from 2 by path", follows=(_COPIES, *_SEARCHED)
    )


class Memory(Section):
    """Where the process's pages are."""

    policies: Seen[tuple[str, ...]] = config(
        "Memory policies other than the default, of the process or of parts of it: bind, interleave, prefer",
        "/proc/PID/numa_maps",
        follows=("process/*/program/path", "process/*/flags/--*numa*", "process/*/flags/--*mem*bind*"),
        restore="numactl --membind=N COMMAND",
    )
    node: Seen[Node] = state(
        "Pages touched before a binding took effect stay where they were: 22 % remote, 2 % to 1.8 x",
        "/proc/PID/numa_maps: the node that holds three quarters of the anonymous pages, else `several`",
        settled="always",
        follows=("mapped/*/memory/policies", "process/*/affinity", "process/*/mems_allowed"),
        restore="migratepages PID FROM TO",
    )
    nodes: Seen[Map[Seen[int]]] = telemetry("How its pages are spread over the nodes", "/proc/PID/numa_maps", "kB")
    anonymous: Seen[int] = telemetry("Heap, stacks and host buffers", f"{_STATUS} RssAnon", "kB")
    file: Seen[int] = telemetry("Code, and weights that are mapped from a file", f"{_STATUS} RssFile", "kB")
    shared: Seen[int] = telemetry("What ranks hand each other, through /dev/shm", f"{_STATUS} RssShmem", "kB")
    swapped: Seen[int] = telemetry("What has to come back from disk when it is touched", f"{_STATUS} VmSwap", "kB")
    locked: Seen[int] = telemetry("Counts against the limit memlock", f"{_STATUS} VmLck", "kB")
    pinned: Seen[int] = telemetry("Registered for RDMA: it can be neither moved nor swapped", f"{_STATUS} VmPin", "kB")
    hugetlb: Seen[int] = telemetry("On pages that were set aside as huge ones", f"{_STATUS} HugetlbPages", "kB")


class Mapped(Section):
    """The address space of one process and the devices that it holds open."""

    libraries: Seen[Map[Library]] = config(
        "Collectives, kernels, allocators and thread pools are what was mapped, whatever is installed",
        f"{_MAPS}, by file name without version",
        follows=(*_SEARCHED, "process/*/flags/*", "process/*/operands"),
    )
    files: Seen[int] = telemetry(
        "A process that compiles kernels maps a file for each; of more than 256 the first by path are told",
        _MAPS,
        "files",
    )
    preloaded: Seen[tuple[str, ...]] = config(
        "Put in front of all others: allocators, GPU-sharing libraries, profilers",
        "LD_PRELOAD, /etc/ld.so.preload",
        follows=("process/*/env/LD_PRELOAD", "driver/libraries/preload"),
    )
    devices: Seen[tuple[str, ...]] = state(
        "Which GPUs and RDMA devices it really opened, whatever it was told to use",
        "/proc/PID/fd",
        settled="always",
    )
    memory: Memory = Memory()
