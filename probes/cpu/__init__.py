"""The area `cpu`: which processors, how many of them work, how fast they may run and how deeply they sleep.

CPUID is not asked: py-cpuinfo takes a second and starts programs. A 64-CPU host costs about 1,000 small reads.
"""

from probes.cpu.frequency import (
    AmdPstate,
    IntelPstate,
    Policy,
    PowerZone,
    Uncore,
    amd_pstate,
    intel_pstate,
    policies,
    policy_folders,
    power_zones,
    uncore,
)
from probes.cpu.idle import Idle, idle
from probes.cpu.processor import (
    CPUINFO_CAP,
    SYS_CPU,
    CoreType,
    Firmware,
    Frequency,
    Processor,
    core_types,
    described_types,
    firmware,
    frequency,
    processor,
)
from probes.cpu.topology import Cache, Package, Smt, caches, cpus, domains, listed, online_cpus, packages, smt
from probes.kit.facts import Map, Section, Seen, config, identity, seen_or, state, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe

# Documentation/admin-guide/hw-vuln: `mitigations=` for all of them, and those of one attack each.
_MITIGATING = tuple(
    f"kernel/cmdline/{name}"
    for name in "mitigations nopti pti nospectre* spectre* spec_* l1tf mds tsx* mmio_stale_data retbleed srbds"
    " gather_data_sampling reg_file_data_sampling indirect_target_selection tsa vmscape bhi kvm*".split()
)


class Cpu(Section):
    """Paths: cpu/online, cpu/policies/policy0/scaling_governor, cpu/idle/states/C6/latency ..."""

    processor: Processor = Processor()
    firmware: Firmware = Firmware()
    possible: Seen[str] = identity(
        "Per-CPU memory and some libraries' tables are sized by it", f"{SYS_CPU}/possible", context=True
    )
    present: Seen[str] = identity("Counts change when a hypervisor adds or removes CPUs", f"{SYS_CPU}/present")
    online: Seen[str] = config(
        "CPUs that the scheduler may use; thread pools size themselves by their number", f"{SYS_CPU}/online",
        follows=("cpu/smt/control", "cpu/present", "kernel/cmdline/*cpus", "kernel/cmdline/nosmp"),
        restore="chcpu -e CPUS, or -d CPUS for those that were off",
    )  # fmt: skip
    offline: Seen[str] = config(
        "CPUs switched off, and those that firmware reserved but did not fill", f"{SYS_CPU}/offline", context=True,
        follows=("cpu/online", "cpu/smt/control"),
    )  # fmt: skip
    threads: Seen[int] = state(
        "Online hardware threads",
        f"{SYS_CPU}/online",
        "CPUs",
        context=True,
        follows=("cpu/online", "cpu/smt/control"),
        settled="always",
    )
    cores: Seen[int] = state(
        "Physical cores among the online threads: compute-bound host work scales with these, not with threads",
        f"{SYS_CPU}/cpuN/topology/thread_siblings_list", "cores", follows=("cpu/online",), settled="always",
    )  # fmt: skip
    smt: Smt = Smt()
    types: Seen[Map[CoreType]] = identity(
        "Hybrid hosts have fast and slow cores", "/sys/devices/cpu_core/cpus, /proc/cpuinfo"
    )
    packages: Seen[Map[Package]] = state(
        "The sockets",
        f"{SYS_CPU}/cpuN/topology/physical_package_id",
        follows=("cpu/online",),
        settled="always",
    )
    caches: Seen[Map[Cache]] = identity("Which cache levels exist", f"{SYS_CPU}/cpuN/cache")
    isolated: Seen[str] = config(
        "The scheduler balances nothing onto these CPUs, so threads that are not pinned there never run on them",
        f"{SYS_CPU}/isolated", follows=("kernel/cmdline/isolcpus",),
    )  # fmt: skip
    nohz_full: Seen[str] = config(
        "Tick-free CPUs: fewer interruptions for one pinned thread, dearer system calls",
        f"{SYS_CPU}/nohz_full",
        follows=("kernel/cmdline/nohz_full",),
    )
    scaling_driver: Seen[str] = config(
        "Decides which governors, hints and limits exist at all, and who picks the clock",
        f"{SYS_CPU}/cpufreq/policyN/scaling_driver",
        follows=("cpu/intel_pstate/status", "cpu/amd_pstate/status", "kernel/cmdline/*_pstate", "kernel/release"),
    )  # fmt: skip
    policies: Seen[Map[Policy]] = state(
        "Which frequency policies exist",
        f"{SYS_CPU}/cpufreq",
        follows=("cpu/scaling_driver", "cpu/online", "cpu/smt/control"),
        settled="always",
    )
    boost: Seen[bool] = config(
        "Turbo as acpi-cpufreq, amd-pstate and cppc switch it: off, every core stays at its nominal clock",
        f"{SYS_CPU}/cpufreq/boost", restore=f"echo {{value}} > {SYS_CPU}/cpufreq/boost",
    )  # fmt: skip
    intel_pstate: IntelPstate = IntelPstate()
    amd_pstate: AmdPstate = AmdPstate()
    platform_profile: Seen[str] = config(
        "Firmware's own choice between quiet and fast, above every governor", "/sys/firmware/acpi/platform_profile",
        restore="echo {value} > /sys/firmware/acpi/platform_profile",
    )  # fmt: skip
    frequency: Frequency = Frequency()
    uncore: Seen[Map[Uncore]] = identity(
        "Which mesh domains have clocks of their own", f"{SYS_CPU}/intel_uncore_frequency"
    )
    power_zones: Seen[Map[PowerZone]] = identity("Which packages have power limits", "/sys/class/powercap")
    idle: Idle = Idle()
    mitigations: Seen[Map[Seen[str]]] = config(
        "Each costs system calls or context switches; on GPU-bound work one careful test found no effect",
        f"{SYS_CPU}/vulnerabilities",
        follows=(
            "cpu/processor/microcode", "cpu/smt/control", "cpu/smt/active", "kernel/release", *_MITIGATING,
            "kernel/modules/kvm*", "kernel/modules/kvm*/parameters/*", "kernel/sysctl/kernel/unprivileged_bpf_disabled",
        ),
    )  # fmt: skip


@probe(of="host")
def cpu(host: Host, _target: Target) -> Cpu:
    cpuinfo = host.text("/proc/cpuinfo", CPUINFO_CAP)
    online = online_cpus(host)
    types = core_types(host, cpuinfo, online)
    folders = policy_folders(host)
    first = then(folders, lambda found: next(iter(found.values())))
    return Cpu(
        processor=processor(host, cpuinfo),
        firmware=firmware(host),
        possible=listed(cpus(host, "possible")),
        present=listed(cpus(host, "present")),
        online=listed(online),
        offline=listed(cpus(host, "offline")),
        threads=then(online, len),
        cores=then(then(online, lambda c: domains(host, c, "thread_siblings")), len),
        smt=smt(host),
        types=then(types, lambda found: described_types(host, found)),
        packages=then(online, lambda c: packages(host, c)),
        caches=then(types, lambda found: caches(host, found)),
        isolated=listed(cpus(host, "isolated")),
        nohz_full=listed(cpus(host, "nohz_full")),
        scaling_driver=then(first, lambda folder: host.line(f"{folder}/scaling_driver")),
        policies=then(folders, lambda found: policies(host, found)),
        boost=then(host.number(f"{SYS_CPU}/cpufreq/boost"), bool),
        intel_pstate=intel_pstate(host),
        amd_pstate=amd_pstate(host),
        platform_profile=host.line("/sys/firmware/acpi/platform_profile"),
        frequency=frequency(host, cpuinfo, seen_or(folders, {})),
        uncore=uncore(host),
        power_zones=power_zones(host),
        idle=idle(host, online, types),
        mitigations=then(host.names(f"{SYS_CPU}/vulnerabilities"), lambda names: _mitigations(host, names)),
    )


def _mitigations(host: Host, names: tuple[str, ...]) -> Map[Seen[str]]:
    return Map({name: host.line(f"{SYS_CPU}/vulnerabilities/{name}") for name in names})
