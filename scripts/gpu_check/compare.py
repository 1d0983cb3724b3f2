"""What nvidia-smi printed against what NVML answered, before and after it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from fingerprint.sections import Leaf, leaves
from probes.kit.facts import NOT_READ, Gap, Section

Verdict = Literal["equal", "within", "moved", "not comparable", "different"]
Names = tuple[str, ...]

ROUNDED: Mapping[str, int] = {"B": 1 << 20, "mW": 10}
"""nvidia-smi prints MiB, and hundredths of W."""
TOLERANCE: Mapping[str, int] = {"mW": 20_000, "C": 3, "MHz": 60, "%": 20, "B": 64 << 20, "us": 1_000_000}
"""For what moves, beyond the lower and the higher of both readings."""
UNSUPPORTED = Gap("unsupported")
UNKNOWN_HERE = ("not_observable", "settling", "asleep")
NAMES = ("uuid", "serial", "chassis_serial_number", "cluster_uuid")
"""Of a unit: told to be equal or different, and not shown."""


class Row(NamedTuple):
    """One fact that nvidia-smi tells."""

    path: str
    verdict: Verdict
    unit: str
    printed: Any
    before: Any
    after: Any


def compared(
    area: str, imported: Section, before: Section, after: Section, ahead: frozenset[str] = frozenset()
) -> Iterator[Row]:
    """ahead: facts of a GPU that NVML need not tell."""
    first, second = _values(before), _values(after)
    for leaf in leaves(imported):
        both = first.get(leaf.names, NOT_READ), second.get(leaf.names, NOT_READ)
        verdict = _verdict(leaf, *both)
        if verdict == "different" and both == (UNSUPPORTED, UNSUPPORTED) and "/".join(leaf.names[1:]) in ahead:
            verdict = "not comparable"
        yield Row("/".join((area, *leaf.names)), verdict, leaf.fact.unit, leaf.value, *both)


def best(attempts: Iterable[Iterable[Row]]) -> list[Row]:
    """Of several attempts, for each fact the one that speaks best for it: what differs once may have moved."""
    order: list[Verdict] = ["equal", "within", "moved", "not comparable", "different"]
    found: dict[str, Row] = {}
    for rows in attempts:
        for row in rows:
            known = found.get(row.path)
            if known is None or order.index(row.verdict) < order.index(known.verdict):
                found[row.path] = row
    return list(found.values())


def _values(section: Section) -> Mapping[Names, Any]:
    return {leaf.names: leaf.value for leaf in leaves(section)}


def _verdict(leaf: Leaf, before: Any, after: Any) -> Verdict:
    printed = leaf.value
    if printed in (before, after):
        return "equal"
    if isinstance(before, Gap) and before.code in UNKNOWN_HERE:
        return "not comparable"
    if all(type(value) is int for value in (printed, before, after)) and _is_near(leaf, printed, before, after):
        return "within"
    return "moved" if _moves(leaf) and before != after else "different"


def _is_near(leaf: Leaf, printed: int, *readings: int) -> bool:
    slack = ROUNDED.get(leaf.fact.unit, 0)
    if _moves(leaf):
        slack += TOLERANCE.get(leaf.fact.unit, 0)
    return min(readings) - slack <= printed <= max(readings) + slack


def _moves(leaf: Leaf) -> bool:
    return not leaf.fact.lasting
