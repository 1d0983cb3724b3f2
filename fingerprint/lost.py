"""A device that was lost is one thing to tell, not each of its facts."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fingerprint.sections import is_one_collection, seen
from fingerprint.walk import Difference, Names, value_at
from probes.kit.facts import Fact, Gap, Section

LEAST = 3
"""Facts at least; and more than half of those that were seen of the item."""


def told_whole(found: Sequence[Difference], a: Section, b: Section) -> tuple[list[Difference], list[Names]]:
    """Differences, where each item of which most was lost, or came back, is a single one; and the names of these items.

    The item stands on the side that has it, Gap("lost") on the other.
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
    """Whether it is that of an item that was lost, or came back."""
    return d.pattern[-1:] == (None,) and (_is_lost(d.before) or _is_lost(d.after))


def is_below(names: Names, items: Sequence[Names]) -> bool:
    return any(names[: len(item)] == item for item in items)


def _item(d: Difference) -> Names:
    """Names up to the outermost key of what stands inside an item; none for what does not."""
    end = d.pattern.index(None) + 1 if None in d.pattern else 0
    return d.names[:end] if end < len(d.names) else ()


def _whole(names: Names, group: Sequence[Difference], a: Section, b: Section) -> Difference | None:
    gone = [d.before for d in group if _is_lost(d.after) and not isinstance(d.before, Gap)]
    back = [d.after for d in group if _is_lost(d.before) and not isinstance(d.after, Gap)]
    pattern = group[0].pattern[: len(names)]
    if _is_most(gone, value_at(a, names)):
        return Difference(names, pattern, _collection(a, names), value_at(a, names), Gap("lost"), names[-1])
    if _is_most(back, value_at(b, names)):
        return Difference(names, pattern, _collection(b, names), Gap("lost"), value_at(b, names), names[-1])
    return None


def _is_lost(value: Any) -> bool:
    return isinstance(value, Gap) and value.code == "lost"


def _is_most(values: Sequence[Any], item: Section) -> bool:
    return len(values) >= LEAST and 2 * sum(map(seen, values)) > seen(item)


def _collection(section: Section, names: Names) -> Fact:
    """The fact of the collection that an item of these names stands in."""
    at: Any = section
    whole = (*section.__struct_fields__, *names) if is_one_collection(type(section)) else names
    for name in whole[:-2]:
        at = getattr(at, name)
    fact: Fact = at.__facts__[whole[-2]]
    return fact
