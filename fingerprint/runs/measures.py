"""What every run measures: how long, how much processor time, how much memory, how it ended."""

from collections.abc import Sequence

from fingerprint.metrics import Metric
from fingerprint.runs.wrap import Ended

# exec's high-water mark is read from per-CPU counters that lag behind by some pages a CPU (Linux 6.2 on).
COUNTER_SLACK = 1 << 20


def exit_status_of(ended: Ended) -> Metric:
    """126 and 127 too, of a command that could not be started."""
    return Metric("exit_status", "", "lower", (float(ended.exit_status),), "wait4" if ended.started else "execve")


def metrics_of(ended: Ended, own_peak: int, sampled_peak: int | None) -> tuple[Metric, ...]:
    """Of a command that was started. own_peak: our high-water mark when it was, sampled_peak: its tree's; bytes."""
    return (
        Metric("wall_time", "s", "lower", (ended.wall_s,), "monotonic clock, from exec to exit"),
        Metric("cpu_time", "s", "lower", (ended.cpu_s,), "wait4: the command and the descendants it waited for"),
        _peak_memory(ended, own_peak, sampled_peak),
        exit_status_of(ended),
    )


def peak_of_servers(sampled: Sequence[float | None]) -> tuple[Metric, ...]:
    """All that is measured of servers that are not ours to wait for. sampled: the peak of each one's tree, in kB; none
    where one is not known."""
    known = [peak for peak in sampled if peak is not None]
    if len(known) != len(sampled):
        return ()
    peak = sum(known) * 1024
    return (Metric("peak_memory", "B", "lower", (peak,), "VmHWM of the servers' processes, sampled"),)


def _peak_memory(ended: Ended, own_peak: int, sampled_peak: int | None) -> Metric:
    largest = ended.max_rss if ended.max_rss > own_peak + COUNTER_SLACK else 0
    if sampled_peak is not None and sampled_peak >= largest:
        return Metric("peak_memory", "B", "lower", (float(sampled_peak),), "VmHWM of the tree's processes, sampled")
    if largest:
        return Metric("peak_memory", "B", "lower", (float(largest),), "wait4: ru_maxrss of the largest process")
    why = (
        "ended before it was sampled twice, the first time it may not have loaded yet; "
        f"and below the {own_peak >> 20} MiB of its starter, where ru_maxrss tells nothing"
    )
    return Metric("peak_memory", "B", "lower", gap=why)
