"""What is told of a block device."""

from probes.kit.facts import Map, Redacted, Section, Seen, config, counter, identity, state

_AT = "/sys/block/*"
_QUEUE = f"{_AT}/queue"
_STAT = f"{_AT}/stat"


class Counters(Section):
    reads: Seen[int] = counter("Whether anything was read from this disk in the run, or all from memory", _STAT)
    read_bytes: Seen[int] = counter(
        "How much was read from the disk: what the page cache had is not among it",
        f"{_STAT}, sectors of 512 bytes",
        "B",
    )
    read_time: Seen[int] = counter("Divided by the reads it is what one took, waiting included", _STAT, "ms")
    writes: Seen[int] = counter("Logs, core files and caches written beside the run", _STAT)
    written_bytes: Seen[int] = counter(
        "What was written: with much of it, reads wait behind it", f"{_STAT}, sectors of 512 bytes", "B"
    )
    write_time: Seen[int] = counter("Divided by the writes it is what one took, waiting included", _STAT, "ms")
    busy_time: Seen[int] = counter("Of the run's time, how long the disk had something to do", _STAT, "ms")


class Disk(Section):
    name: Seen[str] = state(
        "By which name the kernel and its tools know it in this boot", _AT, settled="always", context=True
    )
    model: Seen[str] = identity(
        "Another model reads at another speed: 7 GB/s, 3 or 0.5", f"{_AT}/device/model, .../device/name"
    )
    firmware: Seen[str] = config(
        "Releases differ in how they throttle and collect garbage, and some lost data",
        f"{_AT}/device/firmware_rev, rev",
    )
    serial: Seen[Redacted] = identity(
        "Which unit, as a keyed digest: another one of the same model may be worn, or slow", f"{_AT}/device/serial",
        private=True,
    )  # fmt: skip
    size: Seen[int] = identity("Another size is another disk, or another volume", f"{_AT}/size", "B")
    transport: Seen[str] = identity(
        "Over PCIe the disk is here, over rdma, tcp or fc in another machine", f"{_AT}/device/transport"
    )
    numa_node: Seen[int] = identity(
        "What is read arrives on this node first; -1 is none", f"{_AT}/device/device/numa_node, device/numa_node"
    )
    rotational: Seen[bool] = config(
        "Whether it turns: random reads take milliseconds. A hypervisor or controller may say so of any disk, and "
        "the kernel then plans for it",
        f"{_QUEUE}/rotational",
    )
    members: Seen[tuple[str, ...]] = config(
        "The disks that an array or a mapped volume is made of: one less is slower", f"{_AT}/slaves"
    )
    raid_level: Seen[str] = config("How an array spreads what it holds", f"{_AT}/md/level")
    degraded: Seen[int] = state(
        "Members that an array lacks: each read of what they held is computed from all others",
        f"{_AT}/md/degraded",
        settled="always",
    )
    sync_action: Seen[str] = state(
        "resync, recover and check read the whole array beside the run", f"{_AT}/md/sync_action", settled="always"
    )
    scheduler: Seen[str] = config(
        "A scheduler orders requests and costs CPU time and a lock for each: fast disks go without",
        f"{_QUEUE}/scheduler",
    )
    read_ahead_kb: Seen[int] = config(
        "How far a file is read ahead that is read in order or mapped: with little, each request is waited for",
        f"{_QUEUE}/read_ahead_kb",
        "KiB",
    )
    nr_requests: Seen[int] = config(
        "How many requests may wait in a queue: too few leave a fast disk idle",
        f"{_QUEUE}/nr_requests",
        follows=("block/*/scheduler",),
    )
    max_sectors_kb: Seen[int] = config(
        "The largest request: a large read is cut into such pieces",
        f"{_QUEUE}/max_sectors_kb",
        "KiB",
    )
    nomerges: Seen[int] = config(
        "Whether neighbouring requests are made one: 2 never does",
        f"{_QUEUE}/nomerges",
    )
    rq_affinity: Seen[int] = config(
        "On which CPU a request is completed: 2 on the one that asked",
        f"{_QUEUE}/rq_affinity",
    )
    wbt_lat_usec: Seen[int] = config(
        "How long a read may wait before writing is held back for it; 0: it never is",
        f"{_QUEUE}/wbt_lat_usec",
        "us",
        follows=("block/*/scheduler",),
    )
    write_cache: Seen[str] = config(
        "With `write back` each sync waits until the disk has emptied its cache",
        f"{_QUEUE}/write_cache",
    )
    counters: Counters = Counters()


class Block(Section):
    """By place where it has one: `nvme-0000:01:00.0-n1`, else by the kernel's name: `sda`, `md0`, `dm-1`."""

    disks: Seen[Map[Disk]] = state(
        "A disk that is missing took its share of an array, or the caches that lay on it",
        "/sys/block",
        settled="always",
    )
