"""A row judged by what is on record without it: the incident that a row is of is among those that its rule counts."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from benchmarks.incidents.rows import Incident
from fingerprint.explain import weights
from fingerprint.explain.mechanisms import rules_of
from fingerprint.explain.mechanisms.graph import Rule
from probes.kit.paths import parse_path


@contextmanager
def left_out(row: Incident) -> Iterator[None]:
    """Each rule that sees what the row is about counts one incident less."""
    own = {
        rule.name for path in row.trigger for rule in rules_of(parse_path(path.replace("#0", "_").replace("*", "_")))
    }
    whole = weights.on_record

    def on_record(rule: Rule) -> Rule:
        if rule.name not in own or not rule.confirmed:
            return rule
        return msgspec.structs.replace(rule, confirmed=rule.confirmed - 1)

    weights.on_record = on_record
    try:
        yield
    finally:
        weights.on_record = whole
