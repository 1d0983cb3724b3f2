"""What was ruled out, and what is not known with what to do about it."""

from fingerprint.diff.changes import Changes, NotKnown
from fingerprint.explain.contract import Group, RuledOut, Unknown

# Remedy by gap code or outcome; the first that either side has counts.
REMEDIES = {
    "denied": "read it as root",
    "timed_out": "the read was given up: raise budget_s, or look at what hangs",
    "failed": "fingerprint doctor says what went wrong",
    "skipped": "the budget was spent before its turn: raise budget_s",
    "lost": "the device is gone: look at the kernel log",
    "settling": "take a snapshot a few minutes after boot",
    "asleep": "reading would have woken it: read it under load",
    "not_read": "one run did not look: its release or its settings had it not, or its command had ended",
    "not_observable": "no interface tells it",
    "retired": "this kernel or driver no longer reports it",
    "unsupported": "this part or kernel has no such value",
    "absent": "there on one side, and not to be read on the other",
}


def ruled_out(changes: Changes) -> RuledOut:
    groups = tuple(
        Group(title=area, facts=count, says="seen equal in both")
        for area, count in sorted(changes.ruled_out.items(), key=lambda item: (-item[1], item[0]))
    )
    absent = tuple(sorted(str(u.key.path(u.names)) for u in changes.not_known if _in_neither(u)))
    return RuledOut(count=sum(changes.ruled_out.values()), groups=groups, absent=absent)


def not_known(changes: Changes) -> tuple[Unknown, ...]:
    """What could have been known first."""
    order = list(REMEDIES)
    unknown = (u for u in changes.not_known if not _in_neither(u))
    found = sorted(unknown, key=lambda u: (order.index(_reason(u)), str(u.key), u.names))
    return tuple(_line(unknown) for unknown in found)


def unread(changes: Changes) -> tuple[str, ...]:
    """Sections that were not read whole in both."""
    return tuple(str(unknown.key.path(())) for unknown in changes.not_known if not unknown.names)


def _in_neither(unknown: NotKnown) -> bool:
    """That nothing is there is known on both sides."""
    return bool(unknown.names) and unknown.a == unknown.b == "absent"


def _reason(unknown: NotKnown) -> str:
    return next((code for code in REMEDIES if code in (unknown.a, unknown.b)), "not_read")


def _line(unknown: NotKnown) -> Unknown:
    """A fact's own detail names a file or an error; of a section it is all there is."""
    says = unknown.detail if not unknown.names else ""
    fact = str(unknown.key.path(unknown.names))
    return Unknown(fact=fact, a=unknown.a, b=unknown.b, says=says or REMEDIES[_reason(unknown)])
