"""What the kernel keeps for a process and hands on over exec: CPUs, scheduling, limits, sandbox."""

from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.host import Host
from probes.kit.parse import fields
from probes.process.sections import Limit

# include/uapi/linux/sched.h; words as chrt(1) writes its options.
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
_SECCOMP = {"0": "off", "1": "strict", "2": "filter"}
_LIMITS = {
    "Max cpu time": "cpu", "Max file size": "fsize", "Max data size": "data", "Max stack size": "stack",
    "Max core file size": "core", "Max resident set": "rss", "Max processes": "nproc",
    "Max open files": "nofile", "Max locked memory": "memlock", "Max address space": "as",
    "Max file locks": "locks", "Max pending signals": "sigpending", "Max msgqueue size": "msgqueue",
    "Max nice priority": "nice", "Max realtime priority": "rtprio", "Max realtime timeout": "rttime",
}  # fmt: skip
_LABEL = 26  # width of the first column, fs/proc/base.c proc_pid_limits


class Status:
    """The lines of /proc/PID/status."""

    def __init__(self, host: Host, pid: int) -> None:
        self._lines = then(host.text(f"/proc/{pid}/status"), fields)

    def line(self, name: str) -> Seen[str]:
        """`unsupported` where this kernel has no such line."""
        return then(
            self._lines, lambda lines: lines.get(name, Gap("unsupported", f"no {name} in this kernel's status"))
        )

    def number(self, name: str) -> Seen[int]:
        return then(self.line(name), int)

    def switch(self, name: str) -> Seen[bool]:
        return then(self.line(name), lambda text: {"0": False, "1": True}[text])

    def real_id(self, name: str) -> Seen[int]:
        """The real id, first of the four."""
        return then(self.line(name), lambda text: int(text.split()[0]))

    def seccomp(self) -> Seen[str]:
        """`off`, `strict`, `filter`, or `filter x 3` with the number of filters (Linux 5.9 and later)."""
        mode = then(self.line("Seccomp"), lambda text: _SECCOMP[text])
        filters = self.line("Seccomp_filters")
        return mode if mode != "filter" or isinstance(filters, Gap) else f"filter x {filters}"


def policy(number: int) -> Seen[str]:
    return _POLICIES.get(number) or Gap("failed", f"unknown scheduling policy {number}")


def autogroup_nice(host: Host, pid: int) -> Seen[int]:
    """`/autogroup-12 nice 0`."""
    text = host.line(f"/proc/{pid}/autogroup")
    if isinstance(text, Gap) and text.code == "absent":
        return Gap("unsupported", "this kernel has no autogroups")
    return then(text, lambda line: int(line.rpartition(" nice ")[2]) if line else Gap("absent", "in no autogroup"))


def limits(host: Host, pid: int) -> Seen[Map[Seen[tuple[Limit, Limit]]]]:
    return then(host.text(f"/proc/{pid}/limits"), _limits)


def _limits(text: str) -> Map[Seen[tuple[Limit, Limit]]]:
    rows: dict[str, Seen[tuple[Limit, Limit]]] = {}
    for line in text.splitlines()[1:]:
        label, (soft, hard, *_) = line[:_LABEL].rstrip(), line[_LABEL:].split()
        rows[_LIMITS.get(label, label)] = (_limit(soft), _limit(hard))
    return Map(rows)


def _limit(word: str) -> Limit:
    return "unlimited" if word == "unlimited" else int(word)
