"""What several dumps of one host tell, as one section of each area."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from fingerprint.imports.dump import Told
from fingerprint.sections import is_one_collection
from fingerprint.snapshot import Key
from fingerprint.walk import value_at
from probes.gpu import Gpu, Gpus
from probes.kit.facts import NOT_READ, Fact, Gap, Map, Section

S = TypeVar("S", bound=Section)


class Piece(NamedTuple):
    """A dump of one file. source: for people."""

    source: str
    told: Told


class Disagreement(NamedTuple):
    """A lasting fact that two dumps tell otherwise: which one stands."""

    path: str
    stands: Any
    of: str
    other: Any
    by: str

    def __str__(self) -> str:
        return f"{self.path}: {self.stands} of {self.of} stands, {self.by} says {self.other}"


class Joined(NamedTuple):
    sections: Mapping[Key, Section]
    disagreements: tuple[Disagreement, ...]


def joined(pieces: Sequence[Piece]) -> Joined:
    """pieces: those that are believed before others stand first."""
    slots = _slots(pieces)
    told: dict[Key, list[_Telling]] = {}
    found: dict[Key, Section] = {}
    unlike: list[Disagreement] = []
    for piece in pieces:
        for key, section in piece.told.sections.items():
            by = _Telling(piece.source, _under_slots(section, slots) if isinstance(section, Gpus) else section)
            earlier = told.setdefault(key, [])
            place = _Place(key, (), by.source, earlier, unlike)
            found[key] = _sections(found[key], by.section, place) if key in found else by.section
            earlier.append(by)
    return Joined(found, tuple(unlike))


class _Telling(NamedTuple):
    source: str
    section: Section


class _Place(NamedTuple):
    """earlier: what was joined before `by`, of which the first that tells a value is the one whose value stands."""

    key: Key
    names: tuple[str, ...]
    by: str
    earlier: Sequence[_Telling]
    unlike: list[Disagreement]

    def below(self, name: str) -> "_Place":
        return self._replace(names=(*self.names, name))

    def differs(self, stands: Any, other: Any) -> None:
        of = next(one.source for one in self.earlier if value_at(one.section, self.names) == stands)
        self.unlike.append(Disagreement(str(self.key.path(self.names)), stands, of, other, self.by))


def _sections(a: S, b: S, place: _Place) -> S:
    alone = not place.names and is_one_collection(type(a))
    changes = {
        field: _values(
            a.__facts__.get(field), getattr(a, field), getattr(b, field), place if alone else place.below(field)
        )
        for field in a.__struct_fields__
    }
    return msgspec.structs.replace(a, **changes)


def _values(fact: Fact | None, a: Any, b: Any, place: _Place) -> Any:
    """A value stands before a gap, and what is read before what is not; of two values the first."""
    if isinstance(a, Section) and isinstance(b, Section):
        return _sections(a, b, place)
    if isinstance(a, Map) and isinstance(b, Map):
        keys = dict.fromkeys((*a.items, *b.items))
        return Map({key: _items(fact, a.items.get(key), b.items.get(key), place.below(key)) for key in keys})
    if a == NOT_READ or (isinstance(a, Gap) and b != NOT_READ and not isinstance(b, Gap)):
        return b
    if fact and fact.lasting and a != b and not isinstance(a, Gap) and not isinstance(b, Gap):
        place.differs(a, b)
    return a


def _items(fact: Fact | None, a: Any, b: Any, place: _Place) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return _values(fact, a, b, place)


def _slots(pieces: Sequence[Piece]) -> Mapping[str, str]:
    """The key of a GPU of which a dump tells the number alone -> its address, as another dump tells it."""
    named = [(key, gpu) for piece in pieces for key, gpu in _gpus(piece)]
    by_unit = {gpu.uuid: key for key, gpu in named if ":" in key and isinstance(gpu.uuid, str)}
    by_index = {gpu.index: key for key, gpu in named if ":" in key and isinstance(gpu.index, int)}
    found: dict[str, str] = {}
    for key, gpu in named:
        address = by_unit.get(str(gpu.uuid)) or (by_index.get(gpu.index) if isinstance(gpu.index, int) else None)
        if ":" not in key and address:
            found[key] = address
    return found if len(set(found.values())) == len(found) else {}


def _gpus(piece: Piece) -> Iterator[tuple[str, Gpu]]:
    for section in piece.told.sections.values():
        if isinstance(section, Gpus) and isinstance(section.gpus, Map):
            yield from section.gpus.items.items()


def _under_slots(section: Gpus, slots: Mapping[str, str]) -> Gpus:
    if not isinstance(section.gpus, Map):
        return section
    return Gpus(gpus=Map({slots.get(key, key): _peers_under(gpu, slots) for key, gpu in section.gpus.items.items()}))


def _peers_under(gpu: Gpu, slots: Mapping[str, str]) -> Gpu:
    if not isinstance(gpu.peers, Map):
        return gpu
    peers = Map({slots.get(key, key): peer for key, peer in gpu.peers.items.items()})
    return msgspec.structs.replace(gpu, peers=peers)
