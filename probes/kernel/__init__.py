"""The kernel: which one, how it was started, how it keeps time, what was loaded into it and how it is set."""

from collections.abc import Callable

from probes.kernel.cmdline import parameters
from probes.kernel.modules import Module, read_modules
from probes.kernel.sched import Sched, read_sched
from probes.kernel.sysctls import Sysctl, read_sysctl
from probes.kernel.taint import taints
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, identity, state, telemetry, then
from probes.kit.flags import Words
from probes.kit.host import Host
from probes.kit.knobs import knob, read_each, where_mounted, word_tuple, words
from probes.kit.parse import fields, selected
from probes.kit.probe import Target, probe

CLOCK = "/sys/devices/system/clocksource/clocksource0"
SECURITY = "/sys/kernel/security"
TRACING = "/sys/kernel/tracing"


class Clocksource(Section):
    current: Seen[str] = knob(
        f"{CLOCK}/current_clocksource",
        "hpet and acpi_pm cost a system call at each look at the clock, and engines look for every token",
        follows=("kernel/clocksource/available",),
    )
    available: Seen[tuple[str, ...]] = state(
        "The kernel strikes out tsc when it finds it unstable, until the next boot",
        f"{CLOCK}/available_clocksource",
        settled="always",
    )
    event_device: Seen[str] = state(
        "What wakes a core for a timer: hpet or a broadcast device is slower than the local APIC",
        "/sys/devices/system/clockevents/clockevent0/current_device",
        settled="always",
    )


class Security(Section):
    lockdown: Seen[str] = config(
        "Integrity and above hide debugfs and MSRs: what can be read and tuned here at all",
        f"{SECURITY}/lockdown",
        context=True,
    )
    lsm: Seen[tuple[str, ...]] = config(
        "Security modules, each a hook in every open, map and exec: start-up that opens 100,000 files",
        f"{SECURITY}/lsm",
    )


class Tracing(Section):
    """What ftrace does now, for everybody."""

    current_tracer: Seen[str] = knob(
        f"{TRACING}/current_tracer", "A function tracer left on after debugging: every kernel function pays"
    )
    set_event: Seen[tuple[str, ...]] = config(
        "Trace events that somebody switched on: a write to a buffer at each",
        f"{TRACING}/set_event",
        restore=f"echo {{value}} > {TRACING}/set_event",
    )


class Troubles(Section):
    """How often the kernel complained since boot (since Linux 6.1, and 6.17 for the lockups)."""

    oops_count: Seen[int] = counter(
        "A part of the kernel died and its locks may be held for ever", "/sys/kernel/oops_count", trouble=True
    )
    warn_count: Seen[int] = counter(
        "A driver met what it holds impossible: look at dmesg", "/sys/kernel/warn_count", trouble=True
    )
    softlockup_count: Seen[int] = counter(
        "A core was kept in the kernel for 20 s", "/sys/kernel/softlockup_count", trouble=True
    )
    hardlockup_count: Seen[int] = counter(
        "A core took no interrupt for 10 s", "/sys/kernel/hardlockup_count", trouble=True
    )
    rcu_stall_count: Seen[int] = counter(
        "A core held up everybody's deferred work: a starved virtual CPU looks like this",
        "/sys/kernel/rcu_stall_count",
        trouble=True,
    )
    hung_task_detect_count: Seen[int] = counter(
        "Threads stuck in state D for minutes: storage or a driver that does not answer",
        "/proc/sys/kernel/hung_task_detect_count",
        trouble=True,
    )


class Kernel(Section):
    release: Seen[str] = config(
        "Another kernel is another scheduler, driver and memory manager: 42 times from one commit",
        "/proc/sys/kernel/osrelease",
    )
    version: Seen[str] = config(
        "Build number and date: the same release rebuilt with a patch",
        "/proc/sys/kernel/version",
        follows=("kernel/release",),
    )
    preemption: Seen[str] = state(
        "Whether the kernel itself can be preempted, and whether that can still be chosen at boot (PREEMPT_DYNAMIC)",
        "/proc/sys/kernel/version, the word PREEMPT*",
        settled="always",
        follows=("kernel/version",),
    )
    machine: Seen[str] = identity(
        "Architecture, as uname -m tells it", "/proc/sys/kernel/arch, or uname -m", context=True
    )
    hostname: Seen[str] = identity("Which host this is, to people", "/proc/sys/kernel/hostname", context=True)
    cmdline: Seen[Map[Seen[Words]]] = config(
        "iommu=, mitigations=, isolcpus= and intel_idle.max_cstate= are set here and hold until the next boot; in "
        "names - is written _, and under -- stands what is for the first program",
        "/proc/cmdline",
    )
    boot_id: Seen[str] = identity(
        "A reboot resets power limits, locks, setpci and modules: it points to a cause and is none",
        "/proc/sys/kernel/random/boot_id",
        context=True,
    )
    boot_time: Seen[int] = telemetry(
        "When the host started, against the time of a change; moves when the clock is set",
        "/proc/stat, btime",
        "s since 1970",
        context=True,
    )
    suspends: Seen[int] = state(
        "Resumed from sleep since boot: devices come back in other power states, clocks in other modes",
        "/sys/power/suspend_stats/success",
        settled="always",
        follows=("kernel/boot_id",),
    )
    tainted: Seen[tuple[str, ...]] = state(
        "Machine checks, warnings, live patches and foreign modules since boot",
        "/proc/sys/kernel/tainted",
        settled="always",
        follows=("kernel/modules/*", "kernel/livepatches", "kernel/boot_id"),
    )
    livepatches: Seen[tuple[str, ...]] = config(
        "Functions replaced in a running kernel: other code under the same release", "/sys/kernel/livepatch"
    )
    clocksource: Clocksource = Clocksource()
    security: Security = Security()
    tracing: Tracing = Tracing()
    troubles: Troubles = Troubles()
    sched: Sched = Sched()
    sysctl: Sysctl = Sysctl()
    rcu_expedited: Seen[int] = knob(
        "/sys/kernel/rcu_expedited", "Hurries grace periods by interrupting every core, isolated ones included"
    )
    rcu_normal: Seen[int] = knob(
        "/sys/kernel/rcu_normal", "Forbids hurrying: module loads and cgroup changes take longer, cores stay quiet"
    )
    default_smp_affinity: Seen[str] = knob(
        "/proc/irq/default_smp_affinity", "The cores on which interrupts of drivers loaded later land"
    )
    workqueue_cpumask: Seen[str] = knob(
        "/sys/devices/virtual/workqueue/cpumask", "The cores that the kernel's own deferred work may use"
    )
    kexec_crash_size: Seen[int] = config(
        "Memory held back for a crash kernel", "/sys/kernel/kexec_crash_size", "bytes", context=True
    )
    modules: Seen[Map[Module]] = config(
        "A driver that is loaded or not: peer memory, GPU-direct storage, a profiler's",
        "/proc/modules and /sys/module",
    )


@probe(of="host")
def kernel(host: Host, _target: Target) -> Kernel:
    return read_each(
        Kernel,
        host.line,
        preemption=then(host.text("/proc/sys/kernel/version"), _preemption),
        machine=_machine(host),
        cmdline=then(host.text("/proc/cmdline"), lambda text: parameters(text, host.redactor)),
        boot_time=then(host.text("/proc/stat"), lambda text: int(fields(text, " ")["btime"])),
        suspends=host.number("/sys/power/suspend_stats/success"),
        tainted=then(host.number("/proc/sys/kernel/tainted"), taints),
        livepatches=host.names("/sys/kernel/livepatch"),
        rcu_expedited=host.number("/sys/kernel/rcu_expedited"),
        rcu_normal=host.number("/sys/kernel/rcu_normal"),
        kexec_crash_size=host.number("/sys/kernel/kexec_crash_size"),
        modules=read_modules(host),
        clocksource=read_each(Clocksource, host.line, available=word_tuple(host, f"{CLOCK}/available_clocksource")),
        security=_security(where_mounted(host, SECURITY, host.line)),
        tracing=_tracing(where_mounted(host, TRACING, host.line)),
        troubles=read_each(Troubles, host.number),
        sched=read_sched(host),
        sysctl=read_sysctl(host),
    )


def _preemption(version: str) -> str:
    """PREEMPT, PREEMPT_DYNAMIC, PREEMPT_RT, or `none or voluntary`, which leave no word in the version."""
    return next((word for word in version.split() if word.startswith("PREEMPT")), "none or voluntary")


def _machine(host: Host) -> Seen[str]:
    """/proc/sys/kernel/arch is there since Linux 6.1."""
    name = host.line("/proc/sys/kernel/arch")
    return then(host.command(["uname", "-m"]), str.strip) if isinstance(name, Gap) else name


def _security(line: Callable[[str], Seen[str]]) -> Security:
    modules = then(line(f"{SECURITY}/lsm"), lambda text: tuple(filter(None, text.split(","))))
    return Security(lockdown=then(line(f"{SECURITY}/lockdown"), selected), lsm=modules)


def _tracing(line: Callable[[str], Seen[str]]) -> Tracing:
    return read_each(Tracing, line, set_event=then(line(f"{TRACING}/set_event"), words))
