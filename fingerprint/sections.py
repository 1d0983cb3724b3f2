"""What can be done with any section: walk it, split it, digest it.

A section's *lasting* part (identity, config, state settled always) and its volatile part are two partial
sections of the same type, the other half NOT_READ and thus not written. Joined they give the section back.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from types import UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import msgspec

from probes.kit.facts import NOT_READ, Fact, Gap, Map, Section
from probes.kit.paths import FactPath

S = TypeVar("S", bound=Section)
Fields = Callable[[type[Section]], tuple[str, ...]]

_canonical = msgspec.json.Encoder(order="sorted")


class Leaf(NamedTuple):
    """One value of a section: its names below area and target, its fact, and the value or Gap.

    A collection is a leaf too: its value is the frozenset of its keys.
    """

    names: tuple[str, ...]
    fact: Fact
    value: Any


class Blob(msgspec.Struct, frozen=True):
    """A section's lasting part, addressed by the digest of its canonical JSON.

    schema  digest of the area's facts; only equal schemas prune by digest
    seen    how many facts have a value
    gaps    path below area and target -> gap code, so that a pruned section still tells what is not known
    body    the canonical JSON, undecoded: a pruned section never is
    """

    digest: str
    schema: str
    seen: int
    gaps: Mapping[str, str]
    body: msgspec.Raw


def fields_of(cls: type[Section]) -> tuple[str, ...]:
    return cls.__struct_fields__


def leaves(section: Section, names: tuple[str, ...] = (), fields: Fields = fields_of) -> Iterator[Leaf]:
    """Every fact of the section that was read, collections before their items, in declared order.

    fields: of a section type, those that are entered.
    """
    alone = not names and is_one_collection(type(section))
    for field in fields(type(section)):
        value = getattr(section, field)
        at = names if alone else (*names, field)
        if isinstance(value, Section):
            yield from leaves(value, at, fields)
        elif value is not NOT_READ:
            yield from _leaves_of(section.__facts__[field], value, at, fields)


def seen(value: Any) -> int:
    """Lasting facts with a value: 1 for a plain one, all that a section or collection holds, itself included."""
    if isinstance(value, Gap):
        return 0
    if isinstance(value, Section):
        return sum(leaf.fact.lasting and not isinstance(leaf.value, Gap) for leaf in leaves(value))
    if isinstance(value, Map):
        return 1 + sum(seen(item) for item in value.items.values())
    return 1


def _leaves_of(fact: Fact, value: Any, at: tuple[str, ...], fields: Fields) -> Iterator[Leaf]:
    if not isinstance(value, Map):
        yield Leaf(at, fact, value)
        return
    yield Leaf(at, fact, frozenset(value.items))
    for key, item in value.items.items():
        if isinstance(item, Section):
            yield from leaves(item, (*at, key), fields)
        else:
            yield Leaf((*at, key), fact, item)


@cache
def is_one_collection(cls: type[Section]) -> bool:
    """Whether the class is one collection and nothing else: its paths omit the field's name."""
    if len(cls.__struct_fields__) != 1:
        return False
    return any(_map_args(arm) for arm in _arms(_hints(cls)[cls.__struct_fields__[0]]))


def published(section: Section) -> Any:
    """The facts in plain JSON values, as their paths lead through them: one collection and nothing else is that
    collection itself."""
    facts = msgspec.to_builtins(section)
    if not is_one_collection(type(section)):
        return facts
    [name] = section.__struct_fields__
    return facts.get(name) or msgspec.to_builtins(NOT_READ)


def part(section: S, *, lasting: bool) -> S:
    """The lasting or the volatile half. Lasting gaps carry no detail; the volatile half keeps those that have one."""
    changes: dict[str, Any] = {}
    for field in section.__struct_fields__:
        value = getattr(section, field)
        if isinstance(value, Section):
            changes[field] = part(value, lasting=lasting)
        elif value is not NOT_READ:
            changes[field] = _part_of(section.__facts__[field], value, lasting)
    return type(section)(**changes)


def _part_of(fact: Fact, value: Any, lasting: bool) -> Any:
    if isinstance(value, Gap):
        return _gap_part(value, fact, lasting)
    if not isinstance(value, Map):
        return value if fact.lasting == lasting else NOT_READ
    items = {key: _item_part(fact, item, lasting) for key, item in value.items.items()}
    if fact.lasting == lasting:
        return Map(items)
    kept = {key: item for key, item in items.items() if item is not NOT_READ and not _is_empty(item)}
    return Map(kept) if kept else NOT_READ


def _item_part(fact: Fact, item: Any, lasting: bool) -> Any:
    if isinstance(item, Section):
        return part(item, lasting=lasting)
    return _part_of(fact, item, lasting)


def _gap_part(gap: Gap, fact: Fact, lasting: bool) -> Gap:
    if gap == NOT_READ:
        return NOT_READ  # never written, whatever its detail
    if lasting:
        return Gap(gap.code) if fact.lasting else NOT_READ
    return gap if not fact.lasting or gap.detail else NOT_READ


def _is_empty(item: Any) -> bool:
    return isinstance(item, Section) and item == type(item)()


def join(lasting: S, volatile: S) -> S:
    """The section whose halves these are."""
    changes: dict[str, Any] = {}
    for field in lasting.__struct_fields__:
        changes[field] = _join_of(getattr(lasting, field), getattr(volatile, field))
    return type(lasting)(**changes)


def _join_of(lasting: Any, volatile: Any) -> Any:
    if isinstance(lasting, Section):
        return join(lasting, volatile)
    if isinstance(lasting, Map) and isinstance(volatile, Map):
        return Map(
            {**lasting.items, **{k: _join_of(lasting.items.get(k, NOT_READ), v) for k, v in volatile.items.items()}}
        )
    return lasting if volatile is NOT_READ else volatile


def blob_of(section: Section) -> Blob:
    """The section's lasting part with its digest."""
    half = part(section, lasting=True)
    body = _canonical.encode(half)
    seen, gaps = 0, {}
    for leaf in leaves(half):
        if isinstance(leaf.value, Gap):
            gaps[str(FactPath(leaf.names))] = leaf.value.code
        elif leaf.fact.lasting:
            seen += 1
    digest = blake2b(body, digest_size=20).hexdigest()
    return Blob(digest, schema_of(type(section)), seen, gaps, msgspec.Raw(body))


def volatile_of(section: Section) -> msgspec.Raw:
    """The section's volatile part as canonical JSON."""
    return msgspec.Raw(_canonical.encode(part(section, lasting=False)))


@cache
def decoder_of(cls: type[S]) -> Callable[[Union[bytes, msgspec.Raw]], S]:
    """A strict decoder for one section type. It raises msgspec.ValidationError with the path of what is wrong."""
    return msgspec.json.Decoder(cls).decode


def loader_of(cls: type[S], schema: str) -> Callable[[Union[bytes, msgspec.Raw]], S]:
    """As decoder_of, for what was stored under `schema`: an older one may have facts under earlier names."""
    if schema == schema_of(cls):
        return decoder_of(cls)
    return lambda raw: msgspec.convert(_under_new_names(cls, msgspec.json.decode(raw)), cls)


def _under_new_names(cls: type[Section], stored: dict[str, Any]) -> dict[str, Any]:
    new_names = {old: name for name, fact in cls.__facts__.items() for old in fact.renamed_from if name not in stored}
    renamed = {new_names.get(name, name): value for name, value in stored.items()}
    for name, kind in sections_in(cls):
        value = renamed.get(name, {})
        if value.get("$") == "map":
            items = {key: _under_new_names(kind, item) for key, item in value["items"].items()}
            renamed[name] = {**value, "items": items}
        elif "$" not in value and value:
            renamed[name] = _under_new_names(kind, value)
    return renamed


@cache
def sections_in(cls: type[Section]) -> tuple[tuple[str, type[Section]], ...]:
    """(field, section type) of the fields that are a section or a collection of them."""
    kinds = ((name, kind) for name, hint in _hints(cls).items() for kind in _inner(hint))
    return tuple((name, kind) for name, kind in kinds if _is_section(kind))


def _inner(hint: Any) -> tuple[Any, ...]:
    return (hint, *(item for arm in _arms(hint) for item in _map_args(arm)))


@cache
def schema_of(cls: type[Section]) -> str:
    """Digest of the type's facts: their paths, kinds, units and value types."""
    lines = sorted(
        f"{'/'.join(names)} {fact.kind} {fact.unit} {fact.settled} {hint}" for names, fact, hint in declared(cls)
    )
    return blake2b("\n".join(lines).encode(), digest_size=10).hexdigest()


def declared(cls: type[Section], names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Fact, str]]:
    """(names, fact, type as text) of all that a section type declares; `*` stands for a collection's key."""
    alone = not names and is_one_collection(cls)
    for field, hint in _hints(cls).items():
        at = names if alone else (*names, field)
        if _is_section(hint):
            yield from declared(hint, at)
            continue
        text, items = _told(hint)
        yield at, cls.__facts__[field], text
        for item in items:
            yield from declared(item, (*at, "*"))


@cache
def _told(hint: Any) -> tuple[str, tuple[type[Section], ...]]:
    """A fact's type as text, and the section types of its items where it is a collection."""
    return _type_text(hint), tuple(item for arm in _arms(hint) for item in _map_args(arm) if _is_section(item))


def _is_section(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Section)


@cache
def units(cls: type[Section]) -> Mapping[str, str]:
    """Of the facts that have one: names below area and target -> unit; `*` stands for a collection's key."""
    return {"/".join(names): fact.unit for names, fact, _ in declared(cls) if fact.unit}


def section_types(cls: type[Section]) -> Iterator[type[Section]]:
    """The type and all section types below it, each once."""
    found = {cls: None}
    waiting = [cls]
    while waiting:
        for hint in _hints(waiting.pop()).values():
            for kind in (hint, *(arg for arm in _arms(hint) for arg in _map_args(arm))):
                if _is_section(kind) and kind not in found:
                    found[kind] = None
                    waiting.append(kind)
    return iter(found)


@cache
def _type_text(hint: Any) -> str:
    """A type in its short names, without its Gap: `int | "max"`, `Map[str | Redacted]`."""
    return " | ".join(_arm_text(arm) for arm in _arms(hint) if arm is not Gap)


def _arm_text(arm: Any) -> str:
    if arm is Ellipsis:
        return "..."
    if get_origin(arm) is Literal:
        return " | ".join(f'"{choice}"' if isinstance(choice, str) else str(choice) for choice in get_args(arm))
    name = getattr(get_origin(arm) or arm, "__name__", str(arm))
    inner = ", ".join(map(_type_text, get_args(arm)))
    return f"{name}[{inner}]" if inner else name


@cache
def _hints(cls: type[Section]) -> Mapping[str, Any]:
    """As written: where Sections are declared annotations are no text (docs/decisions/0004-late-imports.md), which
    typing.get_type_hints would look for in every part of them."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        hints.update(getattr(base, "__annotations__", {}))
    fields = frozenset(cls.__struct_fields__)
    return {name: hint for name, hint in hints.items() if name in fields}


def _arms(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _map_args(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) is Map else ()
