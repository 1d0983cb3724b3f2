"""Swap devices, the compressed cache before them (zswap), page merging (KSM) and generational LRU."""

from probes.kit.facts import Gap, Map, Section, Seen, config, counter, seen_or, telemetry, then
from probes.kit.host import Host
from probes.kit.knobs import knob, read_each
from probes.kit.parse import selected

ZSWAP = "/sys/module/zswap/parameters"
KSM = "/sys/kernel/mm/ksm"
LRU = "/sys/kernel/mm/lru_gen"
NO_ADVISOR = "none"


class Device(Section):
    """One line of /proc/swaps."""

    type: Seen[str] = config("Whether pages go to a partition or through a file system's extents", "/proc/swaps, Type")
    size: Seen[int] = config(
        "How much can be swapped out instead of the server being killed, slowly", "/proc/swaps, Size", "kB"
    )
    priority: Seen[int] = config(
        "Which device is filled first: zram answers in microseconds, a disk in milliseconds", "/proc/swaps, Priority"
    )
    used: Seen[int] = telemetry(
        "What lies in swap now: memory of a server that will be read back at its next use", "/proc/swaps, Used", "kB"
    )


class Zswap(Section):
    """Parameters of the compressed cache that stands before swap devices."""

    enabled: Seen[str] = knob(
        f"{ZSWAP}/enabled", "Swapped pages are compressed in memory: CPU time in place of disk time"
    )
    compressor: Seen[str] = knob(f"{ZSWAP}/compressor", "The cost of each page in and out: lzo, lz4 or zstd")
    max_pool_percent: Seen[int] = knob(
        f"{ZSWAP}/max_pool_percent", "How much memory the compressed pool may hold before it spills to disk", "%"
    )
    accept_threshold_percent: Seen[int] = knob(
        f"{ZSWAP}/accept_threshold_percent",
        "How far a full pool must shrink before it takes pages again",
        "% of the pool",
    )
    shrinker_enabled: Seen[str] = knob(
        f"{ZSWAP}/shrinker_enabled", "Whether cold compressed pages are written out before the pool is full"
    )


class Ksm(Section):
    """Kernel samepage merging."""

    run: Seen[int] = knob(
        f"{KSM}/run", "1 scans and merges equal pages: CPU time, and a copy at the next write to each merged page"
    )
    advisor_mode: Seen[str] = knob(
        f"{KSM}/advisor_mode", "Whether the kernel sets the scan rate by itself (since Linux 6.8)"
    )
    pages_to_scan: Seen[int] = knob(
        f"{KSM}/pages_to_scan",
        "How much one wake-up of ksmd scans: its share of a core",
        "pages",
        follows=("memory/ksm/advisor_mode",),
    )
    sleep_millisecs: Seen[int] = knob(f"{KSM}/sleep_millisecs", "The pause of ksmd between scans", "ms")
    merge_across_nodes: Seen[int] = knob(
        f"{KSM}/merge_across_nodes", "Whether a merged page may lie on another node than its readers"
    )
    use_zero_pages: Seen[int] = knob(
        f"{KSM}/use_zero_pages", "Whether empty pages are mapped to the one zero page and must be faulted again"
    )
    smart_scan: Seen[int] = knob(
        f"{KSM}/smart_scan", "Whether pages that did not merge before are skipped: how much scanning costs"
    )
    pages_sharing: Seen[int] = telemetry(
        "How many page tables point at merged pages: whether KSM touched anything", f"{KSM}/pages_sharing", "pages"
    )
    full_scans: Seen[int] = counter("Passes of ksmd over all mergeable memory during the run", f"{KSM}/full_scans")


class LruGen(Section):
    """The multi-generational LRU (since Linux 6.1)."""

    enabled: Seen[str] = knob(
        f"{LRU}/enabled", "Which reclaim algorithm chooses the pages that leave memory under pressure"
    )
    min_ttl_ms: Seen[int] = knob(
        f"{LRU}/min_ttl_ms", "A working set younger than this is never reclaimed; the kernel kills instead", "ms"
    )


def read_swap(host: Host) -> Seen[Map[Device]]:
    return then(host.text("/proc/swaps"), lambda text: Map(dict(map(_device, text.splitlines()[1:]))))


def _device(line: str) -> tuple[str, Device]:
    """File names with blanks are escaped (\\040), so the fields are five."""
    name, kind, size, used, priority = line.split()
    return name, Device(type=kind, size=int(size), used=int(used), priority=int(priority))


def read_zswap(host: Host) -> Zswap:
    return read_each(
        Zswap,
        host.line,
        max_pool_percent=host.number(f"{ZSWAP}/max_pool_percent"),
        accept_threshold_percent=host.number(f"{ZSWAP}/accept_threshold_percent"),
    )


def read_ksm(host: Host) -> Ksm:
    advisor = then(host.text(f"{KSM}/advisor_mode"), selected)
    rate = host.number(f"{KSM}/pages_to_scan")
    return read_each(Ksm, host.number, advisor_mode=advisor, pages_to_scan=_fixed(rate, advisor))


def _fixed(rate: Seen[int], advisor: Seen[str]) -> Seen[int]:
    """The scan rate is a setting only while no advisor moves it."""
    if seen_or(advisor, NO_ADVISOR) == NO_ADVISOR:
        return rate
    return Gap("unsupported", f"the {advisor} advisor moves it")


def read_lru_gen(host: Host) -> LruGen:
    return LruGen(enabled=host.line(f"{LRU}/enabled"), min_ttl_ms=host.number(f"{LRU}/min_ttl_ms"))
