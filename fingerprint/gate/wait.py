"""Waits for what becomes right by itself: GPUs that are busy, hot or joining the fabric, a host that is not quiet.

What somebody has to set, or to end, is not waited for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fingerprint.gate.contract import Check, Verdict
from fingerprint.gate.expectation import Expectation

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 5.0
"""Seconds between two looks: the second is half again as long, and so on."""


class Clock(NamedTuple):
    """now: seconds, of a clock that only goes on."""

    now: Callable[[], float]
    sleep: Callable[[float], None]


def settling(verdict: Verdict, rules: Sequence[Expectation]) -> Sequence[Check]:
    """The checks that are not right yet, if all that stops the gate may settle; none where waiting would not help."""
    may: Mapping[tuple[str, str], str] = {(rule.rule, rule.source): rule.settles for rule in rules}
    found = [check for check in verdict.checks if check.state in ("failed", "warned") or check.stops]
    waits = [check for check in found if may.get((check.rule, check.source))]
    return waits if all(check in waits for check in found if check.stops) else []


def wait(
    look: Callable[[], Verdict],
    rules: Sequence[Expectation],
    seconds: float,
    tell: Callable[[Sequence[Check], float], None],
    clock: Clock,
) -> tuple[Verdict, float]:
    """The last verdict, and how long it took. tell: what is waited for, and for how many seconds already."""
    began, pause = clock.now(), FIRST_PAUSE
    while True:
        verdict = look()
        waited = clock.now() - began
        waits = settling(verdict, rules)
        if not waits or waited >= seconds:
            return verdict, waited
        tell(waits, waited)
        clock.sleep(min(pause, seconds - waited))
        pause = min(1.5 * pause, LONGEST_PAUSE)
