"""Variables that differ where they should not: between the ranks of a role, and between the launcher and them.

/proc/PID/environ is what a process was started with. So a variable that an engine sets in itself shows in the processes
that it starts anew and in none that it forks, and what a forked one changes shows nowhere; but of a worker with a title
it is what that has now (probes/kit/environs.py).
"""

from collections.abc import Iterator, Mapping, Sequence

from fingerprint.findings.finding import Finding, Rule, named, plain, spoken, worded
from fingerprint.findings.seats import (
    BY_RANK,
    Group,
    below_launchers,
    each_its_own,
    groups,
    partition,
    paths,
    variables,
)
from fingerprint.findings.state import State
from probes.kit.facts import Gap
from probes.process.sections import Process

NOT_SET = Gap("absent")
Environments = Mapping[str, Mapping[str, object]]


def of_processes(state: State) -> Iterator[Finding]:
    processes = state.sections("process", Process)
    known = {target: it for target, it in processes.items() if not isinstance(it.env, Gap)}
    environments = {target: variables(it) for target, it in known.items()}
    roles = groups(known)
    told = [finding for server in below_launchers(roles) for finding in _on_the_way(server, environments)]
    yield from told
    lost = {(finding.about, target) for finding in told for target in finding.values}
    for role in roles:
        found = _between(role, environments)
        yield from (it for it in found if not any((it.about, target) in lost for target in it.values))


def _between(group: Group, environments: Environments) -> Iterator[Finding]:
    for name in _names(group, environments):
        values = group.of(_values(name, environments))
        parts = partition(values)
        if parts and not each_its_own(parts):
            yield _finding("variable-unlike-other-ranks", name, group, environments, f"{name} is {spoken(parts)}.")


def _values(name: str, environments: Environments) -> Mapping[str, object]:
    """By target, where it is known."""
    values = {target: held.get(name, NOT_SET) for target, held in environments.items()}
    return {target: value for target, value in values.items() if value is NOT_SET or not isinstance(value, Gap)}


def _names(group: Group, environments: Environments) -> Sequence[str]:
    held = {name for seat in group.seats for name in environments.get(seat.target, ())}
    return sorted(held - BY_RANK)


def _on_the_way(group: Group, environments: Environments) -> Iterator[Finding]:
    """From the launcher: what ranks lack, or have otherwise. What differs from rank to rank as well is told here."""
    for name, value in sorted(environments.get(group.launcher, {}).items()):
        values = group.of(_values(name, environments))
        lacking = [seat.label for seat, there in values.items() if there is NOT_SET]
        others = {seat: there for seat, there in values.items() if there is not NOT_SET and there != value}
        if name in BY_RANK or each_its_own(partition(others)):
            continue
        if lacking:
            says = f"{group.launcher} has {name}={worded(value)}, and {_all(lacking, len(values))} without it."
            yield _finding("variable-lost-on-the-way", name, group, environments, says)
        elif others:
            parts = partition(others) or [(next(iter(others.values())), [seat.label for seat in others])]
            says = f"{group.launcher} has {name}={worded(value)}; it is {spoken(parts)}."
            yield _finding("variable-changed-on-the-way", name, group, environments, says)


def _all(lacking: Sequence[str], among: int) -> str:
    if 1 < len(lacking) == among:
        return f"all {among} processes below it are"
    return f"{named(lacking)} {'is' if len(lacking) == 1 else 'are'}"


def _finding(rule: Rule, name: str, group: Group, environments: Environments, says: str) -> Finding:
    targets = [*([group.launcher] if rule != "variable-unlike-other-ranks" else []), *(s.target for s in group.seats)]
    return Finding(
        rule=rule,
        about=name,
        facts=paths("process", targets, "env", name),
        values={target: plain(environments.get(target, {}).get(name, NOT_SET)) for target in targets},
        says=says,
        do=f"Set {name} once, where the launcher is started, and see that what starts the ranks hands it on (a start "
        f"script, Ray's runtime_env, mpirun -x, sudo and su drop variables); then start the server again.",
    )
