"""Which device, and which process, of A is compared with which of B."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from fingerprint.diff.changes import Paired
from fingerprint.diff.known import UNIT_FACTS
from fingerprint.diff.scripted import alike
from fingerprint.runs.effective import Standing
from fingerprint.sections import is_one_collection
from fingerprint.snapshot import Key
from fingerprint.walk import Names
from probes.kit.engines import Named, engine_of
from probes.kit.facts import Gap, Map, Section

S = TypeVar("S", bound=Section)


class SectionPair(NamedTuple):
    """a or b None: the other has no such section."""

    key: Key
    a: Standing | None
    b: Standing | None


def pair_sections(a: Mapping[Key, Standing], b: Mapping[Key, Standing]) -> Iterator[SectionPair]:
    """Sections by key, in B's words; descendants that run one program are matched by equal state first, then by order.

    Their numbers tell the order in which they were started, and siblings are started in no firm order. What an engine
    names by its part is matched by its name, of servers as `pair_servers` has them; launchers as `scripted` has them.
    """
    renamed, b = alike(under_servers_of(a, b), b)
    siblings = {key for key in (*renamed, *b) if _is_numbered(key)}
    for key in dict.fromkeys((*renamed, *b)):
        if key not in siblings:
            yield SectionPair(key, renamed.get(key), b.get(key))
    programs: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in sorted(siblings, key=_in_order):
        programs[key.area, key.target.rpartition(".")[0]].append(key)
    for keys in programs.values():
        yield from _pair_siblings(keys, renamed, b)


def under_servers_of(a: Mapping[Key, Standing], b: Iterable[Key]) -> Mapping[Key, Standing]:
    """A's sections, those of a server under the name of the one of B that it is paired with."""
    names = {pair.a: pair.b for pair in pair_servers(a, b)}
    return {_under(key, names): standing for key, standing in a.items()}


def pair_servers(a: Iterable[Key], b: Iterable[Key]) -> tuple[Paired, ...]:
    """Servers of an engine, one of A with one of B: by name, those left of one engine in the order of their ports.

    A port says where a server listens, not what it is. Only those of another name are told.
    """
    ours, theirs = _servers(a), _servers(b)
    left, right = (
        {name: told for name, told in one.items() if name not in other}
        for one, other in ((ours, theirs), (theirs, ours))
    )
    pairs = []
    for engine in dict.fromkeys(told.engine for told in left.values()):
        names = ([name for name, told in side.items() if told.engine == engine] for side in (left, right))
        pairs += [Paired(one, other, "same engine, another port") for one, other in zip(*names, strict=False)]
    return tuple(pairs)


def _servers(keys: Iterable[Key]) -> dict[str, Named]:
    """By name, in the order of their ports."""
    told = {named.server: named for key in keys if (named := engine_of(key.target))}
    return dict(sorted(told.items(), key=lambda item: (item[1].port or 0, item[0])))


def _under(key: Key, names: Mapping[str, str]) -> Key:
    server, dot, part = key.target.partition(".")
    return key._replace(target=f"{names[server]}{dot}{part}") if server in names else key


def _is_numbered(key: Key) -> bool:
    """Whether its name is that of a program and a number: of `main.python.2`, not of `sglang-30000.tp3`."""
    return key.is_descendant and key.target.rpartition(".")[2].isdecimal()


def _in_order(key: Key) -> tuple[str, str, int, str]:
    program, _, number = key.target.rpartition(".")
    return key.area, program, int(number) if number.isdigit() else 0, number


def _pair_siblings(keys: Iterable[Key], a: Mapping[Key, Standing], b: Mapping[Key, Standing]) -> Iterator[SectionPair]:
    left = [key for key in keys if key in a]
    right = [key for key in keys if key in b]
    for key in list(left):
        twin = next((other for other in right if a[key].parts == b[other].parts), None)
        if twin is not None:
            left.remove(key)
            right.remove(twin)
            yield SectionPair(key, a[key], b[twin])
    for key, other in zip(left, right, strict=False):
        yield SectionPair(other, a[key], b[other])
    paired = min(len(left), len(right))
    yield from (SectionPair(key, a[key], None) for key in left[paired:])
    yield from (SectionPair(key, None, b[key]) for key in right[paired:])


def pair_devices(a: Mapping[str, Section], b: Mapping[str, Section], *, same_host: bool) -> tuple[Paired, ...]:
    """By unit, then by slot; on another host, where no unit is shared, in the order of their slots."""
    units_a, units_b = _units(a), _units(b)
    if not same_host and set(units_a.values()).isdisjoint(units_b.values()):
        return tuple(_by_order(sorted(a), sorted(b)))
    slots_b = {unit: slot for slot, unit in units_b.items()}
    moved = {s: slots_b[u] for s, u in units_a.items() if u in slots_b}
    taken = set(moved.values())
    pairs = [Paired(s, t, "same slot and unit" if s == t else "unit moved") for s, t in moved.items()]
    for slot in a:
        if slot in moved:
            continue
        if slot in b and slot not in taken:
            known = slot in units_a and slot in units_b
            pairs.append(Paired(slot, slot, "slot has another unit" if known else "same slot"))
            taken.add(slot)
        else:
            pairs.append(Paired(slot, "", "only in a"))
    pairs += [Paired("", slot, "only in b") for slot in b if slot not in taken]
    return tuple(sorted(pairs, key=lambda pair: (pair.a or pair.b, pair.b)))


def _by_order(a: list[str], b: list[str]) -> Iterator[Paired]:
    for i in range(max(len(a), len(b))):
        if i < len(a) and i < len(b):
            yield Paired(a[i], b[i], "paired by order")
        else:
            yield Paired(a[i], "", "only in a") if i < len(a) else Paired("", b[i], "only in b")


def _units(items: Mapping[str, Section]) -> dict[str, Any]:
    """Slot -> unit, of the items whose unit is known and is no other's: what two claim tells neither."""
    found = {slot: _unit(item) for slot, item in items.items()}
    claims = Counter(found.values())
    return {slot: unit for slot, unit in found.items() if not isinstance(unit, Gap) and claims[unit] == 1}


def _unit(item: Section) -> Any:
    known = (getattr(item, name) for name in UNIT_FACTS if name in item.__struct_fields__)
    return next((value for value in known if not isinstance(value, Gap)), Gap("absent"))


def _is_devices(value: Any) -> bool:
    return isinstance(value, Map) and any(
        isinstance(item, Section) and set(UNIT_FACTS) & set(item.__struct_fields__) for item in value.items.values()
    )


def under_keys_of(a: S, b: S, *, same_host: bool) -> tuple[S, tuple[Paired, ...]]:
    """`b` with each device under the key of the one that it is paired with, and how they were paired."""
    pairs: list[Paired] = []
    changes: dict[str, Any] = {}
    for field in b.__struct_fields__:
        ours, theirs = getattr(a, field), getattr(b, field)
        if _is_devices(ours) and _is_devices(theirs):
            found = pair_devices(ours.items, theirs.items, same_host=same_host)
            pairs += found
            if keys := keys_of_b(found):
                changes[field] = Map({keys.get(k, k): _under_keys(v, keys, theirs) for k, v in theirs.items.items()})
    return (msgspec.structs.replace(b, **changes) if changes else b), tuple(pairs)


def _under_keys(item: S, keys: Mapping[str, str], devices: Map[Any]) -> S:
    """What a device tells of each of the others is told under the keys of these, too."""
    changes = {
        field: Map({keys.get(key, key): value for key, value in of_others.items.items()})
        for field in item.__struct_fields__
        if isinstance(of_others := getattr(item, field), Map) and set(of_others.items) <= set(devices.items)
    }
    return msgspec.structs.replace(item, **changes) if changes else item


def keys_of_b(pairing: Sequence[Paired]) -> Mapping[str, str]:
    """The keys of B's devices, as far as they are compared under another one: that of A.

    A slot of B that nothing of A stands in keeps its name, unless a device of A that went elsewhere had it.
    """
    taken = {pair.a for pair in pairing}
    keys = {pair.b: pair.a or (f"{pair.b} (b)" if pair.b in taken else pair.b) for pair in pairing if pair.b}
    return {theirs: key for theirs, key in keys.items() if theirs != key}


def under_key_of_a(names: Names, cls: type[Section], keys: Mapping[str, str]) -> Names:
    """Names below one of B's devices, as they are compared. keys: as `keys_of_b` has them."""
    at = device_depth(cls)
    return (*names[:at], keys.get(names[at], names[at]), *names[at + 1 :]) if len(names) > at else names


def device_depth(cls: type[Section]) -> int:
    """Where among names the key of a device stands."""
    return 0 if is_one_collection(cls) else 1
