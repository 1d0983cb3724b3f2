"""Logs of the kernel, as dmesg, journalctl and syslog print them: what the probe of the driver finds in them.

A log counts since boot where it begins with it; of another, what it does not hold says nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from fingerprint.imports.dump import Told, of_host
from fingerprint.imports.proc import RELEASE_BEGINS
from fingerprint.imports.times import moment
from probes.driver import Driver
from probes.driver.lines import Log
from probes.driver.log import DeviceLog, KernelLog, read_devices, read_kernel_log
from probes.kernel import Kernel, Troubles
from probes.kernel.cmdline import parameters
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor
from probes.memory import Memory
from probes.memory.usage import Vmstat

S = TypeVar("S", bound=Section)

_SPOKEN = (
    r"NVRM: |nvidia-nvswitch\d*: |nvidia[-_]peermem |nvidia[- ]\S*: |pcieport |AER: |PCIe Bus Error: |mlx[45]_core |"
    r"Linux version \d|Command line: |BIOS-e820: |ACPI: |Kernel command line: |Out of memory: |"
    r"Memory cgroup out of memory: |oom-kill:|.{1,60}invoked oom-killer|CPU\d+: .*temperature above threshold|"
    r"watchdog: BUG: soft lockup|INFO: task .{1,60} blocked for more than|mce: |EDAC |WARNING: CPU: \d|Oops: |"
    r"rcu: INFO: |usb \d|pci \d{4}:|pci_bus "
)
_PREFIX = (
    r"(?:<\d+>)?\[ *(?P<seconds>\d+\.\d+)\](?:\[ *[TC]\d+\])? "  # dmesg
    r"|\[(?P<ctime>\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\] "  # dmesg -T
    r"|[a-z]+ *:[a-z]+ *: (?:\[(?P<bracketed>[^]]{1,40})\]|(?P<iso>\d{4}-\S{1,40})) "  # dmesg -x
    r"|\d+,(?P<sequence>\d+),(?P<microseconds>\d+),[-a-z][^;\n]*;"  # /dev/kmsg
    r"|(?P<logged>\d{4}-\d\d-\d\dT\S{1,30}|\S{3,5}\.? [ \d]\d \d\d:\d\d:\d\d) (?P<host>\S{1,64}) kernel: "
    r"(?:\[ *(?P<since_boot>\d+\.\d+)\] )?"  # journalctl and syslog
)
LAST = 100
"""Lines of which one has to tell a time: a stamp of syslog, which has no year, tells none."""
_CLOCKS = ("ctime", "bracketed", "iso", "logged")
_STAMPS = (*_CLOCKS, "seconds", "microseconds")
_BARE = re.sub(r"\?P<\w+>", "?:", _PREFIX)
_SURE = (
    r"NVRM: (?:GPU\d+ )?Xid \(|nvidia-nvswitch\d*: SXid |"
    r"(?:kern|user|daemon|syslog) *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: (?:\[|\d{4}-)|"  # dmesg -x
    r"\d{1,3},\d+,\d+,(?:-|c);"  # /dev/kmsg
)
"""What a line begins with that nothing else prints, whatever follows."""
BEGINS = lazy_regex(rf"^(?:(?:{_BARE})(?=.{{0,80}}(?:{_SPOKEN}))|{_SURE}).*$", re.MULTILINE)
_LINE = lazy_regex(rf"(?:{_PREFIX})?(?P<text>.*)")
_FIRST = lazy_regex(r"Linux version \d")
_COMMAND_LINE = lazy_regex(r"(?:Kernel )?[Cc]ommand line: (?P<line>.*)")
_TROUBLES = {
    "oops_count": lazy_regex(r"Oops: .*\[#\d+\]"),
    "warn_count": lazy_regex(r"WARNING: CPU: \d+ PID: "),
    "softlockup_count": lazy_regex(r"watchdog: BUG: soft lockup - CPU#\d+ stuck"),
    "rcu_stall_count": lazy_regex(r"rcu: INFO: \w+ (?:self-)?detected (?:stall|expedited stalls)"),
    "hung_task_detect_count": lazy_regex(r"INFO: task .{1,100} blocked for more than \d+ seconds"),
}
"""Counter of the kernel -> the line that it writes each time."""
_OOM = lazy_regex(r"(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process \d+")


class Line(NamedTuple):
    """stamp: the kind of it. at: as printed, empty for none. seconds: since boot, None where it says something else."""

    text: str
    stamp: str
    at: str
    host: str
    seconds: float | None
    sequence: int


def read(text: str, redactor: Redactor) -> Told:
    lines = _of_last_boot(_of_one_log(list(_lines(text))))
    log = Log("\n".join(f"{line.sequence},{round((line.seconds or 0) * 1e6)};{line.text}" for line in lines))
    whole = any(_FIRST.match(line.text) for line in lines)
    timed = all(line.seconds is not None for line in lines)
    kills = sum(_OOM.search(line.text) is not None for line in lines)
    counted = _counted(read_kernel_log(log), whole=whole, timed=timed)
    sections: dict[str, Section] = {}
    if (driver := Driver(kernel_log=counted, log=_devices(log, whole=whole))) != Driver():
        sections["driver"] = driver
    if (kernel := _kernel(lines, redactor, whole=whole)) != Kernel():
        sections["kernel"] = kernel
    if kills or whole:
        sections["memory"] = Memory(vmstat=Vmstat(oom_kill=kills))
    last = next((line.at for line in reversed(lines[-LAST:]) if line.at and moment(line.at)), "")
    host = next((line.host for line in lines if line.host), "")
    return of_host(sections, moment(last), host)


def _of_one_log(lines: Sequence[Line]) -> Sequence[Line]:
    """A report holds one log as several tools print it: of lines stamped alike those that are most."""
    stamps = Counter(line.stamp for line in lines)
    return [line for line in lines if line.stamp == stamps.most_common(1)[0][0]]


def _of_last_boot(lines: Sequence[Line]) -> Sequence[Line]:
    first = next((at for at in reversed(range(len(lines))) if _FIRST.match(lines[at].text)), 0)
    return lines[first:]


def _devices(log: Log, *, whole: bool) -> Seen[Map[DeviceLog]]:
    found = {device: _told(section, whole) for device, section in read_devices(log).items.items()}
    return Map(found) if found or whole else NOT_READ


def _kernel(lines: Sequence[Line], redactor: Redactor, *, whole: bool) -> Kernel:
    """Of the last boot that the log begins with; of a line that syslog cut off, nobody can tell."""
    release = _last(RELEASE_BEGINS, lines)
    command = _last(_COMMAND_LINE, lines)
    counts = {name: sum(it.match(line.text) is not None for line in lines) for name, it in _TROUBLES.items()}
    return Kernel(
        release=release["release"] if release else NOT_READ,
        version=release["version"].strip() if release else NOT_READ,
        cmdline=parameters(command["line"], redactor) if command else NOT_READ,
        troubles=_told(Troubles(**counts), whole),
    )


def _last(form: re.Pattern[str], lines: Sequence[Line]) -> re.Match[str] | None:
    return next((found for line in reversed(lines) if (found := form.match(line.text))), None)


def _lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines()):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        stamp = next((name for name in _STAMPS if found[name]), "")
        at = found[stamp] if stamp in _CLOCKS else ""
        yield Line(found["text"], stamp, at, found["host"] or "", _seconds(found), int(found["sequence"] or number))


def _seconds(found: re.Match[str]) -> float | None:
    printed = found["seconds"] or found["since_boot"]
    if found["microseconds"]:
        return int(found["microseconds"]) / 1e6
    return float(printed) if printed else None


def _counted(log: KernelLog, *, whole: bool, timed: bool) -> KernelLog:
    """Nothing of the numbers of records, which are none of the kernel's here; when the driver was loaded, where lines
    say how long after boot they were written."""
    loaded = log.driver_loaded_at if timed and not isinstance(log.driver_loaded_at, Gap) else NOT_READ
    return _told(msgspec.structs.replace(log, oldest_record=NOT_READ, driver_loaded_at=loaded), whole)


def _told(section: S, whole: bool) -> S:
    """Without what was counted to none, unless the log goes back to boot."""
    if whole:
        return section
    changes = {field: NOT_READ for field in section.__struct_fields__ if _is_none(getattr(section, field))}
    return msgspec.structs.replace(section, **changes)


def _is_none(value: Seen[object]) -> bool:
    return value == 0 or value == Map({})
