"""What is told of the places that a process reads from when it starts."""

from typing import Literal

from probes.kit.facts import Map, Redacted, Section, Seen, config, state, telemetry

AtStart = Literal["cold", "warm", "added to"]
InMemory = Literal["none", "part", "all"]

_MOUNTED = "/proc/PID/mountinfo"
_NAMED = ("model/*/*/path", "model/*/*/name", "storage/*/models")
_MOVED = (*_NAMED, "storage/*/caches/*/path")
_PLACING = tuple(
    f"process/*/env/{name}"
    for name in (
        "HOME TMPDIR XDG_CACHE_HOME TORCHINDUCTOR_* TRITON_* VLLM_* SGLANG_* FLASHINFER_* DG_* CUDA_CACHE_* TILELANG_*"
        " AITER_* TORCH_EXTENSIONS_DIR"
    ).split()
)


def _type_of(glob: str) -> tuple[str, ...]:
    return (f"storage/*/{glob}/mount/type", *_MOVED)


_OTHER = ("storage/*/models/*/mount/source", "storage/*/caches/*/mount/source", *_MOVED)


class Mount(Section):
    """The file system that a place lies on."""

    type: Seen[str] = config(
        "A network, FUSE or overlay file system opens and reads at its own speed: weights from NFS cold took 281 s, "
        "from memory 4.2 s",
        _MOUNTED,
        follows=_OTHER,
    )
    source: Seen[Redacted] = config(
        "Another server, export or volume under the same path, as a keyed digest",
        _MOUNTED,
        follows=_MOVED,
        private=True,
    )
    options: Seen[Map[Seen[str]]] = config(
        "How it is read: sizes of requests, connections, what is cached and for how long, compression",
        f"{_MOUNTED}, those that decide on speed",
        follows=_OTHER,
    )
    device: Seen[str] = config(
        "Which disk below it: its facts are those of area block", "/sys/dev/block", follows=_MOVED
    )
    read_ahead_kb: Seen[int] = config(
        "How far is read ahead on this file system: NFS begins with 128 KiB, whatever the network could carry",
        "/sys/class/bdi/MAJOR:MINOR/read_ahead_kb",
        "KiB",
        follows=(*_OTHER, "block/*/read_ahead_kb"),
    )
    answers: Seen[bool] = state(
        "False: its server is gone or stands still, and whoever touches it waits without an end",
        "statvfs by a child that is given up after 0.5 s",
        settled="always",
    )
    free: Seen[int] = telemetry("A full one ends downloads, compilations and logs", "statvfs", "B")
    free_files: Seen[int] = telemetry(
        "Without inodes left there is no room for a file, however small", "statvfs, 0 where it has no limit", "files"
    )


class Model(Section):
    """Where one model's files lie. Which files they are is of area model."""

    mount: Mount = Mount()
    in_memory: Seen[InMemory] = state(
        "Weights that are in the page cache load at the speed of memory, others at the disk's; what is mapped and was "
        "dropped is read again in the middle of a step",
        "mincore of the files of weights: none is 5 % at most, all is 95 % or more",
        settled="always",
        follows=_NAMED,
    )
    in_memory_bytes: Seen[int] = telemetry(
        "How much of the weights is in the page cache", "mincore of the files of weights", "B"
    )
    looked_at: Seen[int] = telemetry(
        "Of how much of the weights that is known: evenly spread, where it is not all of them", "mincore", "B"
    )
    nodes: Seen[Map[Seen[int]]] = telemetry(
        "On which memory nodes those pages lie: of a sample, in percent", "move_pages of pages that are in memory", "%"
    )


class Cache(Section):
    """Where what was compiled or tuned is kept, of one library or engine."""

    path: Seen[str] = config(
        "Another folder is another cache: what was compiled there is compiled again", "the variable, else the default",
        follows=_PLACING,
    )  # fmt: skip
    mount: Mount = Mount()
    at_start: Seen[AtStart] = state(
        "cold: it held nothing when the process began, and what it holds was compiled since, at the start or in the "
        "first requests. warm: it held all of it, from an earlier start, an image or a copy. added to: it held some",
        "times of modification against the start of the process, to a second",
        settled="always",
        follows=("storage/*/caches/*/path",),
    )
    digest: Seen[str] = state(
        "Whether both runs had the same kernels, by their names: what was tuned anew may have come out other",
        "SHA-256 over the names of its files",
        settled="always",
        follows=("storage/*/caches/*/path", "storage/*/caches/*/at_start"),
    )
    files: Seen[int] = telemetry("How much it holds", "listing", "files")
    bytes: Seen[int] = telemetry("How much it holds", "listing", "B")
    newest: Seen[int] = telemetry("When something was compiled last", "listing", "s since 1970")


class Tuned(Section):
    """A folder of an engine in which it looks for settings of its kernels, by the GPU's name."""

    path: Seen[str] = config(
        "Engines look here before they use settings of their own", "the variable, else the engine's package",
        follows=("process/*/env/VLLM_TUNED_CONFIG_FOLDER", "process/*/env/SGLANG_MOE_CONFIG_DIR", "libraries/**"),
    )  # fmt: skip
    files: Seen[Map[Seen[str]]] = config(
        "Where no file is named after model shape and GPU the kernel runs with general settings: 1.07x to 1.7x, and "
        "one line of the log",
        "SHA-256 of the files whose name holds this host's GPU",
        follows=("storage/*/tuned/*/path", "libraries/**"),
    )


class Storage(Section):
    """Of a process below another in the same surroundings nothing: it is told once, at the top."""

    models: Seen[Map[Model]] = config(
        "The models that its arguments name, by role", "the arguments", follows=("model/*",)
    )
    caches: Seen[Map[Cache]] = config(
        "The caches of compiled and tuned code that are there", "folders", follows=_PLACING
    )
    tuned: Seen[Map[Tuned]] = config(
        "Where settings of kernels are looked for", "folders", follows=_PLACING, context=True
    )
