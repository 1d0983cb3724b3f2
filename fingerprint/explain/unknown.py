"""What was ruled out, and what is not known with what to do about it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fingerprint.diff.changes import Changes, NotKnown
from fingerprint.explain.contract import Group, RuledOut, Unknown
from probes.kit.paths import FactPath

# Remedy by gap code or outcome; the first that either side has counts.
REMEDIES = {
    "denied": "read it as root",
    "timed_out": "the read was given up: raise budget_s, or look at what hangs",
    "failed": "fingerprint doctor says what went wrong",
    "skipped": "the budget was spent before its turn: raise budget_s",
    "lost": "the device is gone: look at the kernel log",
    "settling": "take a snapshot a few minutes after boot",
    "asleep": "reading would have woken it: read it under load",
    "not_read": "one run did not look: run it again with this release",
    "not_observable": "no interface tells it",
    "retired": "this kernel or driver no longer reports it",
    "unsupported": "this part or kernel has no such value",
    "absent": "not there in either",
}
NAMED = 3


def ruled_out(changes: Changes) -> RuledOut:
    groups = tuple(
        Group(title=area, facts=count, says="seen equal in both")
        for area, count in sorted(changes.ruled_out.items(), key=lambda item: (-item[1], item[0]))
    )
    return RuledOut(count=sum(changes.ruled_out.values()), groups=groups)


def not_known(changes: Changes) -> tuple[Unknown, ...]:
    """One line a section and reason, what could have been known first."""
    alike: dict[tuple[str, str, str, str], list[NotKnown]] = defaultdict(list)
    for unknown in changes.not_known:
        alike[str(unknown.key), unknown.a, unknown.b, unknown.detail if not unknown.names else ""].append(unknown)
    order = list(REMEDIES)
    lines = [(order.index(_reason(group[0], order)), _line(group)) for group in alike.values()]
    return tuple(line for _, line in sorted(lines, key=lambda pair: (pair[0], pair[1].fact)))


def _reason(unknown: NotKnown, order: Sequence[str]) -> str:
    return next((code for code in order if code in (unknown.a, unknown.b)), "not_read")


def _line(group: Sequence[NotKnown]) -> Unknown:
    first = group[0]
    says = first.detail or REMEDIES.get(_reason(first, list(REMEDIES)), "")
    if len(group) == 1:
        return Unknown(fact=str(first.key.path(first.names)), a=first.a, b=first.b, says=says)
    below = _common([unknown.names for unknown in group])
    some = ", ".join(str(FactPath(unknown.names[len(below) :])) for unknown in group[:NAMED])
    more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
    return Unknown(fact=f"{first.key.path(below)}/**", a=first.a, b=first.b, says=f"{some}{more}: {says}")


def _common(names: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The longest beginning that all share and none is."""
    shortest = min(map(len, names)) - 1
    until = next((i for i in range(shortest) if len({n[i] for n in names}) > 1), max(shortest, 0))
    return names[0][:until]


def denied(unknown: Sequence[Unknown]) -> Mapping[str, int]:
    """Lines by the reason that a remedy exists for."""
    found: dict[str, int] = defaultdict(int)
    for line in unknown:
        for code in {line.a, line.b} & {"denied", "timed_out", "failed", "skipped", "not_read"}:
            found[code] += 1
    return found
