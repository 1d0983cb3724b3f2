"""Where weights and caches lie: file systems, the disks below them, and what of the weights is in memory."""

from fingerprint.explain.mechanisms.graph import Condition, Phase, Rule

_NFS = "https://man7.org/linux/man-pages/man5/nfs.5.html"
_QUEUE = "https://docs.kernel.org/block/queue-sysfs.html"
_READAHEAD = "https://docs.kernel.org/admin-guide/abi-stable.html#abi-sys-block-disk-queue-read-ahead-kb"
_COLD = "https://github.com/ollama/ollama/issues/5826"
_MODEL = "storage/*/models/*"
_CACHE = "storage/*/caches/*"
_PHASES: tuple[Phase, ...] = ("start-up", "any work")
_READ = (
    Condition(facts="usage/main/read_bytes", sign="worked", says="the run read from storage"),
    Condition(facts="block/*/counters/read_bytes", sign="worked", says="the disk was read from"),
    Condition(facts="memory/vmstat/workingset_refault_file", sign="worked", says="files were read again soon after"),
)
_WRITTEN = (Condition(facts="block/*/counters/written_bytes", sign="worked", says="the disk was written to"),)

RULES: tuple[Rule, ...] = (
    Rule(
        name="storage-dead",
        sees=(f"{_MODEL}/mount/answers", f"{_CACHE}/mount/answers"),
        moves=("storage", "availability"),
        best=("true",),
        breaks="often",
        why="A file system whose server is gone holds each thread that touches it until it is back, in state D where "
        "it is mounted hard: loading stands still, and a process that maps weights from it stops in the middle of a "
        "step.",
        confirm="timeout 5 stat -f PLACE; dmesg says `server not responding`",
        sources=(_NFS,),
    ),
    Rule(
        name="storage-file-system",
        sees=(
            "storage/*/models",
            _MODEL,
            f"{_MODEL}/mount/type",
            f"{_MODEL}/mount/source",
            f"{_MODEL}/mount/device",
            f"{_CACHE}/mount/type",
            f"{_CACHE}/mount/source",
            f"{_CACHE}/mount/device",
        ),
        moves=("storage", "page cache"),
        phases=(*_PHASES, "decode step"),
        binds=_READ,
        breaks="seldom",
        usual=(1.1, 67.0),
        beside=(f"{_MODEL}/in_memory",),
        why="The same file from NFS or a FUSE file system came in 281 s cold and in 4.2 s from memory, in 11 s from a "
        "local disk. What is mapped is read again at that speed whenever it was dropped.",
        confirm="Copy the folder to a local disk and start from there; or read all files once before the start",
        confirmed=1,
        sources=(_COLD, _NFS),
    ),
    Rule(
        name="mount-options",
        sees=(
            f"{_MODEL}/mount/options/*",
            f"{_CACHE}/mount/options/*",
            f"{_MODEL}/mount/options",
            f"{_CACHE}/mount/options",
        ),
        moves=("storage",),
        phases=_PHASES,
        breaks="seldom",
        usual=(1.0, 5.0),
        why="Of NFS, rsize and nconnect bound what one client draws, and actimeo and lookupcache how often it asks "
        "again; sync and commit make each write wait; compression costs a CPU; dax leaves the page cache out.",
        confirm="grep PLACE /proc/self/mountinfo in both runs; mount -o remount where the option allows it",
        sources=(_NFS, "https://docs.kernel.org/admin-guide/ext4.html", "https://docs.kernel.org/admin-guide/xfs.html"),
    ),
    Rule(
        name="read-ahead",
        sees=(f"{_MODEL}/mount/read_ahead_kb", f"{_CACHE}/mount/read_ahead_kb", "block/*/read_ahead_kb"),
        moves=("storage", "page cache"),
        phases=(*_PHASES, "decode step"),
        binds=_READ,
        usual=(1.0, 4.0),
        why="A file that is read in order, or mapped, is asked for in pieces of this size: with 128 KiB over a "
        "network, the round trip and not the link is the limit. Of random reads in mapped weights a large one reads "
        "what nobody wants.",
        confirm="echo 16384 > /sys/class/bdi/MAJOR:MINOR/read_ahead_kb, drop the caches and load again",
        sources=(_READAHEAD, _NFS),
    ),
    Rule(
        name="weights-in-memory",
        sees=(f"{_MODEL}/in_memory",),
        moves=("page cache", "storage"),
        phases=(*_PHASES, "decode step", "verify step"),
        binds=_READ,
        usual=(1.1, 67.0),
        beside=(f"{_MODEL}/mount/type", "memory/total"),
        why="Loaded from the page cache, weights come at the speed of memory. Who serves them mapped reads from the "
        "disk, in the middle of a step, whatever was dropped: what the run before left there made 2.4 or 4.3 tok/s.",
        confirm="Read all files of weights once (cat FILES > /dev/null), or drop the caches, before both runs",
        confirmed=2,
        sources=(_COLD, "https://github.com/ikawrakow/ik_llama.cpp/issues/450"),
    ),
    Rule(
        name="disk-unit",
        sees=("block", "block/*", "block/*/firmware", "block/*/rotational", "block/*/members", "block/*/raid_level"),
        moves=("storage",),
        phases=_PHASES,
        binds=(*_READ, *_WRITTEN),
        breaks="seldom",
        usual=(1.0, 10.0),
        why="Another model, another firmware or one disk less in an array reads at another speed; a disk that is said "
        "to turn is planned for as if it did.",
        confirm="fio --rw=read --bs=1M --iodepth=16 on a file beside the weights, with both",
        sources=(_QUEUE, "https://docs.kernel.org/admin-guide/md.html"),
    ),
    Rule(
        name="array-at-work",
        sees=("block/*/degraded", "block/*/sync_action"),
        moves=("storage", "cpu time"),
        phases=_PHASES,
        best=("0", "idle", "frozen"),
        usual=(1.1, 10.0),
        why="An array that lacks a member computes what it held from all others, and one that resyncs or is checked "
        "reads all of itself beside the run.",
        confirm="cat /proc/mdstat; echo idle > /sys/block/NAME/md/sync_action ends a check",
        sources=("https://docs.kernel.org/admin-guide/md.html",),
    ),
    Rule(
        name="disk-queue",
        sees=(
            "block/*/scheduler",
            "block/*/nr_requests",
            "block/*/max_sectors_kb",
            "block/*/nomerges",
            "block/*/rq_affinity",
            "block/*/wbt_lat_usec",
            "block/*/write_cache",
        ),
        moves=("storage",),
        phases=_PHASES,
        binds=(*_READ, *_WRITTEN),
        usual=(1.0, 1.5),
        why="How requests are ordered, cut, merged and completed: a scheduler costs a fast disk time and spares a slow "
        "one seeks, and bounds how long reads wait behind writes.",
        confirm="echo none > /sys/block/NAME/queue/scheduler, drop the caches and load again",
        sources=(_QUEUE, "https://docs.kernel.org/block/switching-sched.html"),
    ),
)
