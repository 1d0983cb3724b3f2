"""What stored sections tell, as far as it is looked at: gaps, what is private and maps as they are stored."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from fingerprint.runs.effective import Effective
from fingerprint.snapshot import Key

T = TypeVar("T")


class Items(msgspec.Struct, frozen=True):
    """A map; a gap has no items."""

    items: Mapping[str, Any] = {}


def section_of(state: Effective, key: Key, told: type[T]) -> T | None:
    """None where it was not read."""
    standing = state.sections.get(key)
    return msgspec.json.decode(standing.blob.body, type=told) if standing and standing.blob else None


def sections_of(state: Effective, area: str, told: type[T]) -> Iterator[T | None]:
    """Of each process that has such a section."""
    return (section_of(state, key, told) for key in state.sections if key.area == area)
