"""The scheduler's own parameters: debugfs since Linux 5.13, /proc/sys/kernel before."""

from probes.kit.facts import Gap, Section, Seen, config, then
from probes.kit.host import Host
from probes.kit.knobs import knob, read_each, where_mounted
from probes.kit.parse import selected

DEBUG = "/sys/kernel/debug"
SCHED = f"{DEBUG}/sched"


class NumaBalancing(Section):
    """How eagerly automatic NUMA balancing looks, where it is on."""

    scan_delay_ms: Seen[int] = knob(
        f"{SCHED}/numa_balancing/scan_delay_ms", "How old a thread must be before its memory is scanned", "ms"
    )
    scan_period_min_ms: Seen[int] = knob(
        f"{SCHED}/numa_balancing/scan_period_min_ms", "The fastest pace of hinting faults", "ms"
    )
    scan_period_max_ms: Seen[int] = knob(
        f"{SCHED}/numa_balancing/scan_period_max_ms", "The pace at which a well placed program is still disturbed", "ms"
    )
    scan_size_mb: Seen[int] = knob(
        f"{SCHED}/numa_balancing/scan_size_mb", "How much memory one scan unmaps: the size of each disturbance", "MB"
    )


class Sched(Section):
    preempt: Seen[str] = knob(
        f"{SCHED}/preempt", "When a thread in the kernel gives way: latency of woken threads against throughput"
    )
    base_slice_ns: Seen[int] = knob(
        f"{SCHED}/base_slice_ns",
        "How long a thread runs before the next: switches a second where threads share cores",
        "ns",
        follows=("kernel/sched/tunable_scaling", "cpu/online"),
    )
    latency_ns: Seen[int] = knob(
        f"{SCHED}/latency_ns",
        "The period in which each runnable thread gets its turn (until Linux 6.5)",
        "ns",
        follows=("kernel/sched/tunable_scaling", "cpu/online"),
    )
    min_granularity_ns: Seen[int] = knob(
        f"{SCHED}/min_granularity_ns",
        "The shortest turn when many threads share a core (until Linux 6.5)",
        "ns",
        follows=("kernel/sched/tunable_scaling", "cpu/online"),
    )
    wakeup_granularity_ns: Seen[int] = knob(
        f"{SCHED}/wakeup_granularity_ns",
        "How soon a woken thread displaces the running one (until Linux 6.5)",
        "ns",
        follows=("kernel/sched/tunable_scaling", "cpu/online"),
    )
    migration_cost_ns: Seen[int] = knob(
        f"{SCHED}/migration_cost_ns",
        "How long a thread counts as cache-hot: low values move threads between cores",
        "ns",
    )
    nr_migrate: Seen[int] = knob(f"{SCHED}/nr_migrate", "Threads moved in one balancing pass, with interrupts off")
    tunable_scaling: Seen[str] = knob(
        f"{SCHED}/tunable_scaling",
        "Whether slices grow with the number of cores: other values on another host",
        context=True,
        restore="",
    )
    features: Seen[tuple[str, ...]] = config(
        "Switches of the scheduler that tuning guides turn, each with NO_ before it when off", f"{SCHED}/features"
    )
    numa_balancing: NumaBalancing = NumaBalancing()


def read_sched(host: Host) -> Sched:
    line, now = where_mounted(host, DEBUG, host.line), where_mounted(host, DEBUG, host.number)

    def number(path: str) -> Seen[int]:
        return _number(host, now(path), path)

    return read_each(
        Sched,
        number,
        preempt=then(line(f"{SCHED}/preempt"), _preempt),
        tunable_scaling=then(number(f"{SCHED}/tunable_scaling"), _scaling),
        features=then(line(f"{SCHED}/features"), lambda text: tuple(sorted(text.split()))),
        numa_balancing=read_each(NumaBalancing, number),
    )


def _number(host: Host, value: Seen[int], path: str) -> Seen[int]:
    """What debugfs told, or the sysctl that it was before Linux 5.13."""
    if not isinstance(value, Gap):
        return value
    old = path.removeprefix(f"{SCHED}/").replace("/", "_")
    before = host.number("/proc/sys/kernel/" + (old if old.startswith("numa") else f"sched_{old}"))
    return value if isinstance(before, Gap) else before


def _preempt(text: str) -> str:
    """`none voluntary (full) lazy`: the one in force stands in parentheses."""
    return selected(text.replace("(", "[").replace(")", "]"))


def _scaling(number: int) -> str:
    """SCHED_TUNABLESCALING_* of kernel/sched/sched.h."""
    return ("none", "log", "linear")[number]
