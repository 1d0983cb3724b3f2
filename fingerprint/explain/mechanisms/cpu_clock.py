"""How fast the processors run: who picks the clock, what holds it, which part it is."""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

_CPUFREQ = "https://docs.kernel.org/admin-guide/pm/cpufreq.html"
_INTEL = "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"
_AMD = "https://docs.kernel.org/admin-guide/pm/amd-pstate.html"
_POWERCAP = "https://docs.kernel.org/power/powercap/powercap.html"

_SLOWER = (Condition(facts="cpu/frequency/highest", sign="lower", says="no CPU ran as fast as in the other run"),)
_ALL_SLOWER = (Condition(facts="cpu/frequency/median", sign="lower", says="the CPUs ran at a lower clock"),)
_GPUS_SLOWER = Condition(facts="gpu/*/clocks/sm", sign="lower", says="GPUs at work ran at a lower clock")
_STOLEN = (
    Condition(
        facts="pressure/cpu_time/steal", sign="grew", says="the hypervisor gave this guest's CPUs to others", least=1
    ),
)


def _at_most(fact: str) -> Bound:
    return Bound(by="ratio", facts=fact, says="work that waits for a CPU takes longer at most as the clock is lower")


RULES: tuple[Rule, ...] = (
    Rule(
        name="cpu-governor",
        sees=("cpu/policies/*/scaling_governor",),
        moves=("cpu clock",),
        best=("performance",),
        binds=(*_ALL_SLOWER, *_SLOWER),
        usual=(1.05, 2.6),
        beside=("cpu/scaling_driver", "cpu/policies/*/energy_performance_preference"),
        why="The governor decides how soon a CPU that was idle between two launches reaches its clock. Recorded: 8 % "
        "of memory bandwidth on a server, 0.47 against 0.60 tok/s where the CPU decodes, 4x for copies where it also "
        "governs the bus, mostly a wider spread.",
        confirm="cpupower frequency-set -g performance, then the same run; watch cpu/frequency/median",
        confirmed=4,
        sources=(
            _CPUFREQ,
            "https://github.com/tenstorrent/tt-metal/issues/5281",
            "https://github.com/JustVugg/colibri/issues/1173",
        ),
    ),
    Rule(
        name="cpu-clock-driver",
        sees=(
            "cpu/scaling_driver",
            "cpu/policies",
            "cpu/intel_pstate/status",
            "cpu/amd_pstate/status",
            "cpu/policies/*/auto_select",
        ),
        moves=("cpu clock",),
        shows=_ALL_SLOWER,
        usual=(1.02, 1.5),
        beside=("cpu/policies/*/scaling_governor",),
        why="The driver settles whether firmware or a governor picks the clock and which hints and limits exist; one "
        "governor's name means different things under two drivers.",
        confirm="Boot with the other driver (intel_pstate=, amd_pstate=) and compare cpu/frequency/* under the same "
        "load",
        sources=(_CPUFREQ, _INTEL, _AMD),
    ),
    Rule(
        name="cpu-energy-preference",
        sees=("cpu/policies/*/energy_performance_preference",),
        moves=("cpu clock",),
        shows=_ALL_SLOWER,
        usual=(1.02, 1.5),
        beside=("cpu/policies/*/scaling_governor", "cpu/scaling_driver"),
        why="Where the hardware picks the clock it weighs speed against energy by this hint, and bursts of launch work "
        "are what it gets wrong first.",
        confirm="Write `performance` to each policy's energy_performance_preference, then the same run",
        sources=(_INTEL, _AMD),
    ),
    Rule(
        name="cpu-energy-hint",
        sees=("cpu/policies/*/energy_performance_preference_val", "cpu/policies/*/energy_perf_bias"),
        moves=("cpu clock",),
        way="less helps",
        shows=_ALL_SLOWER,
        usual=(1.02, 1.3),
        why="The same hint as a number: 0 asks for speed, and a higher one makes clocks, on older Intel parts the "
        "mesh's too, rise later.",
        confirm="cpupower set -b 0 (or 0 in energy_performance_preference_val), then the same run",
        sources=("https://docs.kernel.org/admin-guide/pm/intel_epb.html",),
    ),
    Rule(
        name="cpu-clock-ceiling",
        sees=("cpu/policies/*/scaling_max_freq",),
        moves=("cpu clock",),
        way="more helps",
        binds=_SLOWER,
        usual=(1.05, 2.6),
        bound=_at_most("cpu/policies/*/scaling_max_freq"),
        why="No CPU of the policy clocks above it, so the one thread that launches kernels takes as much longer.",
        confirm="cpupower frequency-set -u with the other run's value, then the same run",
        sources=(_CPUFREQ,),
    ),
    Rule(
        name="cpu-firmware-ceiling",
        sees=("cpu/policies/*/bios_limit",),
        moves=("cpu clock",),
        way="more helps",
        binds=_SLOWER,
        usual=(1.1, 2.6),
        bound=_at_most("cpu/policies/*/bios_limit"),
        why="Firmware lowers the ceiling on a lost power supply, a hot inlet or a BMC's power cap, and no governor can "
        "exceed it.",
        confirm="The BMC's event log and power cap at the time of the run",
        sources=(_CPUFREQ,),
    ),
    Rule(
        name="cpu-percent-ceiling",
        sees=("cpu/intel_pstate/max_perf_pct",),
        moves=("cpu clock",),
        way="more helps",
        binds=_SLOWER,
        usual=(1.05, 2.6),
        bound=_at_most("cpu/intel_pstate/max_perf_pct"),
        why="It caps every CPU at a share of the highest clock, and no policy's own limits show it.",
        confirm="echo 100 > /sys/devices/system/cpu/intel_pstate/max_perf_pct, then the same run",
        sources=(_INTEL,),
    ),
    Rule(
        name="cpu-fixed-clock",
        sees=("cpu/policies/*/scaling_setspeed",),
        moves=("cpu clock",),
        way="more helps",
        shows=_ALL_SLOWER,
        usual=(1.05, 2.6),
        bound=_at_most("cpu/policies/*/scaling_setspeed"),
        beside=("cpu/policies/*/scaling_governor",),
        why="Under the governor `userspace` the clock stands where somebody set it, whatever the load.",
        confirm="cpupower frequency-set -g schedutil, then the same run",
        sources=(_CPUFREQ,),
    ),
    Rule(
        name="cpu-clock-floor",
        sees=(
            "cpu/policies/*/scaling_min_freq",
            "cpu/intel_pstate/min_perf_pct",
            "cpu/intel_pstate/hwp_dynamic_boost",
        ),
        moves=("cpu clock",),
        shows=_ALL_SLOWER,
        usual=(1.02, 1.3),
        why="A floor keeps a CPU from having to ramp up for each burst of launches; on a package at its power limit "
        "the idle CPUs' floor is taken from the busy one's turbo.",
        confirm="Set the floor of the other run, then the same run; watch cpu/frequency/lowest and highest",
        sources=(_CPUFREQ, _INTEL),
    ),
    Rule(
        name="cpu-turbo",
        sees=(
            "cpu/boost",
            "cpu/policies/*/boost",
            "cpu/intel_pstate/no_turbo",
            "cpu/policies/*/cpuinfo_max_freq",
        ),
        moves=("cpu clock",),
        shows=_SLOWER,
        usual=(1.05, 1.6),
        beside=("cpu/scaling_driver",),
        why="Without turbo a core stays at its base clock, often half of what a single busy thread gets; with it the "
        "clock depends on temperature and on the other cores, so numbers spread.",
        confirm="Switch turbo as in the other run, then the same run; watch cpu/frequency/highest",
        sources=(_INTEL, _CPUFREQ),
    ),
    Rule(
        name="cpu-preferred-cores",
        sees=("cpu/amd_pstate/prefcore",),
        moves=("cpu clock", "cpu time"),
        shows=_SLOWER,
        usual=(1.01, 1.2),
        why="With it the scheduler places lone threads on the cores that clock highest, without it on any.",
        confirm="taskset the main process to one core of each ranking and compare",
        sources=(_AMD,),
    ),
    Rule(
        name="cpu-base-clock",
        sees=("cpu/types/*/base_frequency",),
        moves=("cpu clock",),
        way="more helps",
        binds=_ALL_SLOWER,
        usual=(1.02, 1.3),
        why="A speed-select profile trades the number of cores for the clock that is guaranteed while all work.",
        confirm="intel-speed-select perf-profile info, then the other profile",
        sources=("https://docs.kernel.org/admin-guide/pm/intel-speed-select.html",),
    ),
    Rule(
        name="platform-profile",
        sees=("cpu/platform_profile",),
        moves=("sm clock", "cpu clock"),
        shows=(_GPUS_SLOWER, *_ALL_SLOWER),
        usual=(1.1, 2.0),
        why="Firmware shares power between CPU, GPU and fans by this choice, beneath every governor and NVML limit. A "
        "newer release of a vendor's power tool took one laptop's GPU from 110 to 68 tok/s.",
        confirm="echo performance > /sys/firmware/acpi/platform_profile, then the same run; compare the GPU's draw",
        confirmed=1,
        sources=(
            "https://docs.kernel.org/userspace-api/sysfs-platform_profile.html",
            "https://github.com/seerge/g-helper/issues/5411",
        ),
    ),
    Rule(
        name="uncore-clock",
        sees=("cpu/uncore/*/min_freq_khz", "cpu/uncore/*/max_freq_khz"),
        moves=("host memory bandwidth", "pcie link"),
        usual=(1.02, 1.5),
        why="Last-level cache, memory controller and the way from PCIe to memory run at this clock, and it falls while "
        "only the GPU works and no core asks for it. The way up costs package power that turbo would have had.",
        confirm="Set min_freq_khz to max_freq_khz, then measure a host-to-device copy and the same run",
        sources=("https://docs.kernel.org/admin-guide/pm/intel_uncore_frequency_scaling.html",),
    ),
    Rule(
        name="cpu-power-limit",
        sees=(
            "cpu/power_zones/*/constraint_0_power_limit_uw",
            "cpu/power_zones/*/constraint_1_power_limit_uw",
        ),
        moves=("cpu clock",),
        way="more helps",
        binds=_ALL_SLOWER,
        usual=(1.05, 2.6),
        beside=("cpu/power_zones/*/enabled",),
        why="A package that would draw more is clocked down; governor and limits look as always. One desktop ran at "
        "1.4 of 3.6 GHz that way.",
        confirm="turbostat --show Bzy_MHz,PkgWatt during the run: whether the draw stands at the limit",
        sources=(_POWERCAP, "https://github.com/LostRuins/koboldcpp/issues/318"),
    ),
    Rule(
        name="cpu-power-limit-enforced",
        sees=("cpu/power_zones/*/enabled",),
        moves=("cpu clock",),
        way="less helps",
        binds=_ALL_SLOWER,
        usual=(1.05, 2.6),
        beside=("cpu/power_zones/*/constraint_0_power_limit_uw",),
        why="A package whose limit is not enforced clocks as far as heat and current allow.",
        confirm="turbostat --show Bzy_MHz,PkgWatt during the run: whether the draw stands at the limit",
        sources=(_POWERCAP,),
    ),
    Rule(
        name="cpu-heat",
        sees=("cpu/packages/*/throttle_count", "cpu/packages/*/throttle_time"),
        moves=("cpu clock",),
        way="less helps",
        usual=(1.05, 2.6),
        why="The package was clocked down for heat while the run ran; fans, inlet and the BMC's fan mode decide, not "
        "Linux.",
        confirm="turbostat --show Bzy_MHz,PkgTmp during the run; the BMC's fan and inlet readings",
        sources=("https://docs.kernel.org/admin-guide/abi-testing.html",),
    ),
    Rule(
        name="firmware-settings",
        sees=("cpu/firmware/bios_version",),
        moves=("cpu clock", "wake latency", "page placement", "pcie link"),
        breaks="seldom",
        usual=(1.02, 2.0),
        beside=("cpu/power_zones/*/*", "cpu/idle/states/*/disabled_on", "numa/online"),
        why="An update puts power profile, C-states, NPS, IOMMU and ACS back to the maker's defaults, most of which no "
        "file of Linux tells.",
        confirm="Compare the exported BIOS settings of both states (vendor tool or Redfish)",
        confirmed=1,
        sources=("https://redfish.dmtf.org/schemas/v1/Bios.json",),
    ),
    Rule(
        name="microcode",
        sees=("cpu/processor/microcode", "cpu/processor/stepping"),
        moves=("cpu time", "system calls", "code"),
        usual=(1.01, 1.5),
        beside=("cpu/mitigations/*",),
        why="A revision can disable instructions (TSX), slow them (gathers) or change what the kernel must do at each "
        "entry.",
        confirm="Boot once with dis_ucode_ldr and compare flags, mitigations and a CPU-bound loop",
        sources=(
            "https://docs.kernel.org/arch/x86/microcode.html",
            "https://docs.kernel.org/admin-guide/hw-vuln/gather_data_sampling.html",
        ),
    ),
    Rule(
        name="cpu-instructions",
        sees=("cpu/processor/flags",),
        moves=("code",),
        breaks="often",
        usual=(1.05, 4.0),
        why="Math libraries, hashes and tokenizers choose AVX2, AVX-512, AMX or SVE routines by these when they are "
        "loaded; a hypervisor or a boot option can hide them. What was built for one that is missing ends at once "
        "(SIGILL).",
        confirm="ONEDNN_VERBOSE=1 or MKL_VERBOSE=1: the instruction set that was chosen in both runs",
        sources=("https://docs.kernel.org/arch/x86/cpuinfo.html",),
    ),
    Rule(
        name="cpu-part",
        sees=(
            "cpu/processor/vendor",
            "cpu/processor/family",
            "cpu/processor/model",
            "cpu/processor/model_name",
            "cpu/types",
            "cpu/types/*/capacity",
            "cpu/firmware/sys_vendor",
            "cpu/firmware/product_name",
        ),
        moves=("cpu clock", "host memory bandwidth", "pcie link", "wake latency"),
        usual=(1.05, 2.5),
        why="Another processor or machine has other clocks, caches, memory channels, slots and exit latencies: every "
        "number that waits for the host may differ.",
        confirm="The same commit and container on the former machine",
        sources=("https://github.com/openucx/ucx/pull/10955",),
    ),
    Rule(
        name="cpu-caches",
        sees=("cpu/caches", "cpu/caches/*/size", "cpu/caches/*/shared_by"),
        moves=("host memory bandwidth",),
        usual=(1.02, 1.5),
        why="A working set that no longer fits runs at the next level's bandwidth, and more CPUs on one cache leave "
        "each a smaller share.",
        confirm="perf stat -e LLC-load-misses on both; pin the process to CPUs of one last-level cache",
        sources=("https://docs.kernel.org/filesystems/resctrl.html",),
    ),
    Rule(
        name="virtual-machine",
        sees=("cpu/processor/hypervisor",),
        moves=("cpu time", "system calls", "wake latency", "page placement"),
        best=("false",),
        shows=_STOLEN,
        usual=(1.05, 3.0),
        beside=("numa/online", "cpu/smt/active"),
        why="A guest pays for exits and stolen time and sees a topology that need not be the silicon's; its vCPUs may "
        "float between sockets.",
        confirm="pressure/cpu_time/steal during the run; the host's own pinning of vCPUs",
        confirmed=3,
        sources=("https://docs.kernel.org/virt/kvm/index.html",),
    ),
)
