"""What a GPU may draw: limits, who sets them, supplies, profiles and the brake of the chassis."""

from fingerprint.explain.mechanisms.gpu_clocks import MEMORY_LOWER, SM_LOWER
from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"

CAPPED = (
    Condition(
        "gpu/*/clocks_event_reasons_counters/sw_power_cap", "grew", "the driver lowered the clocks to stay in the limit"
    ),
    Condition("gpu/*/clocks_event_reasons/sw_power_cap", "active", "busy samples were held by the power limit"),
    Condition("gpu/*/power/draw", "reached", "the draw came to the limit"),
)
BRAKED = (
    Condition("gpu/*/clocks_event_reasons_counters/hw_power_brake_slowdown", "grew", "the chassis pulled the brake"),
    Condition("gpu/*/clocks_event_reasons_counters/board_limit", "grew", "the board's own limit held the clocks"),
)
AS_THE_SM_CLOCK = Bound("observed", "gpu/*/clocks/sm", "at most as much longer as the SM clock under load was lower")

RULES: tuple[Rule, ...] = (
    Rule(
        name="power-limit",
        sees=("gpu/*/power_limit",),
        moves=("sm clock",),
        way="more helps",
        binds=CAPPED,
        breaks="seldom",
        usual=(1.05, 1.6),
        bound=AS_THE_SM_CLOCK,
        beside=("gpu/*/power_default_limit", "gpu/*/persistence_mode", "gpu/*/inferred/power_limit_until"),
        why="Once the draw reaches the limit the driver lowers the SM clock until it fits: 1.1x to 1.6x on record, "
        "most in prefill. Below it the limit moves nothing: 92.09 and 91.86 tok/s at 290 and 450 W, at a draw of 163 "
        "W. A limit that is more than the supply gives ends everything: two boards on 490 W cut the host's power.",
        confirm="nvidia-smi -q -d POWER,PERFORMANCE under load; set the limit back (-pl) and measure again",
        confirmed=5,
        sources=(
            "https://github.com/noonghunna/club-3090/issues/761",
            "https://github.com/noonghunna/club-3090/issues/769",
            "https://github.com/olafkfreund/nixos_config/pull/1396",
            NVML,
            "https://github.com/noonghunna/club-3090/issues/585",
        ),
    ),
    Rule(
        name="enforced-power-limit",
        sees=("gpu/*/enforced_power_limit",),
        moves=("sm clock",),
        way="more helps",
        binds=(*CAPPED, *BRAKED),
        breaks="seldom",
        usual=(1.1, 2.0),
        bound=AS_THE_SM_CLOCK,
        beside=("gpu/*/power_limit", "gpu/*/power/source", "driver/daemons/nvidia-powerd/running"),
        why="The least of all limiters holds: below the limit that was asked for, a BMC, the vendor's power tool, "
        "nvidia-powerd or a missing supply took the rest. A vendor tool alone took 110 to 68 tok/s.",
        confirm="compare power.limit with enforced.power.limit (nvidia-smi -q -d POWER) and read the BMC's power "
        "policy",
        confirmed=1,
        sources=(
            "https://github.com/seerge/g-helper/issues/5411",
            "https://github.com/llnl/variorum/issues/445",
            "https://github.com/l4rz/reverse-engineering-dell-idrac-to-get-rid-of-gpu-throttling",
        ),
    ),
    Rule(
        name="module-power-limit",
        sees=("gpu/*/power/module/power_limit", "gpu/*/power/module/enforced_power_limit"),
        moves=("sm clock", "cpu clock"),
        way="more helps",
        binds=(
            Condition("gpu/*/power/module/draw", "reached", "CPU and GPU together came to the module's limit"),
            *CAPPED,
        ),
        beside=("gpu/*/power/module/power_default_limit",),
        why="On Grace modules CPU and GPU share one budget: reached, it lowers the GPU's clocks although the GPU's own "
        "limit is not reached, and what the CPU draws is taken from the GPU.",
        confirm="nvidia-smi -q -d POWER under load (module power readings), once with the CPU idle and once busy",
        sources=("https://github.com/ml-energy/zeus/issues/242", NVML),
    ),
    Rule(
        name="default-power-limit",
        sees=("gpu/*/power_default_limit", "gpu/*/power/module/power_default_limit"),
        moves=("sm clock",),
        way="more helps",
        binds=CAPPED,
        usual=(1.05, 1.6),
        bound=AS_THE_SM_CLOCK,
        beside=("gpu/*/power_limit", "gpu/*/vbios_version"),
        why="The limit that holds until somebody sets another: boards of one name and other VBIOS versions differ in "
        "it.",
        confirm="nvidia-smi -q -d POWER on both; set the lower of the two limits on both (-pl) and measure again",
        sources=(NVML,),
    ),
    Rule(
        name="set-at-boot",
        sees=("gpu/*/inferred/set_at_boot",),
        moves=("sm clock", "memory clock"),
        binds=(
            *CAPPED[:2],
            Condition("gpu/*/clocks/sm", "lower", "the SM clock under load was lower with it"),
            Condition("gpu/*/clocks/mem", "lower", "the memory clock under load was lower with it"),
        ),
        breaks="seldom",
        usual=(1.05, 1.6),
        beside=("gpu/*/power_limit", "gpu/*/inferred/clock_lock", "gpu/*/persistence_mode"),
        why="A unit, a cron job or a rule of udev that calls nvidia-smi sets limits and clock locks again at each "
        "boot; of a clock lock it is the only written trace. A reboot without it put 290 W back to 450 W.",
        confirm="nvidia-smi -rgc, -rmc, and -pl with the default limit: measure; then run what sets them, and measure",
        sources=(
            "https://github.com/noonghunna/club-3090/issues/769",
            "https://github.com/Datura-ai/lium-io/issues/1229",
        ),
    ),
    Rule(
        name="power-source",
        sees=("gpu/*/power/source",),
        moves=("sm clock", "memory clock"),
        best=("ac",),
        shows=(*CAPPED[:2], SM_LOWER),
        breaks="seldom",
        usual=(1.2, 3.0),
        beside=("gpu/*/enforced_power_limit", "driver/daemons/nvidia-powerd/running"),
        why="On battery, or with a supply that is too small, firmware lowers what the GPU may draw: 175 to 80 W were "
        "seen. What it does not lower trips the supply, and host or GPU are gone.",
        confirm="connect the full power supply and measure again",
        confirmed=1,
        sources=("https://github.com/NVIDIA/cudf/issues/10336", NVML),
    ),
    Rule(
        name="power-profile",
        sees=("gpu/*/power/requested_profiles", "gpu/*/power/enforced_profiles"),
        moves=("sm clock", "memory clock", "nvlink"),
        shows=(SM_LOWER, MEMORY_LOWER),
        usual=(1.01, 1.1),
        beside=("gpu/*/power_limit",),
        why="Blackwell's workload profiles move clocks, limits and links together, for one kind of work at the cost of "
        "another: the one for training is not the one for inference.",
        confirm="nvidia-smi -q -d POWER (workload profiles) on both; clear the requested profiles and measure again",
        sources=(NVML,),
    ),
    Rule(
        name="power-smoothing",
        sees=("gpu/*/power/smoothing/enabled", "gpu/*/power/smoothing/profile"),
        moves=("sm clock",),
        shows=(SM_LOWER,),
        why="Draw, and the clocks with it, may only rise slowly after each pause, so that many GPUs do not step "
        "together: work in short bursts, as decode of few requests, pays for it.",
        confirm="nvidia-smi power-smoothing (as root) on both; switch it off for one run",
        sources=(NVML,),
    ),
    Rule(
        name="power-brake",
        sees=("gpu/*/clocks_event_reasons_counters/hw_power_brake_slowdown",),
        moves=("sm clock",),
        way="less helps",
        usual=(1.5, 5.0),
        bound=AS_THE_SM_CLOCK,
        beside=("gpu/*/enforced_power_limit",),
        why="The chassis asserts a signal and the hardware halves the clocks or worse: a supply failed, or the budget "
        "of the chassis is spent. A server that did not know the card asserted it for good.",
        confirm="nvidia-smi -q -d PERFORMANCE under load (HW Power Brake), then the BMC's log of supplies",
        confirmed=1,
        sources=(
            "https://github.com/l4rz/reverse-engineering-dell-idrac-to-get-rid-of-gpu-throttling",
            "https://github.com/NVIDIA/NVSentinel/issues/1666",
        ),
    ),
)
