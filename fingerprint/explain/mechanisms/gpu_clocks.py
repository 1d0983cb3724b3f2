"""What holds the clocks of a GPU, other than power and heat."""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"

SM_LOWER = Condition("gpu/*/clocks/sm", "lower", "the SM clock under load was lower with it")
MEMORY_LOWER = Condition("gpu/*/clocks/mem", "lower", "the memory clock under load was lower with it")
LESS_DRAWN = Condition("gpu/*/power/draw", "lower", "the work drew less power with it")
AS_THE_SM_CLOCK = Bound("observed", "gpu/*/clocks/sm", "at most as much longer as the SM clock under load was lower")
AS_THE_MEMORY_CLOCK = Bound(
    "observed", "gpu/*/clocks/mem", "at most as much longer as the memory clock under load was lower"
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="application-clock",
        sees=("gpu/*/clocks/applications/graphics",),
        moves=("sm clock",),
        way="more helps",
        binds=(
            SM_LOWER,
            Condition(
                "gpu/*/clocks_event_reasons/applications_clocks_setting", "active", "held by the application clocks"
            ),
        ),
        usual=(1.05, 1.5),
        bound=Bound(
            "ratio", "gpu/*/clocks/applications/graphics", "at most as the two clocks: 1980 to 1410 MHz is 1.4x"
        ),
        beside=("gpu/*/clocks/default_applications/graphics", "gpu/*/clocks/max/graphics", "gpu/*/persistence_mode"),
        why="Kernels run at no more than the application clock: work bound by arithmetic slows in proportion, work "
        "bound by memory hardly. It outlives whoever set it, until a reset, or the last close without persistence.",
        confirm="nvidia-smi -rac, and measure again",
        confirmed=1,
        sources=("https://github.com/ROCm/ATOM/pull/1255", NVML),
    ),
    Rule(
        name="application-memory-clock",
        sees=("gpu/*/clocks/applications/mem",),
        moves=("memory clock",),
        way="more helps",
        binds=(MEMORY_LOWER,),
        usual=(1.05, 1.6),
        bound=Bound("ratio", "gpu/*/clocks/applications/mem", "at most as the two clocks"),
        beside=("gpu/*/clocks/default_applications/mem", "gpu/*/clocks/max/mem"),
        why="Memory bandwidth is its clock times the width of the bus; decode reads all active weights once a token.",
        confirm="nvidia-smi -rac, and measure again",
        sources=(NVML,),
    ),
    Rule(
        name="default-application-clock",
        sees=("gpu/*/clocks/default_applications/graphics", "gpu/*/clocks/default_applications/mem"),
        moves=("sm clock", "memory clock"),
        way="more helps",
        binds=(SM_LOWER, MEMORY_LOWER),
        beside=("gpu/*/clocks/applications/graphics", "gpu/*/clocks/applications/mem", "gpu/*/vbios_version"),
        why="Where nobody set application clocks the default holds: boards of one name and other VBIOS versions "
        "differ.",
        confirm="nvidia-smi -q -d CLOCK on both; set the same application clocks on both (-ac) and measure again",
        sources=(NVML,),
    ),
    Rule(
        name="clock-lock",
        sees=("gpu/*/inferred/clock_lock",),
        moves=("sm clock", "memory clock"),
        binds=(SM_LOWER, MEMORY_LOWER, LESS_DRAWN),
        breaks="seldom",
        usual=(1.05, 1.5),
        beside=("gpu/*/inferred/set_at_boot", "gpu/*/persistence_mode"),
        why="A locked range (nvidia-smi -lgc, -lmc) outlives the process that set it, and no event reason tells of "
        "it. One on the memory clock, at the card's own maximum, cost 16 to 32 %: it holds back clocks that NVML does "
        "not report. On one laptop the same lock ended Xid 79.",
        confirm="nvidia-smi -rgc; nvidia-smi -rmc; and measure again",
        confirmed=4,
        sources=(
            "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1265",
            "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1151",
            "https://github.com/ROCm/ATOM/pull/1255",
            "https://github.com/JuliaGPU/CUDA.jl/issues/2194",
        ),
    ),
    Rule(
        name="hidden-power-state",
        sees=("gpu/*/inferred/clock_lock",),
        moves=("sm clock",),
        best=("no sign",),
        binds=(SM_LOWER, LESS_DRAWN),
        usual=(1.25, 1.75),
        bound=AS_THE_SM_CLOCK,
        beside=("gpu/*/power/source", "gpu/*/clocks_event_reasons/active"),
        why="Firmware can hold a GPU in a low-power state that no event reason names: 42.7 and 73.9 tok/s at 19.5 and "
        "92.5 W under load, until the power cord was pulled. It looks like a lock that nobody set.",
        confirm="shut down, take the machine off its supply for a minute, start it and measure again",
        confirmed=1,
        sources=("https://github.com/Blackwellboy/model-serving-minefield/pull/55",),
    ),
    Rule(
        name="clock-ceiling",
        sees=(
            "gpu/*/clocks/max/graphics",
            "gpu/*/clocks/max/sm",
            "gpu/*/clocks/max_customer_boost/graphics",
            "gpu/*/clocks/max_customer_boost/sm",
        ),
        moves=("sm clock",),
        way="more helps",
        binds=(SM_LOWER,),
        usual=(1.01, 1.15),
        bound=AS_THE_SM_CLOCK,
        beside=("gpu/*/vbios_version", "gpu/*/board_part_number"),
        why="The highest clock that the board, its VBIOS or its maker allows: boards of one name differ in it.",
        confirm="nvidia-smi -q -d CLOCK on both; lock both to the lower maximum (-lgc) and measure again",
        sources=(NVML,),
    ),
    Rule(
        name="memory-clock-ceiling",
        sees=("gpu/*/clocks/max/mem", "gpu/*/clocks/max_customer_boost/mem"),
        moves=("memory clock",),
        way="more helps",
        binds=(MEMORY_LOWER,),
        usual=(1.01, 1.15),
        bound=AS_THE_MEMORY_CLOCK,
        beside=("gpu/*/memory_bus_width",),
        why="With the width of the bus it is the bandwidth of the memory, which bounds decode.",
        confirm="a copy within device memory on both (nvbandwidth -t device_local_copy)",
        sources=(NVML,),
    ),
    Rule(
        name="clock-offset",
        sees=("gpu/*/clocks/offsets/graphics",),
        moves=("sm clock",),
        shows=(SM_LOWER,),
        breaks="seldom",
        usual=(1.02, 1.15),
        beside=("gpu/*/power_limit",),
        why="An offset moves the curve of clock over voltage: a higher clock, or the same at less power and heat, "
        "until the chip makes errors, which end the program. The clock under a power limit rises with it too.",
        confirm="set the offset to 0 with the tool that set it (nvidia-settings, LACT) and measure again",
        sources=("https://github.com/deepbeepmeep/Wan2GP/issues/1846", NVML),
    ),
    Rule(
        name="memory-clock-offset",
        sees=("gpu/*/clocks/offsets/mem",),
        moves=("memory clock", "gpu memory bandwidth"),
        shows=(MEMORY_LOWER,),
        breaks="seldom",
        usual=(1.02, 1.15),
        beside=("gpu/*/ecc/mode_current",),
        why="More clock is more bandwidth, until GDDR detects errors and sends again: then more clock is less "
        "bandwidth, and at last an error that ends the program.",
        confirm="set the memory's offset to 0 and measure a copy within device memory again",
        sources=(NVML,),
    ),
    Rule(
        name="auto-boost",
        sees=("gpu/*/clocks/auto_boost/enabled", "gpu/*/clocks/auto_boost/default"),
        moves=("sm clock",),
        shows=(SM_LOWER,),
        usual=(1.1, 1.5),
        beside=("gpu/*/clocks/applications/graphics",),
        why="On boards of the Kepler and Maxwell generations clocks rise above those of the application only where "
        "auto boost is on; off, runs resemble each other more.",
        confirm="nvidia-smi --auto-boost-default=1 (or 0), and measure again",
        sources=(NVML,),
    ),
    Rule(
        name="performance-state",
        sees=("gpu/*/performance_state",),
        moves=("sm clock", "memory clock"),
        shows=(SM_LOWER, MEMORY_LOWER),
        usual=(1.05, 3.0),
        beside=("gpu/*/power_limit", "gpu/*/power_mizer_mode", "gpu/*/inferred/clock_lock"),
        why="Under load P0 is full speed, P2 the computing state of consumer boards, with a lower memory clock; what "
        "stays above that is stuck or limited: 1.35x to 3x. At rest a high number is normal.",
        confirm="nvidia-smi --query-gpu=pstate,clocks.sm,clocks.mem --format=csv -l 1 under load",
        sources=("https://github.com/c3sr/comm_scope/issues/43", NVML),
    ),
    Rule(
        name="powermizer-mode",
        sees=("gpu/*/power_mizer_mode",),
        moves=("sm clock", "memory clock"),
        shows=(SM_LOWER, MEMORY_LOWER),
        usual=(1.05, 1.5),
        why="Consistent performance keeps the base clocks, whatever boost would allow; under maximum performance "
        "clocks do not fall in the gaps between steps; adaptive ones do.",
        confirm="nvidia-settings -a GpuPowerMizerMode=1 (maximum performance), and measure again",
        sources=(NVML,),
    ),
)
