"""How deeply idle CPUs may sleep, and so how long they take to wake."""

from collections.abc import Mapping

from probes.cpu.processor import SYS_CPU
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, seen_or, state, then
from probes.kit.host import Host
from probes.kit.parse import as_cpu_list

_STATE = f"{SYS_CPU}/cpuN/cpuidle/stateM"
_DRIVER = ("cpu/idle/driver",)


class IdleState(Section):
    """One idle state of a core type; latencies are those that the driver tells the governor."""

    desc: Seen[str] = state(
        "Names the hardware state behind a generic name",
        f"{_STATE}/desc",
        context=True,
        follows=_DRIVER,
        settled="always",
    )
    latency: Seen[int] = state(
        "The time to wake from it: 150-230 us from C6 made a server start 4-8x slower, and no profiler shows it",
        f"{_STATE}/latency", "us", follows=_DRIVER, settled="always",
    )  # fmt: skip
    residency: Seen[int] = state(
        "The governor enters it only for sleeps that it expects to last this long",
        f"{_STATE}/residency",
        "us",
        follows=_DRIVER,
        settled="always",
    )
    disabled_on: Seen[str] = config(
        "A deep state disabled on some or all CPUs bounds their wake-up time at the price of power and turbo headroom",
        f"{_STATE}/disable", restore="cpupower -c CPUS idle-set -D LATENCY_US, or -E to enable all",
    )  # fmt: skip
    usage: Seen[int] = counter(
        "Each entry is a wake-up that was paid for; a state never entered costs nothing", f"{_STATE}/usage"
    )


class Idle(Section):
    driver: Seen[str] = config(
        "intel_idle and acpi_idle offer other states with other latencies on one machine",
        f"{SYS_CPU}/cpuidle/current_driver",
        follows=("kernel/cmdline/idle", "kernel/cmdline/*idle.*", "kernel/cmdline/processor.*"),
    )
    governor: Seen[str] = config(
        "menu, teo, ladder and haltpoll predict sleeps differently; haltpoll polls before halting in a guest",
        f"{SYS_CPU}/cpuidle/current_governor",
        restore=f"echo {{value}} > {SYS_CPU}/cpuidle/current_governor",
    )
    states: Seen[Map[IdleState]] = state(
        "Which idle states exist",
        f"{SYS_CPU}/cpuN/cpuidle",
        follows=_DRIVER,
        settled="always",
    )
    resume_latency_limits: Seen[Map[Seen[str]]] = config(
        "A CPU with a limit never enters states that wake slower (`n/a`: it never leaves polling)",
        f"{SYS_CPU}/cpuN/power/pm_qos_resume_latency_us, the CPUs that have one",
        "us",
        restore=f"echo {{value}} > {SYS_CPU}/{{key}}/power/pm_qos_resume_latency_us",
    )


def idle(host: Host, online: Seen[frozenset[int]], types: Seen[Mapping[str, frozenset[int]]]) -> Idle:
    return Idle(
        driver=host.line(f"{SYS_CPU}/cpuidle/current_driver"),
        governor=_governor(host),
        states=then(types, lambda found: _states(host, found)),
        resume_latency_limits=then(online, lambda cpus: _limits(host, cpus)),
    )


def _governor(host: Host) -> Seen[str]:
    """Before Linux 5.8 only the read-only name existed."""
    governor = host.line(f"{SYS_CPU}/cpuidle/current_governor")
    return host.line(f"{SYS_CPU}/cpuidle/current_governor_ro") if isinstance(governor, Gap) else governor


def _states(host: Host, types: Mapping[str, frozenset[int]]) -> Seen[Map[IdleState]]:
    """Keyed by the driver's name, `C6`, or `C6.TYPE` where core types differ."""
    found: dict[str, IdleState] = {}
    gap = Gap("absent", "no CPU")
    for kind, cpus in types.items():
        folders = host.names(f"{SYS_CPU}/cpu{min(cpus)}/cpuidle")
        if isinstance(folders, Gap):
            gap = folders
            continue
        suffix = f".{kind}" if len(types) > 1 else ""
        for folder in folders:
            if folder.startswith("state"):
                found[_state_name(host, min(cpus), folder, found, suffix)] = _state(host, cpus, folder)
    return Map(found) if found else gap


def _state_name(host: Host, cpu: int, folder: str, taken: Mapping[str, IdleState], suffix: str) -> str:
    name = seen_or(host.line(f"{SYS_CPU}/cpu{cpu}/cpuidle/{folder}/name"), folder) + suffix
    return f"{folder}{suffix}" if name in taken else name


def _state(host: Host, cpus: frozenset[int], folder: str) -> IdleState:
    first = f"{SYS_CPU}/cpu{min(cpus)}/cpuidle/{folder}"
    return IdleState(
        desc=host.line(f"{first}/desc"),
        latency=host.number(f"{first}/latency"),
        residency=host.number(f"{first}/residency"),
        disabled_on=then(
            _each(host, cpus, f"{folder}/disable"), lambda flags: as_cpu_list(c for c, f in flags.items() if f)
        ),
        usage=then(_each(host, cpus, f"{folder}/usage"), lambda counts: sum(counts.values())),
    )


def _each(host: Host, cpus: frozenset[int], file: str) -> Seen[Mapping[int, int]]:
    """A number of each CPU; the first gap instead where one is missing."""
    numbers: dict[int, int] = {}
    for cpu in sorted(cpus):
        number = host.number(f"{SYS_CPU}/cpu{cpu}/cpuidle/{file}")
        if isinstance(number, Gap):
            return number
        numbers[cpu] = number
    return numbers


def _limits(host: Host, cpus: frozenset[int]) -> Seen[Map[Seen[str]]]:
    """`0` is no limit (Documentation/ABI/testing/sysfs-devices-power)."""
    limits: dict[str, Seen[str]] = {}
    for cpu in sorted(cpus):
        limit = host.line(f"{SYS_CPU}/cpu{cpu}/power/pm_qos_resume_latency_us")
        if isinstance(limit, Gap):
            return limit
        if limit != "0":
            limits[f"cpu{cpu}"] = limit
    return Map(limits)
