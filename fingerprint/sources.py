"""How a place that facts come from is looked at where cat shows nothing of it: links, folders, an endless stream."""

from collections.abc import Mapping
from shlex import quote

ENVIRON = "/proc/PID/environ"
CMDLINE = "/proc/PID/cmdline"
_CPU = "/sys/devices/system/cpu"

LOOKED_AT: Mapping[str, str] = {
    ENVIRON: f"tr '\\0' '\\n' < {ENVIRON}",
    CMDLINE: f"tr '\\0' ' ' < {CMDLINE}",
    "/proc/PID/cwd": "readlink /proc/PID/cwd",
    "/proc/PID/exe": "readlink /proc/PID/exe",
    "/proc/PID/fd": "ls -l /proc/PID/fd",
    "/dev/kmsg": "dmesg",
    "/sys/class/powercap": "ls /sys/class/powercap",
    f"{_CPU}/cpufreq": f"ls {_CPU}/cpufreq",
    f"{_CPU}/intel_uncore_frequency": f"ls {_CPU}/intel_uncore_frequency",
    f"{_CPU}/cpuN/cache": f"ls {_CPU}/cpu0/cache",
    f"{_CPU}/cpuN/cpuidle": f"ls {_CPU}/cpu0/cpuidle",
    "/sys/class/net": "ls -l /sys/class/net",
    "/sys/class/infiniband": "ls -l /sys/class/infiniband",
    "/sys/kernel/mm/memory_peers": "ls /sys/kernel/mm/memory_peers",
    "/dev/infiniband": "ls -l /dev/infiniband",
    f"{_CPU}/vulnerabilities": f"grep -r . {_CPU}/vulnerabilities",
}
_COMMANDS = ("ethtool ", "ip ", "dcb ")


def looked_at(source: str) -> str | None:
    """The command for a fact's source: `PLACE`, `PLACE, what its lines hold` or `PLACE; a remark`. None where the place
    has no command of its own; `COMMAND; a remark` is one itself."""
    place, comma, held = source.partition("; ")[0].partition(", ")
    command = place if place.startswith(_COMMANDS) else LOOKED_AT.get(place)
    return f"{command} | grep -F {quote(held)}" if command and comma else command
