"""A device that was lost, or that nobody could ask, is one thing to tell, not each of its facts."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from fingerprint.sections import is_one_collection, seen
from fingerprint.walk import Difference, Names, value_at
from probes.kit.facts import Fact, Gap, GapCode, Section

LEAST = 3
"""Facts at least; and more than half of those that were seen of the item."""
GONE: tuple[GapCode, ...] = ("absent", "lost")
OF_THE_WHOLE: tuple[GapCode, ...] = (*GONE, "asleep", "denied", "failed", "timed_out", "settling")
"""Gaps that a device as a whole may have. What is unsupported, say, is so of one fact alone."""


def told_whole(found: Sequence[Difference], a: Section, b: Section) -> tuple[list[Difference], list[Names]]:
    """Differences, where each item of which most went for one reason, or came back, is a single one; and the names of
    these items.

    The item stands on the side that has it, the gap on the other.
    """
    by_item: dict[Names, list[Difference]] = defaultdict(list)
    for d in found:
        by_item[_item(d)].append(d)
    told: list[Difference] = []
    items: list[Names] = []
    for names, group in by_item.items():
        whole = _whole(names, group, a, b) if names else None
        told += [whole] if whole else group
        items += [names] if whole else []
    return told, items


def is_whole(d: Difference) -> bool:
    """Whether it is that of an item that went as a whole, or came back."""
    return d.pattern[-1:] == (None,) and (_is_of_the_whole(d.before) or _is_of_the_whole(d.after))


def went_dark(d: Difference) -> bool:
    """Whether the item may well be there still, though nobody could read it on one side."""
    return is_whole(d) and not any(isinstance(side, Gap) and side.code in GONE for side in (d.before, d.after))


def is_below(names: Names, items: Sequence[Names]) -> bool:
    return any(names[: len(item)] == item for item in items)


def _item(d: Difference) -> Names:
    """Names up to the outermost key of what stands inside an item; none for what does not."""
    end = d.pattern.index(None) + 1 if None in d.pattern else 0
    return d.names[:end] if end < len(d.names) else ()


def _whole(names: Names, group: Sequence[Difference], a: Section, b: Section) -> Difference | None:
    pattern = group[0].pattern[: len(names)]
    if gone := _most([(d.before, d.after) for d in group], value_at(a, names)):
        return Difference(names, pattern, _collection(a, names), value_at(a, names), gone, names[-1])
    if back := _most([(d.after, d.before) for d in group], value_at(b, names)):
        return Difference(names, pattern, _collection(b, names), back, value_at(b, names), names[-1])
    return None


def _most(sides: Sequence[tuple[Any, Any]], item: Any) -> Gap | None:
    """The gap for which most of an item is missing on the other side. sides: what it has, and the other."""
    gaps = [(value, other) for value, other in sides if _is_of_the_whole(other) and not isinstance(value, Gap)]
    codes = Counter(gap for _, gap in gaps)
    gap = codes.most_common(1)[0][0] if codes else None
    values = [value for value, other in gaps if other == gap]
    return gap if len(values) >= LEAST and 2 * sum(map(seen, values)) > seen(item) else None


def _is_of_the_whole(value: Any) -> bool:
    return isinstance(value, Gap) and value.code in OF_THE_WHOLE


def _collection(section: Section, names: Names) -> Fact:
    """The fact of the collection that an item of these names stands in."""
    at: Any = section
    whole = (*section.__struct_fields__, *names) if is_one_collection(type(section)) else names
    for name in whole[:-2]:
        at = getattr(at, name)
    fact: Fact = at.__facts__[whole[-2]]
    return fact
