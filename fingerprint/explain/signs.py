"""What shows that a suspect was at work, or could not be, beyond the limits that `binding` knows."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fingerprint.diff.changes import Folded
from fingerprint.explain.binding import bound
from fingerprint.explain.contract import Evidence
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.observed import Observed
from probes.kit.paths import parse_path


def shown(change: Folded, rules: Sequence[Rule], seen: Mapping[str, Observed]) -> tuple[Evidence, ...]:
    """What the rules say that it shows in, where that was seen. Where it was not, nothing follows."""
    return bound(change, [replace(rule, binds=rule.shows) for rule in rules if rule.shows], seen).evidence


def is_alone(rules: Sequence[Rule], seen: Mapping[str, Observed]) -> bool:
    """Whether it is about what GPUs say to each other, by the rule that knows it best, and one GPU was sampled in both
    runs: that may still have worked with others over a network, which nobody sees. None at all: not known."""
    if not rules or not rules[0].between:
        return False
    return len({parse_path(path)[1] for path in seen if path.startswith("gpu/")}) == 1
