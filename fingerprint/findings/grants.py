"""What the kernel grants one rank and not the others: CPUs, scheduling, limits, control groups, memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fingerprint.findings.finding import Finding, Rule, named, plain, spoken
from fingerprint.findings.seats import Group, Seat, each_its_own, groups, one_alone, partition, paths
from fingerprint.findings.state import State
from fingerprint.walk import Names, value_at
from probes.kit.facts import Gap, Map, Section
from probes.kit.parse import cpu_list
from probes.process.sections import Process

Parts = Sequence[tuple[Any, Sequence[str]]]

ALIKE: tuple[Names, ...] = (
    ("nice",),
    ("policy",),
    ("rt_priority",),
    ("io_priority",),
    ("timer_slack",),
    ("thp_enabled",),
    ("personality",),
    ("cgroup", "cpu_max"),
    ("cgroup", "cpu_weight"),
    ("cgroup", "memory_max"),
    ("cgroup", "memory_high"),
    ("cgroup", "memory_swap_max"),
    ("cgroup", "pids_max"),
)
"""What no launcher gives one rank alone."""
BOUND: tuple[Names, ...] = (("affinity",), ("mems_allowed",), ("cgroup", "cpuset_cpus"), ("cgroup", "cpuset_mems"))
"""What binding ranks to the sockets of their GPUs sets on purpose."""
PLACED: tuple[Names, ...] = (("memory", "policies"), ("memory", "node"))
"""Likewise, of memory."""
_CPUS = (("affinity",), ("cgroup", "cpuset_cpus"))


def of_processes(state: State) -> Iterator[Finding]:
    processes = state.sections("process", Process)
    for group in groups(processes):
        yield from _alike(group, processes, ALIKE, _differs)
        yield from _alike(group, processes, [("limits", name) for name in _limits(processes)], _differs)
        yield from _alike(group, processes, BOUND, one_alone)
        yield from _fewer_cpus(group, processes)


def of_memory(state: State) -> Iterator[Finding]:
    from probes.mapped.sections import Mapped

    mapped = state.sections("mapped", Mapped)
    for group in groups(state.sections("process", Process)):
        yield from _alike(group, mapped, PLACED, one_alone, "mapped", "memory-unlike-other-ranks")
        yield from _alike(group, mapped, [("preloaded",)], _differs, "mapped", "library-unlike-other-ranks")


def _differs(parts: Parts) -> bool:
    return bool(parts) and not each_its_own(parts)


def _limits(processes: Mapping[str, Process]) -> Sequence[str]:
    held = (it.limits.items for it in processes.values() if not isinstance(it.limits, Gap))
    return sorted({name for limits in held for name in limits})


def _alike(
    group: Group,
    sections: Mapping[str, Section],
    facts: Sequence[Names],
    tells: Callable[[Parts], bool],
    area: str = "process",
    rule: Rule = "granted-unlike-other-ranks",
) -> Iterator[Finding]:
    for names in facts:
        values = group.of(_seen(sections, names))
        parts = partition(values)
        if tells(parts):
            yield _finding(rule, area, names, values, f"{' '.join(names)} is {spoken(parts)}.")


def _fewer_cpus(group: Group, processes: Mapping[str, Process]) -> Iterator[Finding]:
    """Each rank may be bound to CPUs of its own; their number is one all the same."""
    for names in _CPUS:
        values = group.of(_seen(processes, names))
        counts = partition({seat: len(cpu_list(cpus)) for seat, cpus in values.items()})
        if one_alone(counts) and not one_alone(partition(values)):
            (few, alone), (usual, _) = counts
            says = f"{named(alone)} may run on {few} CPU{'s' * (few > 1)} and each other rank on {usual}."
            yield _finding("granted-unlike-other-ranks", "process", names, values, says)


def _seen(sections: Mapping[str, Section], names: Names) -> Mapping[str, Any]:
    values = {target: value_at(section, names) for target, section in sections.items()}
    return {target: value for target, value in values.items() if not isinstance(value, (Gap, Map))}


def _finding(rule: Rule, area: str, names: Names, values: Mapping[Seat, Any], says: str) -> Finding:
    return Finding(
        rule=rule,
        about="/".join(names),
        facts=paths(area, (seat.target for seat in values), *names),
        values={seat.target: plain(value) for seat, value in values.items()},
        says=says,
        do="See what gives this rank another one (numactl, taskset, a wrapper of one rank, a systemd unit, another "
        "pod), start all ranks alike and run again.",
    )
