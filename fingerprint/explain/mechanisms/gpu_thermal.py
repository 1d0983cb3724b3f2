"""Heat: what slowed a GPU down for it, where that begins, and what cools it."""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"

SOFT = Condition(
    "gpu/*/clocks_event_reasons_counters/sw_thermal_slowdown", "grew", "the driver lowered the clocks for heat"
)
HARD = Condition(
    "gpu/*/clocks_event_reasons_counters/hw_thermal_slowdown", "grew", "the hardware halved the clocks for heat"
)
EITHER = Condition("gpu/*/clocks_event_reasons_counters/thermal", "grew", "heat held the clocks")
SEEN = Condition("gpu/*/clocks_event_reasons/sw_thermal_slowdown", "active", "busy samples were held by heat")
SEEN_HARD = Condition("gpu/*/clocks_event_reasons/hw_thermal_slowdown", "active", "busy samples were halved by heat")
HOT = (SOFT, HARD, EITHER, SEEN, SEEN_HARD)

RULES: tuple[Rule, ...] = (
    Rule(
        name="thermal-slowdown",
        sees=(
            "gpu/*/clocks_event_reasons_counters/sw_thermal_slowdown",
            "gpu/*/clocks_event_reasons_counters/hw_thermal_slowdown",
            "gpu/*/clocks_event_reasons_counters/thermal",
        ),
        moves=("sm clock",),
        way="less helps",
        breaks="seldom",
        usual=(1.05, 5.0),
        bound=Bound("observed", "gpu/*/clocks/sm", "at most as much longer as the SM clock under load was lower"),
        beside=("gpu/*/fan/policy", "gpu/*/temperature/thresholds/gpu_target", "gpu/*/power_limit"),
        why="Core or memory reached its highest operating temperature and the clocks fell: 5 % in decode where they "
        "fell by 20 %; fivefold where one of 16 GPUs in synchronous training was hot and all others waited for it. "
        "What that does not cool shuts down: heat is among the first reasons of Xid 79.",
        confirm="nvidia-smi -q -d TEMPERATURE,PERFORMANCE under load on every GPU; repeat with the fans at full speed",
        confirmed=4,
        sources=(
            "https://jingchaozhang.github.io/Thermal-Throttling-Impact-on-Multi-Node-Training",
            "https://vineethac.blogspot.com/search/label/sensor",
            "https://manishklach.github.io/writings/why-hbm-thermal-throttling-is-silent.html",
            "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/507",
        ),
    ),
    Rule(
        name="slowdown-temperature",
        sees=(
            "gpu/*/temperature/thresholds/slowdown",
            "gpu/*/temperature/thresholds/mem_max",
            "gpu/*/temperature/thresholds/gpu_max",
        ),
        moves=("sm clock",),
        way="more helps",
        binds=HOT,
        usual=(1.02, 1.5),
        why="The temperature at which clocks begin to fall is the board's own: a lower one throttles sooner in the "
        "same air.",
        confirm="nvidia-smi -q -d TEMPERATURE on both, under load",
        sources=(NVML,),
    ),
    Rule(
        name="slowdown-margin",
        sees=(
            "gpu/*/temperature/margins/slowdown",
            "gpu/*/temperature/margins/mem_max",
            "gpu/*/temperature/margins/gpu_max",
        ),
        moves=("sm clock",),
        binds=HOT,
        why="Ada and later count degrees down to the limit, and the clocks fall at a margin that VBIOS sets for the "
        "board.",
        confirm="nvidia-smi -q -d TEMPERATURE on both, under load",
        sources=(NVML,),
    ),
    Rule(
        name="target-temperature",
        sees=("gpu/*/temperature/thresholds/gpu_target",),
        moves=("sm clock",),
        way="more helps",
        binds=(*HOT, Condition("gpu/*/temperature/gpu", "reached", "the GPU came to the target")),
        usual=(1.02, 1.2),
        beside=("gpu/*/fan/policy",),
        why="Fans, then clocks, are steered so that the GPU stays at the target: a lower one is quieter and slower.",
        confirm="nvidia-smi -gtt with the other value, and measure again once the GPU is warm",
        sources=(NVML,),
    ),
    Rule(
        name="gpu-cooling",
        sees=("gpu/*/fan/policy", "gpu/*/fan/count"),
        moves=("sm clock",),
        binds=HOT,
        breaks="seldom",
        usual=(1.05, 3.0),
        beside=("gpu/*/temperature/thresholds/gpu_target",),
        why="Set by hand, fans no longer follow the temperature. A GPU without fans depends on the chassis: a BMC "
        "upgrade that changed its fan profile brought eight H100 to 87 degrees. What gets too hot shuts itself off.",
        confirm="set fans to full speed (nvidia-settings, or the BMC's fan mode), wait five minutes and measure again",
        confirmed=1,
        sources=(
            "https://vineethac.blogspot.com/search/label/sensor",
            "https://github.com/l4rz/reverse-engineering-dell-idrac-to-get-rid-of-gpu-throttling",
            NVML,
        ),
    ),
)
