"""What NVML does not tell, as far as other readings show it: each fact names the ground that it rests on."""

from probes.gpu.asking import Device
from probes.gpu.events import CURRENT, GPU_IDLE, busy, names_of
from probes.gpu.machine import Machine
from probes.gpu.settings import persistence
from probes.kit.facts import Gap, Section, Seen, config, seen_or, state, then

STEP_MHZ = 15
"""Clocks move in steps of 7 or 8 and 15 MHz: a step below the maximum is the maximum."""
FAR_BELOW = 0.75
"""Consumer boards never reach their maximum under load: 0.81 to 0.9 of it is what their voltage allows, and memory
computes at 0.86 of its own or more."""
COMPUTES_IN = 2
"""The highest performance state in which a GPU computes at full speed: consumer boards do so in P2."""

SM, SM_MAX = "nvmlDeviceGetClockInfo(1)", "nvmlDeviceGetMaxClockInfo(1)"
MEMORY, MEMORY_MAX = "nvmlDeviceGetClockInfo(2)", "nvmlDeviceGetMaxClockInfo(2)"
SUSPECTED = "suspected"
NO_SIGN = "no sign"


class Inferred(Section):
    clock_lock: Seen[str] = state(
        "Whether somebody locked the clocks (`nvidia-smi -lgc`, `-lmc`), for which NVML has no getter: 1.07x to 1.5x, "
        "until the reboot or `nvidia-smi -rgc`, `-rmc`, whoever set it",
        "inferred from the clocks of SM and memory against their maximum, under load or at rest, where no event reason "
        "holds them",
        settled="gpu busy",
    )
    clock_lock_ground: Seen[str] = state(
        "The readings that clock_lock rests on", "inferred with it", settled="gpu busy", context=True,
        follows=("gpu/*/inferred/clock_lock", "gpu/*/power_limit", "gpu/*/enforced_power_limit"),
    )  # fmt: skip
    power_limit_by: Seen[str] = config(
        "Whether the limit is the board's own or was set by somebody. The limit itself is a fact of its own",
        "inferred from power_limit and power_default_limit",
        follows=("gpu/*/power_limit", "gpu/*/power_default_limit"),
        context=True,
    )
    power_limit_until: Seen[str] = config(
        "A limit that nobody sets again at boot is gone after the next one, and with it the speed that was measured: "
        "not before",
        "inferred from power_limit_by, persistence_mode and set_at_boot",
        follows=("gpu/*/power_limit", "gpu/*/persistence_mode", "gpu/*/inferred/set_at_boot"),
        context=True,
    )
    persistence_by: Seen[str] = config(
        "The flag alone is off again after a reboot, the daemon sets it at each boot; until then both are alike",
        "inferred from persistence_mode and the pid file of nvidia-persistenced",
        follows=("gpu/*/persistence_mode",),
        context=True,
    )
    set_at_boot: Seen[tuple[str, ...]] = config(
        "Who sets power, clocks or persistence at boot",
        "inferred from nvidia-smi in /etc/systemd/system and its scripts, /etc/cron.d, udev rules, rc.local",
    )


def read_inferred(device: Device, machine: Machine) -> Inferred:
    by = _power_limit_by(device)
    kept = persistence(device, machine)
    sampled = sample_inferred(device, was_up=kept == "enabled")
    return Inferred(
        clock_lock=sampled.clock_lock,
        clock_lock_ground=sampled.clock_lock_ground,
        power_limit_by=by,
        power_limit_until=then(by, lambda who: _until(who, kept, machine)),
        persistence_by=then(kept, lambda mode: _persistence_by(mode, machine)),
        set_at_boot=machine.at_boot,
    )


def sample_inferred(device: Device, *, was_up: bool = True) -> Inferred:
    """The lock alone: it shows while the GPU works. was_up: whether it was, before NVML was opened."""
    bits = device.answer(CURRENT)
    found = then(busy(device), lambda works: then(bits, lambda held: _lock(device, works, held, was_up)))
    return Inferred(clock_lock=then(found, lambda pair: pair[0]), clock_lock_ground=then(found, lambda pair: pair[1]))


def _lock(device: Device, works: int, bits: int, was_up: bool) -> Seen[tuple[str, str]]:
    return _under_load(device, bits) if works else _at_rest(device, bits, was_up)


def _under_load(device: Device, bits: int) -> Seen[tuple[str, str]]:
    if bits:
        return NO_SIGN, f"busy, and held by {', '.join(names_of(bits))}"
    performance = seen_or(device.answer("nvmlDeviceGetPerformanceState"), 0)
    if performance > COMPUTES_IN:
        return Gap("not_observable", f"busy in P{performance}: work that light may not raise the clocks")
    if _is_far_below(device.answer(MEMORY), device.answer(MEMORY_MAX)):
        return SUSPECTED, "busy with the memory far below its maximum clock, and no event reason holds it"
    return then(device.answer(SM), lambda now: then(device.answer(SM_MAX), lambda most: _below(now, most)))


def _is_far_below(now: Seen[int], most: Seen[int]) -> bool:
    return not isinstance(now, Gap) and not isinstance(most, Gap) and now < FAR_BELOW * most


def _below(now: int, most: int) -> Seen[tuple[str, str]]:
    if now >= most - STEP_MHZ:
        return NO_SIGN, "busy at the maximum clock"
    if _is_far_below(now, most):
        return SUSPECTED, "busy far below the maximum clock, and no event reason holds it"
    return Gap("not_observable", "busy below the maximum clock: a lock, or what the voltage allows")


def _at_rest(device: Device, bits: int, was_up: bool) -> Seen[tuple[str, str]]:
    """Locked, a GPU rested at 915 MHz without the idle bit, which came back after a reboot (JuliaGPU/CUDA.jl#2194)."""
    if bits & GPU_IDLE:
        return NO_SIGN, "at rest, and the GPU says that it is idle"
    if bits or device.answer("nvmlDeviceGetUtilizationRates.gpu") != 0:
        return Gap("not_observable", "neither busy nor idle")
    if not was_up:
        return Gap("not_observable", "at rest, but for being asked: without persistence mode that starts the GPU")
    return SUSPECTED, "at rest, and the GPU does not say that it is idle"


def _power_limit_by(device: Device) -> Seen[str]:
    limit = device.first("nvmlDeviceGetPowerManagementLimit", "NVML_FI_DEV_POWER_REQUESTED_LIMIT")
    usual = device.first("nvmlDeviceGetPowerManagementDefaultLimit", "NVML_FI_DEV_POWER_DEFAULT_LIMIT")
    return then(limit, lambda now: then(usual, lambda default: "default" if now == default else "somebody"))


def _until(who: str, kept: Seen[str], machine: Machine) -> Seen[str]:
    if who == "default":
        return "not set"
    if isinstance(machine.at_boot, Gap):
        return machine.at_boot
    if any(": -pl" in line or ": --power-limit" in line for line in machine.at_boot):
        return "set again at boot"
    return then(kept, lambda mode: "reboot" if mode == "enabled" else "last close")


def _persistence_by(mode: str, machine: Machine) -> Seen[str]:
    if mode != "enabled":
        return "nobody"
    return then(machine.daemon, lambda runs: "nvidia-persistenced" if runs else "flag")
