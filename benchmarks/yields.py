"""How much is read: distinct declared facts that have a value, instances not counted."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.timing import Program, output
from fingerprint.catalog import find
from fingerprint.sections import leaves
from probes.kit.facts import Gap
from probes.kit.paths import FactPath
from probes.kit.probe import discover


def of_fingerprint(program: Program) -> int:
    """Of `fingerprint snapshot --format json`."""
    snapshot = json.loads(output(program))
    found: set[str] = set()
    for key, reading in snapshot["sections"].items():
        found.update(fact.path for path in _seen(key, reading.get("facts")) for fact in find(str(path)))
    return len(found)


def _seen(key: str, facts: Any) -> Iterator[FactPath]:
    area, _, target = key.partition("/")
    if facts is None:
        return
    section = msgspec.convert(facts, discover([area])[area].section)
    head = (area, target) if target else (area,)
    for leaf in leaves(section):
        if not isinstance(leaf.value, Gap):
            yield FactPath((*head, *leaf.names))


def of_ceteris(program: Program) -> int:
    """Of `ceteris capture`: each field has a state `s`, one of value, not_applicable, unknown ..."""
    return sum(field["s"] == "value" for field in json.loads(output(program))["fields"].values())
