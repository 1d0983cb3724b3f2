"""Programs that set clocks, interrupts and memory by themselves, and what they were told."""

from collections.abc import Mapping

from probes.kit.daemons import Running
from probes.kit.facts import Gap, Map, Redacted, Section, Seen, config, seen_or, state, then
from probes.kit.host import Host
from probes.kit.units import Units

PROGRAMS: Mapping[str, str] = {
    "irqbalance": "irqbalance",
    "tuned": "tuned",
    "power-profiles-daemon": "power-profiles-daemon",
    "thermald": "thermald",
    "auto-cpufreq": "auto-cpufreq",
    "numad": "numad",
    "ksmtuned": "ksmtuned",
    "earlyoom": "earlyoom",
    "systemd-oomd": "systemd-oomd",
}
"""Unit's name -> program."""
ONCE = ("cpupower", "tlp")
"""Units that set something when the host starts, and end."""
TUNED = "/etc/tuned/active_profile"
POWER_PROFILE = "/var/lib/power-profiles-daemon/state.ini"
IRQBALANCE = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")


class Daemon(Section):
    running: Seen[bool] = state(
        "What it moves by itself it moves during the run as well: interrupts to the CPUs of ranks, clocks down for "
        "heat, pages to other nodes",
        "/proc/*/comm",
        settled="always",
    )
    arguments: Seen[tuple[str | Redacted, ...]] = config(
        "irqbalance's policy script, banned CPUs and interval; thermald's own limits",
        "/proc/*/cmdline",
        follows=("platform/daemons/programs/*/running",),
    )
    unit: Seen[str] = config(
        "Whether it will be there after the next boot: enabled, disabled or masked. `running` tells of now. Of "
        "cpupower and TLP, which end once they have set clocks, sleep and links, no file is read: what they set is "
        "told by areas cpu and pcie, whoever set it",
        "links in /etc/systemd/system",
        context=True,
    )


class Daemons(Section):
    programs: Seen[Map[Daemon]] = state(
        "Programs that move what others have set, whether they run or not",
        "/proc/*/comm",
        settled="always",
        context=True,
    )
    tuned_profile: Seen[str] = config(
        "One word stands for governor, energy bias, read-ahead, scheduler and huge pages of the host",
        TUNED,
        restore="tuned-adm profile {value}",
    )
    power_profile: Seen[str] = config(
        "power-saver, balanced or performance: the firmware's profile and the CPU's energy preference follow it",
        POWER_PROFILE,
        restore="powerprofilesctl set {value}",
    )
    irqbalance: Seen[Map[Seen[str]]] = config(
        "Which CPUs are kept free of interrupts, and whether it places them once or again and again",
        " or ".join(IRQBALANCE),
    )


def read_daemons(host: Host) -> Daemons:
    return Daemons(
        programs=_programs(host),
        tuned_profile=host.line(TUNED),
        power_profile=then(host.matching(POWER_PROFILE, r"^Profile=(\S+)$"), _profile),
        irqbalance=_irqbalance(host),
    )


def _profile(found: tuple[str, ...]) -> Seen[str]:
    return found[0] if found else Gap("absent", "no profile was chosen")


def _programs(host: Host) -> Map[Daemon]:
    running, units = Running(host, tuple(PROGRAMS.values())), Units(host)
    told = {name: _daemon(host, running.pid(program), units.state(name)) for name, program in PROGRAMS.items()}
    ended = Gap("unsupported", "it ends when it has set what it sets")
    return Map({**told, **{name: Daemon(running=ended, arguments=ended, unit=units.state(name)) for name in ONCE}})


def _daemon(host: Host, pid: Seen[int | None], unit: Seen[str]) -> Daemon:
    return Daemon(
        running=then(pid, lambda number: number is not None),
        arguments=then(pid, lambda number: _arguments(host, number)),
        unit=unit,
    )


def _arguments(host: Host, pid: int | None) -> Seen[tuple[str | Redacted, ...]]:
    if pid is None:
        return Gap("absent", "it does not run")
    return then(host.arguments(pid), lambda argv: argv[1:])


def _irqbalance(host: Host) -> Seen[Map[Seen[str]]]:
    told = [host.matching(path, r"^\s*(IRQBALANCE_\w+=[^\n]*)$") for path in IRQBALANCE]
    if all(isinstance(lines, Gap) for lines in told):
        return next(
            (gap for gap in told if isinstance(gap, Gap) and gap.code != "absent"), Gap("absent", "no settings")
        )
    pairs = (line.partition("=") for lines in told for line in seen_or(lines, ()))
    return Map({name: value.strip().strip("\"'") for name, _, value in pairs})
