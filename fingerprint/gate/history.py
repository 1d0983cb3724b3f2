"""What a host never reached, as far as its kept snapshots tell, it is not expected to reach today.

A slot that is wired for 8 lanes holds a board for 16 to 8 of them for good: that is worth a note, and no failure.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from fingerprint.gate.contract import Check
from fingerprint.gate.expectation import Expectation
from fingerprint.gate.judge import wrong
from fingerprint.gate.live import Live
from fingerprint.snapshot import Snapshot

ENOUGH = 3
"""Readings that have to say so: one bad day is no nature."""


def by_nature(rule: Expectation, checks: Sequence[Check], live: Live, earlier: Iterable[Snapshot]) -> Iterator[Check]:
    """The checks of one rule, those of what never was right as notes."""
    found = [wrong(rule, Live(snapshot.readings)) for snapshot in earlier]
    told = [paths for paths in found if paths is not None]
    now = wrong(rule, live) or frozenset()
    never = len(told) >= ENOUGH and all(now <= paths for paths in told)
    for check in checks:
        if never and check.state in ("failed", "warned"):
            says = f"{check.says}; in {len(told)} kept readings of this host it never was"
            yield replace(check, state="out_of_scope", stops=False, restore="", says=says)
        else:
            yield check
