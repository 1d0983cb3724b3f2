"""What a kernel's log counts, as growth: before its first line it had counted nothing."""

from typing import Any, TypeVar

import msgspec

from probes.kit.facts import Gap, Map, Section

S = TypeVar("S", bound=Section)


def uncounted(section: S) -> S:
    """With each counter that has a value at 0."""
    changes = {field: _uncounted(section, field) for field in section.__struct_fields__}
    return msgspec.structs.replace(section, **changes)


def _uncounted(section: Section, field: str) -> Any:
    value = getattr(section, field)
    if isinstance(value, Section):
        return uncounted(value)
    return _of(value, counts=section.__facts__[field].kind == "counter")


def _of(value: Any, *, counts: bool) -> Any:
    if isinstance(value, Section):
        return uncounted(value)
    if isinstance(value, Map):
        return Map({key: _of(item, counts=counts) for key, item in value.items.items()})
    return 0 if counts and not isinstance(value, Gap) else value
