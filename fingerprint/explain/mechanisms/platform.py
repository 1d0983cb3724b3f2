"""What moves the host's settings by itself: profiles, daemons, supplies and the controller of the board."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

_TUNED = "https://tuned-project.org/docs/manual/index.html"
_HOT = (
    Condition(
        facts="gpu/*/clocks_event_reasons_counters/*_thermal_slowdown", sign="grew", says="the GPU slowed down for heat"
    ),
    Condition(facts="cpu/packages/*/throttle_count", sign="grew", says="a CPU slowed down for heat"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="tuned-profile",
        sees=("platform/daemons/tuned_profile",),
        moves=("cpu clock", "wake latency", "page placement", "storage", "host memory"),
        usual=(1.0, 1.8),
        beside=("cpu/policies/*/scaling_governor", "kernel/sysctl/kernel/numa_balancing"),
        why="throughput-performance, latency-performance and virtual-guest set governor, idle states, read-ahead, huge "
        "pages and NUMA balancing at once: the last of these cost 20 % on some hosts.",
        confirm="tuned-adm active; tuned-adm profile OTHER, then the same run; tuned-adm verify says what was undone",
        sources=(_TUNED, "https://github.com/redhat-performance/tuned/pull/283"),
    ),
    Rule(
        name="power-profiles-daemon",
        sees=("platform/daemons/power_profile",),
        moves=("cpu clock", "sm clock"),
        best=("performance",),
        mostly=True,
        usual=(1.0, 2.2),
        beside=("cpu/platform_profile", "gpu/*/enforced_power_limit"),
        why="It sets the CPU's energy preference and the firmware's profile, which on laptops and small hosts bounds "
        "the GPU as well: 175 W became 80.",
        confirm="powerprofilesctl set performance, then the same run; watch the GPU's draw",
        sources=("https://gitlab.freedesktop.org/upower/power-profiles-daemon",),
    ),
    Rule(
        name="interrupt-balancing",
        sees=(
            "platform/daemons/programs/irqbalance/running",
            "platform/daemons/programs/irqbalance/arguments",
            "platform/daemons/irqbalance",
            "platform/daemons/irqbalance/*",
        ),
        moves=("wake latency", "cpu time"),
        usual=(1.0, 1.3),
        why="It moves interrupts of network cards, disks and GPUs between CPUs, to those of ranks or away from them; "
        "without it they stay where the driver put them, often on CPU 0 or all on one node.",
        confirm="watch /proc/interrupts over a run; irqbalance --banirq or IRQBALANCE_BANNED_CPULIST for the ranks' "
        "CPUs",
        sources=("https://man7.org/linux/man-pages/man1/irqbalance.1.html",),
    ),
    Rule(
        name="clock-daemons",
        sees=(
            "platform/daemons/programs/*/running",
            "platform/daemons/programs/*/arguments",
            "platform/daemons/programs/thermald/*",
            "platform/daemons/programs/tuned/*",
            "platform/daemons/programs/power-profiles-daemon/*",
            "platform/daemons/programs/auto-cpufreq/*",
            "platform/daemons/programs/cpupower/*",
            "platform/daemons/programs/tlp/*",
        ),
        moves=("cpu clock", "wake latency"),
        usual=(1.0, 2.0),
        beside=("cpu/policies/*/scaling_governor", "cpu/policies/*/scaling_max_freq"),
        why="What was set by hand they set back, at the next load, heat or plug: thermald lowers limits before the CPU "
        "does, auto-cpufreq changes governors with the load.",
        confirm="systemctl stop it, set the governor, and run again",
        sources=("https://github.com/intel/thermal_daemon", "https://github.com/AdnanHodzic/auto-cpufreq"),
    ),
    Rule(
        name="memory-daemons",
        sees=(
            "platform/daemons/programs/numad/*",
            "platform/daemons/programs/ksmtuned/*",
            "platform/daemons/programs/earlyoom/*",
            "platform/daemons/programs/systemd-oomd/*",
        ),
        moves=("page placement", "host memory", "availability", "cpu time"),
        breaks="seldom",
        usual=(1.0, 1.5),
        why="numad moves pages and threads of large processes between nodes while they run, ksmtuned lets pages be "
        "merged, and earlyoom and systemd-oomd end a server before the kernel would.",
        confirm="systemctl stop it and run again; its log says what it moved or ended",
        sources=(
            "https://man7.org/linux/man-pages/man8/systemd-oomd.service.8.html",
            "https://github.com/rfjakob/earlyoom",
        ),
    ),
    Rule(
        name="mains-or-battery",
        sees=("platform/power/supplies/*/online", "platform/power/supplies/*/status"),
        moves=("sm clock", "cpu clock", "memory clock"),
        usual=(1.1, 3.0),
        beside=("gpu/*/power/source", "gpu/*/enforced_power_limit"),
        why="On its battery a laptop, or a host on its UPS, lowers limits of CPU and GPU: clocks fall, and no setting "
        "has changed.",
        confirm="Run on mains, with the battery full; compare the GPU's draw under load",
        sources=("https://docs.kernel.org/power/power_supply_class.html",),
    ),
    Rule(
        name="bmc-firmware",
        sees=("platform/bmc/firmware_revision",),
        moves=("sm clock", "memory clock", "cpu clock"),
        binds=_HOT,
        usual=(1.05, 2.5),
        why="The BMC turns the fans: with another firmware, or set back to its defaults by an update, they follow "
        "another table, and GPUs with less air slow down under load while all of the host's settings are as before.",
        confirm="ipmitool sdr type Fan, and the GPUs' temperatures under load, in both",
        confirmed=1,
        sources=("https://vineethac.blogspot.com/search/label/sensor",),
    ),
)
