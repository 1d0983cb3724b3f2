"""What shows that a suspect was at work, beyond the limits that `binding` knows."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fingerprint.diff.changes import Folded
from fingerprint.explain.binding import bound
from fingerprint.explain.contract import Evidence
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.observed import Observed


def shown(
    change: Folded, rules: Sequence[Rule], seen: Mapping[str, Observed], harmed: str = ""
) -> tuple[Evidence, ...]:
    """What the rules say that it shows in, where that was seen in the worse run. Where it was not, nothing follows."""
    return bound(
        change, [replace(rule, binds=rule.shows) for rule in rules if rule.shows], seen, harmed=harmed
    ).evidence
