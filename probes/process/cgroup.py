"""What the control group of a process and its ancestors allow."""

from collections.abc import Callable

from probes.kit.cgroups import Groups, groups, memberships
from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.process.sections import Bound, Cgroup

_HIGHEST = 1 << 62  # v1 writes "no limit" as PAGE_COUNTER_MAX pages: 2^63 less a page

# Parts of a cgroup's path that are new at each login, start or job, and what is written for them: UUIDs of pods
# and terminals; containers of docker, containerd, CRI-O and podman; systemd-run's units (run-r1f2.scope,
# run-p12-i34.scope); logind's sessions; desktop scopes, which end in a pid; services that a socket starts for
# each connection (ssh@3-192.0.2.1:22-192.0.2.2:51234.service); Slurm's jobs.
_VOLATILE = tuple(
    (lazy_regex(pattern), stand_in)
    for pattern, stand_in in (
        (r"[0-9a-f]{8}([-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}", "ID"),
        (r"(?<![0-9a-z])[0-9a-f]{32,64}(?![0-9a-z])", "ID"),
        (r"\brun-[pru]?[0-9a-f]+(-i?\d+)?(?=\.(scope|service))", "run-N"),
        (r"\bsession-c?\d+(?=\.scope)", "session-N"),
        (r"-\d+(?=\.scope)", "-N"),
        (r"@\d+-\S+:\d+-\S+:\d+(?=\.service)", "@N"),
        (r"\b(job_|step_|task_)\w+", r"\1N"),
    )
)


def cgroup(host: Host, pid: int) -> Cgroup:
    joined = memberships(host, pid)
    cpu, cpuset, memory, pids = (groups(host, joined, name) for name in ("cpu", "cpuset", "memory", "pids"))
    return Cgroup(
        path=then(joined, lambda paths: Map({name: normal(path) for name, path in sorted(paths.items())})),
        cpu_max=then(cpu, lambda at: _cpu_max(host, at)),
        cpu_weight=then(cpu, lambda at: _weights(host, at)),
        cpuset_cpus=then(cpuset, lambda at: _nearest(host, at, ("cpuset.cpus.effective", "cpuset.effective_cpus"))),
        cpuset_mems=then(cpuset, lambda at: _nearest(host, at, ("cpuset.mems.effective", "cpuset.effective_mems"))),
        memory_max=then(memory, lambda at: _tightest(host, at, ("memory.max", "memory.limit_in_bytes"))),
        memory_high=then(memory, lambda at: _tightest(host, at, ("memory.high", ""))),
        memory_swap_max=then(memory, lambda at: _swap_max(host, at)),
        pids_max=then(pids, lambda at: _tightest(host, at, ("pids.max", "pids.max"))),
    )


def normal(path: str) -> str:
    """The path with what changes at each login, start or job written N or ID."""
    for pattern, stand_in in _VOLATILE:
        path = pattern.sub(stand_in, path)
    return path


def over(host: Host, at: Groups, name: str, read: Callable[[str], int | None]) -> Seen[list[int]]:
    """`name` in each folder that has it, own first; None from `read` is no limit. A denied file is the answer."""
    values = []
    for folder in at.folders:
        seen = then(host.line(f"{folder}/{name}"), read)
        if isinstance(seen, Gap) and seen.code not in ("absent", "not_read"):
            return seen
        if isinstance(seen, int):
            values.append(seen)
    return values


def _bound(text: str) -> int | None:
    return None if text == "max" or int(text) >= _HIGHEST else int(text)


def _tightest(host: Host, at: Groups, names: tuple[str, str]) -> Seen[Bound]:
    """The least over the group and its ancestors; names: the file in v2 and in v1, where an empty one is none."""
    name = names[0] if at.version == 2 else names[1]
    if not name:
        return Gap("unsupported", "cgroup v1 has no such limit")
    return then(over(host, at, name, _bound), lambda bounds: min(bounds, default="max"))


def _cpu_max(host: Host, at: Groups) -> Seen[str]:
    """The quota and period that allow the least CPU time, as cpu.max has them; `max` without any quota."""
    pairs = [_quota(host, at.version, folder) for folder in at.folders]
    refused = next((pair for pair in pairs if isinstance(pair, Gap) and pair.code not in ("absent", "not_read")), None)
    if refused:
        return refused
    quotas = [pair for pair in pairs if not isinstance(pair, Gap) and pair[0] > 0]
    quota, period = min(quotas, key=lambda pair: pair[0] / pair[1], default=(0, 0))
    return f"{quota} {period}" if quota else "max"


def _quota(host: Host, version: int, folder: str) -> Seen[tuple[int, int]]:
    """Quota and period in us; a quota that is not positive is none."""
    if version == 1:
        period = host.number(f"{folder}/cpu.cfs_period_us")
        return then(period, lambda us: then(host.number(f"{folder}/cpu.cfs_quota_us"), lambda quota: (quota, us)))
    return then(host.line(f"{folder}/cpu.max"), _quota_of)


def _quota_of(text: str) -> tuple[int, int]:
    quota, period = text.split()
    return (0 if quota == "max" else int(quota)), int(period)


def _weights(host: Host, at: Groups) -> Seen[tuple[int, ...]]:
    name, usual = ("cpu.weight", 100) if at.version == 2 else ("cpu.shares", 1024)
    seen = over(host, at, name, int)
    return then(seen, lambda weights: tuple(weight for weight in reversed(weights) if weight != usual))


def _nearest(host: Host, at: Groups, names: tuple[str, str]) -> Seen[str]:
    """The list of the closest group that has one: the kernel already took the ancestors into account."""
    for folder in at.folders:
        seen = host.line(f"{folder}/{names[0] if at.version == 2 else names[1]}")
        if seen and not (isinstance(seen, Gap) and seen.code in ("absent", "not_read")):
            return seen
    return Gap("absent", "no cpuset governs this process")


def _swap_max(host: Host, at: Groups) -> Seen[Bound]:
    if at.version == 2:
        return _tightest(host, at, ("memory.swap.max", ""))
    both = over(host, at, "memory.memsw.limit_in_bytes", _bound)
    memory = _tightest(host, at, ("", "memory.limit_in_bytes"))
    if isinstance(both, Gap):
        return both
    if isinstance(memory, Gap) or memory == "max":
        return memory if isinstance(memory, Gap) else "max"
    return min(both) - memory if both else "max"
