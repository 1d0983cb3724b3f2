from typing import Any, Literal, Union

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.sections import (
    blob_of,
    declared,
    decoder_of,
    is_one_collection,
    join,
    leaves,
    part,
    schema_of,
    volatile_of,
)
from probes.kit.facts import (
    NOT_READ,
    Document,
    Fact,
    Gap,
    GapCode,
    Map,
    Redacted,
    Section,
    Seen,
    config,
    counter,
    identity,
    state,
    telemetry,
)


class Port(Section):
    speed: Seen[int] = state("w", "s", settled="link traffic")
    guid: Seen[str] = identity("w", "s")
    errors: Seen[int] = counter("w", "s")


class Device(Section):
    serial: Seen[str | Redacted] = identity("w", "s")
    limit: Seen[int] = config("w", "s", "mW")
    heat: Seen[int] = telemetry("w", "s", "C")
    port: Port = Port()
    ports: Seen[Map[Port]] = identity("w", "s")


class Area(Section):
    mode: Seen[str] = config("w", "s")
    load: Seen[int] = telemetry("w", "s")
    order: Seen[tuple[str, ...]] = config("w", "s")
    report: Seen[Document] = config("w", "s")
    devices: Seen[Map[Device]] = identity("w", "s")
    events: Seen[Map[Seen[int]]] = counter("w", "s")
    variables: Seen[Map[Seen[str | Redacted]]] = config("w", "s")
    seen_ports: Seen[Map[Port]] = telemetry("w", "s")
    port: Port = Port()


class Modules(Section):
    modules: Seen[Map[Port]] = config("w", "s")


keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
gaps = st.builds(Gap, st.sampled_from(GapCode.__args__), st.sampled_from(["", "because"]))  # type: ignore[attr-defined]
unseen = st.one_of(st.just(NOT_READ), gaps)
numbers = st.one_of(unseen, st.integers())
texts = st.one_of(unseen, st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
secrets = st.one_of(texts, st.builds(Redacted, keys, keys))
trees = st.recursive(
    st.one_of(st.none(), st.integers(), keys), lambda t: st.dictionaries(keys, t, max_size=2), max_leaves=4
)


def maps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(unseen, st.builds(Map, st.dictionaries(keys, values, max_size=3)))


ports = st.builds(Port, speed=numbers, guid=texts, errors=numbers)
devices = st.builds(Device, serial=secrets, limit=numbers, heat=numbers, port=ports, ports=maps(ports))
sections = st.builds(
    Area,
    mode=texts,
    load=numbers,
    order=st.one_of(unseen, st.lists(keys, max_size=3).map(tuple)),
    report=st.one_of(unseen, st.builds(Document, trees)),
    devices=maps(devices),
    events=maps(numbers),
    variables=maps(secrets),
    seen_ports=maps(ports),
    port=ports,
)


def dumped(section: Section) -> bytes:
    return msgspec.json.encode(section, order="sorted")


def with_details(section: Section) -> list[tuple[tuple[str, ...], bytes, str]]:
    """What can be told of a section: every leaf, gaps with their detail; what was not read is told by nothing."""
    return sorted(
        (leaf.names, _canonical(leaf.value), leaf.value.detail if isinstance(leaf.value, Gap) else "")
        for leaf in leaves(section)
        if leaf.value != NOT_READ
    )


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(sorted(value) if isinstance(value, frozenset) else value, order="sorted")


@given(sections)
def test_a_section_survives_json(section: Area) -> None:
    again = decoder_of(Area)(msgspec.json.encode(section))
    assert again == section
    assert with_details(again) == with_details(section)


@given(sections)
def test_the_two_halves_joined_are_the_section(section: Area) -> None:
    again = join(part(section, lasting=True), part(section, lasting=False))
    assert again == section
    assert with_details(again) == with_details(section)


@given(sections)
def test_the_halves_survive_json_and_join_to_the_section(section: Area) -> None:
    decode = decoder_of(Area)
    again = join(decode(blob_of(section).body), decode(volatile_of(section)))
    assert again == section
    assert with_details(again) == with_details(section)


@given(sections)
def test_halving_a_half_changes_nothing(section: Area) -> None:
    for lasting in (True, False):
        half = part(section, lasting=lasting)
        assert dumped(part(half, lasting=lasting)) == dumped(half)


@given(sections)
def test_the_lasting_half_holds_lasting_facts_and_no_words_for_people(section: Area) -> None:
    for leaf in leaves(part(section, lasting=True)):
        assert leaf.fact.lasting or isinstance(leaf.value, frozenset)
        assert not isinstance(leaf.value, Gap) or leaf.value.detail == ""


@given(sections, sections)
def test_a_digest_is_equal_exactly_when_the_lasting_halves_are(a: Area, b: Area) -> None:
    same = part(a, lasting=True) == part(b, lasting=True)
    assert (blob_of(a).digest == blob_of(b).digest) is same


@given(sections)
def test_a_digest_ignores_the_order_of_keys_and_the_details_of_gaps(section: Area) -> None:
    again = _shuffled(section)
    assert blob_of(again).digest == blob_of(section).digest


def _shuffled(value: Any) -> Any:
    if isinstance(value, Gap):
        return Gap(value.code, "in other words")
    if isinstance(value, Map):
        return Map({key: _shuffled(item) for key, item in reversed([*value.items.items()])})
    if isinstance(value, Section):
        return type(value)(**{field: _shuffled(getattr(value, field)) for field in value.__struct_fields__})
    return value


@given(sections)
def test_a_volatile_value_never_moves_the_digest(section: Area) -> None:
    changed = msgspec.structs.replace(section, load=17, events=Map({"x": 1}))
    assert blob_of(changed).digest == blob_of(section).digest


@given(sections)
def test_a_blob_counts_what_has_a_value_and_lists_what_has_none(section: Area) -> None:
    blob = blob_of(section)
    lasting = [leaf for leaf in leaves(part(section, lasting=True)) if leaf.fact.lasting]
    assert blob.seen == sum(not isinstance(leaf.value, Gap) for leaf in lasting)
    assert sorted(blob.gaps.values()) == sorted(leaf.value.code for leaf in lasting if isinstance(leaf.value, Gap))


@given(sections)
def test_not_read_is_never_written_into_a_blob_beside_a_default(section: Area) -> None:
    bare = msgspec.structs.replace(section, mode=Gap("not_read", "not in this tree"), port=Port(guid=Gap("not_read")))
    assert blob_of(bare).digest == blob_of(msgspec.structs.replace(section, mode=NOT_READ, port=Port())).digest


def test_leaves_come_in_declared_order_with_each_collection_before_its_items() -> None:
    section = Area(
        mode="on",
        devices=Map({"0": Device(limit=3, port=Port(guid="g"), ports=Map({}))}),
        variables=Map({"A": "1"}),
        port=Port(errors=Gap("denied", "root")),
    )
    assert [(leaf.names, leaf.value) for leaf in leaves(section)] == [
        (("mode",), "on"),
        (("devices",), frozenset({"0"})),
        (("devices", "0", "limit"), 3),
        (("devices", "0", "port", "guid"), "g"),
        (("devices", "0", "ports"), frozenset()),
        (("variables",), frozenset({"A"})),
        (("variables", "A"), "1"),
        (("port", "errors"), Gap("denied")),
    ]


def test_a_section_that_is_one_collection_omits_its_name() -> None:
    assert is_one_collection(Modules)
    assert not is_one_collection(Port)
    assert [leaf.names for leaf in leaves(Modules(modules=Map({"kvm": Port(guid="g")})))] == [(), ("kvm", "guid")]
    assert [names for names, _, _ in declared(Modules)] == [(), ("*", "speed"), ("*", "guid"), ("*", "errors")]


def test_the_gaps_of_a_blob_are_written_as_paths() -> None:
    blob = blob_of(Area(variables=Map({"a/b": Gap("denied"), "50%": Gap("failed")}), mode=Gap("absent")))
    assert blob.gaps == {"mode": "absent", "variables/a%2Fb": "denied", "variables/50%25": "failed"}


def test_every_declared_fact_is_told_with_a_star_for_a_key() -> None:
    told = {"/".join(names): kind for names, kind in ((names, fact.kind) for names, fact, _ in declared(Area))}
    assert told["devices/*/ports/*/speed"] == "state"
    assert told["devices/*/port/guid"] == "identity"
    assert told["events"] == "counter"
    assert told["port/errors"] == "counter"


def test_a_declared_type_is_told_without_its_gap() -> None:
    types = {"/".join(names): text for names, _, text in declared(Area)}
    assert types["mode"] == "str"
    assert types["order"] == "tuple[str, ...]"
    assert types["devices/*/serial"] == "str | Redacted"
    assert types["devices"] == "Map[Device]"
    assert types["variables"] == "Map[str | Redacted]"


seen: Any = Seen
"""As a value, which it is to no type checker."""


def test_a_closed_set_of_words_is_told_as_such() -> None:
    ((_, _, text),) = declared(one_fact(config("w", "s"), seen[int | Literal["max"] | None]))
    assert text == 'int | "max" | NoneType'


def one_fact(fact: Any, hint: Any = seen[int], name: str = "value") -> type[Section]:
    of: Any = type(Section)
    made: type[Section] = of("One", (Section,), {"__annotations__": {name: hint}, name: fact})
    return made


@pytest.mark.parametrize(
    "other",
    [
        one_fact(config("w", "s", "kHz")),
        one_fact(identity("w", "s", "MHz")),
        one_fact(config("w", "s", "MHz"), seen[str]),
        one_fact(config("w", "s", "MHz"), name="other"),
        one_fact(config("w", "s", "MHz"), seen[Map[seen[int]]]),
    ],
)
def test_the_schema_changes_with_a_facts_unit_kind_type_name_and_shape(other: type[Section]) -> None:
    assert schema_of(one_fact(config("w", "s", "MHz"))) != schema_of(other)


def test_the_schema_changes_when_a_states_condition_does() -> None:
    one, other = (one_fact(state("w", "s", settled=when)) for when in ("cpu busy", "always"))
    assert schema_of(one) != schema_of(other)


def test_the_schema_does_not_change_with_the_words_for_people() -> None:
    assert schema_of(one_fact(config("w", "s"))) == schema_of(one_fact(config("better words", "t", restore="x")))


def test_the_schema_knows_what_a_collection_holds() -> None:
    assert schema_of(one_fact(config("w", "s"), seen[Map[Port]])) != schema_of(
        one_fact(config("w", "s"), seen[Map[Device]])
    )


def test_both_spellings_of_a_union_declare_the_same() -> None:
    plain, typing = one_fact(config("w", "s"), Map[Port] | Gap), one_fact(config("w", "s"), Union[Map[Port], Gap])
    assert list(declared(plain)) == list(declared(typing))
    assert is_one_collection(plain)


def test_a_fact_is_found_for_every_field_that_is_no_section() -> None:
    assert all(isinstance(fact, Fact) for _, fact, _ in declared(Area))
