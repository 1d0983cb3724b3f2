"""Facts put into sections: by paths with `*` and `#0`, into sections as plain JSON values."""

from collections.abc import Iterator, MutableMapping
from typing import Any, NamedTuple

from fingerprint.diff.known import probe_of, split
from fingerprint.places import facts_of, pattern_of
from fingerprint.snapshot import Key
from fingerprint.walk import Names
from probes.kit.facts import Section
from probes.kit.paths import FactPath

Plain = MutableMapping[str, Any]
Sections = MutableMapping[Key, Plain]
ABSENT = {"$": "gap", "code": "absent"}


class Place(NamedTuple):
    """key, names: of one fact of one section. path: of it."""

    key: Key
    names: Names

    @property
    def path(self) -> str:
        return str(self.key.path(self.names))


def places(sections: Sections, pattern: str) -> tuple[Place, ...]:
    """What a pattern stands for on this machine: nothing, where it has no such items."""
    key, names = split(FactPath(pattern.split("/")))
    if key not in sections:
        return ()
    return tuple(Place(key, found) for found in _expanded(sections[key], type_of(key), (), names))


def type_of(key: Key) -> type[Section]:
    probe = probe_of(key.area)
    if probe is None:
        raise LookupError(f"no probe reads area '{key.area}'")
    return probe.section


def _expanded(section: Plain, cls: type[Section], done: Names, rest: Names) -> Iterator[Names]:
    at = next((at for at, name in enumerate(rest) if name == "*" or name.startswith("#")), None)
    if at is None:
        yield (*done, *rest)
        return
    before, wanted, after = (*done, *rest[:at]), rest[at], rest[at + 1 :]
    keys = sorted(_held(section, cls, before))
    chosen = keys if wanted == "*" else keys[int(wanted[1:]) :][:1]
    for key in chosen:
        yield from _expanded(section, cls, (*before, key), after)


def value(sections: Sections, place: Place) -> Any:
    """None where there is none."""
    held = _held(sections[place.key], type_of(place.key), place.names[:-1])
    return held.get(place.names[-1])


def put(sections: Sections, place: Place, wanted: Any) -> None:
    """None takes an item out of its collection, and makes a fact `absent`."""
    cls = type_of(place.key)
    held = _held(sections[place.key], cls, place.names[:-1], make=True)
    if wanted is not None:
        held[place.names[-1]] = wanted
    elif _is_collection(cls, place.names[:-1]):
        held.pop(place.names[-1], None)
    else:
        held[place.names[-1]] = dict(ABSENT)


def _held(section: Plain, cls: type[Section], names: Names, *, make: bool = False) -> Plain:
    """What the names lead to: fields of a section by name, items of a collection by key."""
    found = _entered(section, cls.__struct_fields__[0], make) if _is_collection(cls, ()) else section
    for at, name in enumerate(names, 1):
        if _is_collection(cls, names[:at]):
            found = _entered(found, name, make)
        else:
            inner = found.get(name)
            found = found.setdefault(name, {}) if inner is None and make else inner if inner is not None else {}
    return found


def _entered(held: Plain, name: str, make: bool) -> Plain:
    """The items of a collection; one that was a gap is begun where it has to be made."""
    collection = held.get(name)
    if not isinstance(collection, dict) or collection.get("$") != "map":
        collection = {"$": "map", "items": {}}
        if make:
            held[name] = collection
    items: Plain = collection["items"]
    return items


def _is_collection(cls: type[Section], names: Names) -> bool:
    """Of sections or of values: a fact with names below it. A section has none of its own."""
    starred = tuple("*" if part is None else part for part in pattern_of(cls, names))
    return starred in facts_of(cls)
