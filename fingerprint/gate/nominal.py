"""What is expected of any host, by its own defaults and maxima: the rules of a gate that has no baseline.

MOMENT holds beside a baseline too: who else is there, and what is about to happen, no earlier run tells.
"""

from typing import Any

from fingerprint.gate.contract import Severity
from fingerprint.gate.expectation import Beside, Each, Expectation, Op, Settles, Test, Where

GIB = 1 << 30
MIB = 1 << 20
LEFT_OVER = 512 * MIB
"""Of a GPU's memory, used by no process: more than contexts of the driver and of a display take."""
SWAPPED_KB = 64 << 10
LEAST_CPUS = 4
"""For each GPU: its engine's scheduler, tokenizer, worker and a thread of CUDA each keep one busy."""

BARE = (
    Where("gpu/*/virtualization/mode", ("passthrough", "vgpu"), "a guest is not told what the slot is wired for", True),
    Where("cpu/processor/hypervisor", (True,), "a guest is not told what the slot is wired for", True),
)
"""AWS wires 8 of 16 lanes to its L40S and T4, for good; their guests read a maximum of 16."""
SHARED_SLOTS = tuple(
    Where("gpu/*/brand", (brand,))
    for brand in ("geforce", "geforce_rtx", "titan", "titan_rtx", "quadro", "quadro_rtx", "nvidia_rtx", "nvs")
)
"""Boards of desktops and laptops: their slots share lanes, or are wired with fewer."""
BARE_HOST = BARE[1:]
LINK_UP = (Where("network/rdma/*/ports/*/phys_state", ("LinkUp",), "nothing is plugged in"),)
AT_FULL_SPEED = (Where("gpu/*/performance_state", ("P0",), "at rest the link is slowed to save power"),)


def _rule(  # noqa: PLR0913  # one row of the table
    name: str,
    fact: str,
    op: Op,
    operand: Any,
    why: str,
    *,
    severity: Severity = "fail",
    settles: Settles = "",
    only: tuple[Where, ...] = (),
    softly: tuple[Where, ...] = (),
    by_nature: bool = False,
    remedy: str = "",
    sentence: str = "",
) -> Expectation:
    return Expectation(
        rule=name, origin="nominal", fact=fact, tests=(Test(op, operand),), severity=severity, absent="out_of_scope",
        reason=why,
        unknown="fail" if severity == "fail" else "warn", settles=settles, only=only, softly=softly,
        by_nature=by_nature, remedy=remedy, sentence=sentence,
    )  # fmt: skip


def _slow(name: str, fact: str, op: Op, operand: Any, why: str, **more: Any) -> Expectation:
    return _rule(name, fact, op, operand, why, severity="warn", **more)


_HEALTH = "gpu/*/health"
_REASONS = "gpu/*/clocks_event_reasons"
_PCIE = "gpu/*/pcie"

LIMITS: tuple[Expectation, ...] = (
    _rule(
        "power-limit", "gpu/*/power_limit", "min", Beside("gpu/*/power_default_limit"),
        "Under load clocks fall to fit it",
    ),
    _rule(
        "power-limit-enforced", "gpu/*/enforced_power_limit", "min", Beside("gpu/*/power_limit"),
        "Something outside NVML holds the GPU below the limit that was set",
    ),
    _rule(
        "module-power-limit", "gpu/*/power/module/power_limit", "min", Beside("gpu/*/power/module/power_default_limit"),
        "CPU and GPU share it: reached, it lowers the GPU's clocks",
    ),
    _rule("power-source", "gpu/*/power/source", "equals", "ac", "On battery or an undersized supply the limit falls"),
    _rule(
        "application-clocks", "gpu/*/clocks/applications/graphics", "min",
        Beside("gpu/*/clocks/default_applications/graphics"),
        "Work runs at this clock until somebody resets it (`nvidia-smi -rac`)",
    ),
    _rule(
        "application-memory-clock", "gpu/*/clocks/applications/mem", "min",
        Beside("gpu/*/clocks/default_applications/mem"),
        "Decode moves with the memory's clock",
    ),
    _slow(
        "clock-lock", "gpu/*/inferred/clock_lock", "none_of", ("suspected",),
        "No getter tells a lock (`nvidia-smi -lgc`, `-lmc`); the clocks look like one",
        remedy="nvidia-smi -i {key} -rgc; nvidia-smi -i {key} -rmc",
    ),
    _slow("clock-offset", "gpu/*/clocks/offsets/graphics", "min", 0, "Somebody shifted the voltage curve down"),
    _slow("memory-clock-offset", "gpu/*/clocks/offsets/mem", "min", 0, "Somebody lowered the memory's clock"),
    _rule(
        "link-generation", f"{_PCIE}/link_gen_current", "min", Beside("gpu/*/pcie/link_gen_max"),
        "Each generation less halves the link's bandwidth", only=AT_FULL_SPEED, softly=SHARED_SLOTS, by_nature=True,
    ),
    _rule(
        "link-width", f"{_PCIE}/link_width_current", "min", Beside("gpu/*/pcie/link_width_max"),
        "A seat, a riser or a shared slot: bandwidth goes with the lanes", only=BARE, softly=SHARED_SLOTS,
        by_nature=True,
    ),
    _rule(
        "nvlinks", "gpu/*/nvlink/active", "min", Beside("gpu/*/nvlink/link_count"),
        "Bandwidth between GPUs goes with the links", by_nature=True,
        only=(Where("gpu/*/fabric/state", ("completed",), "bridges use a part of a board's links"),),
    ),
    _slow(
        "card-link-speed", "pcie/cards/*/current_link_speed", "min", Beside("pcie/cards/*/usable_link_speed"),
        "A card, a drive or a switch carries half for each generation less, and says nothing", only=BARE_HOST,
        by_nature=True,
    ),
    _slow(
        "card-link-width", "pcie/cards/*/current_link_width", "min", Beside("pcie/cards/*/usable_link_width"),
        "A seat, a riser or a cable: its bandwidth goes with the lanes", only=BARE_HOST, by_nature=True,
    ),
    _slow(
        "bridge-link-speed", "pcie/bridges/*/current_link_speed", "min", Beside("pcie/bridges/*/usable_link_speed"),
        "All that hangs below the switch shares this link", only=BARE_HOST, by_nature=True,
    ),
    _slow(
        "bridge-link-width", "pcie/bridges/*/current_link_width", "min", Beside("pcie/bridges/*/usable_link_width"),
        "All that hangs below the switch shares these lanes", only=BARE_HOST, by_nature=True,
    ),
    _slow(
        "steered-subnets", "network/routes/unsteered_subnets", "max", 0,
        "Several cards in one subnet and no rule by source: one carries what all of them should",
    ),
    _slow(
        "persistence", "gpu/*/persistence_mode", "equals", "enabled",
        "Each start waits for the GPU to start, and limits that were set are lost when the last user leaves",
    ),
    _rule("compute-mode", "gpu/*/compute_mode", "none_of", ("prohibited",), "No process may use the GPU"),
    _slow(
        "ecc-mode", "gpu/*/ecc/mode_current", "equals", Beside("gpu/*/ecc/mode_default"),
        "Somebody chose the other mode",
    ),
    _slow(
        "gsp-mode", "gpu/*/gsp/mode_current", "equals", Beside("gpu/*/gsp/mode_default"),
        "Somebody chose the other mode",
    ),
    _slow(
        "power-profile", "gpu/*/power/requested_profiles", "max", 0, "Somebody asked for a profile of other work",
    ),
    _slow(
        "governor", "cpu/policies/*/scaling_governor", "equals", "performance",
        "Host latency varies with clocks that follow the load",
        only=(Where("cpu/policies/*/energy_performance_preference", ("performance",), "the preference says so", True),),
    ),
    _slow("turbo", "cpu/intel_pstate/no_turbo", "equals", False, "Turbo is switched off"),
    _slow("boost", "cpu/boost", "equals", True, "Boost is switched off"),
    _slow("cpu-performance", "cpu/intel_pstate/max_perf_pct", "min", 100, "Somebody lowered the highest clock"),
    _slow(
        "cpu-clock", "cpu/policies/*/scaling_max_freq", "min", Beside("cpu/policies/*/cpuinfo_max_freq"),
        "Somebody lowered the highest clock",
    ),
    _slow(
        "cpu-bios-limit", "cpu/policies/*/bios_limit", "min", Beside("cpu/policies/*/cpuinfo_max_freq"),
        "The firmware did",
    ),
    _slow(
        "cpus-for-gpus", "cpu/threads", "min", Each("gpu", LEAST_CPUS, "CPUs"),
        "The engine's own threads wait for each other, and the GPUs for them",
    ),
    _slow(
        "cpus-granted", "process/*/affinity", "min", Each("gpu", LEAST_CPUS, "CPUs"),
        "What is started here may use no others: the engine's own threads wait for each other",
        sentence="{where}: a command started here gets CPUs {found}, expected {expected}",
    ),
    _slow(
        "cpu-quota", "process/*/cgroup/cpu_max", "min", Each("gpu", LEAST_CPUS, "CPUs"),
        "A quota stalls every thread of what is started here until the period ends",
        sentence="{where}: a command started here has a quota of {found}, expected {expected}",
    ),
    _slow("cpus-off", "cpu/online", "equals", Beside("cpu/present"), "CPUs are switched off"),
    _slow(
        "clock-source", "kernel/clocksource/current", "none_of", ("hpet", "acpi_pm", "jiffies", "refined-jiffies"),
        "Reading the time takes a microsecond instead of 20 ns, and engines read it for each step",
    ),
    _slow("tracer", "kernel/tracing/current_tracer", "equals", "nop", "Each kernel function pays for it"),
    _slow("trace-events", "kernel/tracing/set_event", "max", 0, "Each event pays for it"),
    _rule("driver-libraries", "driver/libraries/match_module", "equals", True, "CUDA does not start (error 803)"),
    _slow(
        "gpus-bound-elsewhere", "driver/gpus_bound_elsewhere", "max", 0,
        "CUDA does not see them: NVIDIA's driver is not loaded, or another has them",
    ),
    _rule(
        "fabric-manager", "driver/fabricmanager/matches_module", "equals", True,
        "A manager of another release does not set up the NVSwitches (error 802)",
    ),
)  # fmt: skip
"""What a baseline knows better: with one, it decides."""

MOMENT: tuple[Expectation, ...] = (
    Expectation(
        rule="lost", origin="nominal", fact="gpu/*/temperature/gpu", tests=(), absent="out_of_scope",
        reason="It answers to nobody until it is reset, or the host is started anew",
    ),
    _rule(
        "fabric", "gpu/*/fabric/state", "equals", "completed", "Until then CUDA does not start, or peers go over PCIe",
        settles="joined",
    ),
    _slow(
        "rdma-port", "network/rdma/*/ports/*/state", "equals", "ACTIVE",
        "NCCL passes over a port without a subnet manager, and says nothing", only=LINK_UP, settles="joined",
    ),
    _rule("fabric-status", "gpu/*/fabric/status", "equals", "success", "Registration with the fabric failed"),
    _rule("fabric-health", "gpu/*/fabric/health/summary", "equals", "healthy", "Fewer links, or routes that fail"),
    _rule(
        "ecc-pending", "gpu/*/ecc/mode_pending", "equals", Beside("gpu/*/ecc/mode_current"),
        "Changes at the next reset",
    ),
    _rule(
        "mig-pending", "gpu/*/mig/mode_pending", "equals", Beside("gpu/*/mig/mode_current"),
        "Changes at the next reset",
    ),
    _slow("driver-pending", "driver/next_load/pending", "max", 0, "The driver's options change when it is next loaded"),
    _rule("recovery-action", f"{_HEALTH}/recovery_action", "equals", "none", "The GPU is not whole until it is done"),
    _rule("memory-repair", f"{_HEALTH}/channel_repair_pending", "equals", "no", "A reset repairs a memory channel"),
    _rule("core-repair", f"{_HEALTH}/tpc_repair_pending", "equals", "no", "A reset exchanges multiprocessors"),
    _rule("rows-pending", f"{_HEALTH}/remapped_rows/pending", "equals", "no", "A bad row waits for a reset"),
    _rule("rows-failed", f"{_HEALTH}/remapped_rows/failure", "equals", "no", "The maker takes such a board back"),
    _rule("pages-pending", f"{_HEALTH}/retired_pages/pending", "equals", "no", "A bad page waits for a reset"),
    _rule("memory-broken", f"{_HEALTH}/unrepairable_memory", "equals", "no", "It can be neither remapped nor repaired"),
    _rule("sram-errors", "gpu/*/ecc/sram_threshold_exceeded", "equals", "no", "The field diagnosis would replace it"),
    _slow("memory-errors", "gpu/*/ecc/volatile/uncorrected", "max", 0, "Processes that meet one are ended"),
    _rule("fell-off-bus", "driver/log/*/fallen_off_bus", "max", 0, "Since this boot a GPU was lost"),
    _rule(
        "hardware-slowdown", f"{_REASONS}/hw_slowdown", "equals", 0, "Heat or power halves the clocks, or worse",
        settles="cool",
    ),
    _rule("heat-slowdown", f"{_REASONS}/hw_thermal_slowdown", "equals", 0, "Too hot", settles="cool"),
    _rule("heat-cap", f"{_REASONS}/sw_thermal_slowdown", "equals", 0, "Too hot for its full clocks", settles="cool"),
    _rule("power-brake", f"{_REASONS}/hw_power_brake_slowdown", "equals", 0, "The rack's supply holds it down"),
    _rule(
        "foreign-processes", "gpu/*/processes/*/type", "one_of", (),
        "Whoever else is on the GPU takes its time and memory", settles="idle",
        softly=(Where("gpu/*/processes/*/type", ("graphics",)),), sentence="{where}: a process is on the GPU ({found})",
    ),
    _rule("gpu-idle", "gpu/*/utilization/gpu", "max", 5, "Somebody works on it, seen or unseen", settles="idle"),
    _rule(
        "leaked-memory", "gpu/*/unowned_memory", "max", LEFT_OVER,
        "No process owns it: what a crashed server left is missing for the cache", settles="idle",
    ),
    _slow("swap", "memory/swap/*/used", "max", SWAPPED_KB, "What was swapped out comes back when it is touched"),
    _slow("cpu-pressure", "pressure/cpu/some/avg10", "max", 1000, "Tasks wait for a CPU", settles="quiet"),
    _slow("io-pressure", "pressure/io/full/avg10", "max", 1000, "Tasks wait for a disk", settles="quiet"),
    _slow("memory-pressure", "pressure/memory/some/avg10", "max", 100, "Tasks wait for memory", settles="quiet"),
)  # fmt: skip
"""What no earlier run tells, and what is about to change."""
