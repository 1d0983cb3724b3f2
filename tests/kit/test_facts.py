from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from probes.kit.facts import (
    NOT_READ,
    Document,
    Fact,
    Gap,
    GapCode,
    Kind,
    Map,
    Redacted,
    Section,
    Seen,
    Settled,
    config,
    counter,
    identity,
    seen_or,
    state,
    telemetry,
    then,
)


class Link(Section):
    speed: Seen[int] = state("GT/s", "sysfs", "MT/s", settled="link traffic")
    width: Seen[int] = config("lanes", "sysfs")


class Board(Section):
    serial: Seen[str | Redacted] = identity("which board", "NVML", renamed_from=("sn",))
    limit: Seen[int] = config("caps the clock", "NVML", "mW")
    links: Seen[Map[Link]] = identity("the paths out", "sysfs")
    names: Seen[Map[Seen[str | Redacted]]] = config("names", "procfs")
    order: Seen[tuple[str, ...]] = config("search order", "procfs")
    server: Seen[Document] = config("what the engine says", "HTTP")
    link: Link = Link()


def test_gaps_are_equal_by_code_and_their_detail_is_for_people() -> None:
    assert Gap("denied", "needs root") == Gap("denied", "needs CAP_SYS_PTRACE")
    assert hash(Gap("denied", "a")) == hash(Gap("denied", "b"))
    assert Gap("denied") != Gap("absent")
    assert Gap("denied") != "denied"


@pytest.mark.parametrize("code", GapCode.__args__)  # type: ignore[attr-defined]
def test_every_gap_code_survives_json_with_its_detail(code: GapCode) -> None:
    again = msgspec.json.decode(msgspec.json.encode(Gap(code, "why")), type=Gap)
    assert (again.code, again.detail) == (code, "why")


def test_an_invented_gap_code_is_refused_on_load() -> None:
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value 'unknown'"):
        msgspec.json.decode(b'{"$":"gap","code":"unknown"}', type=Gap)


@pytest.mark.parametrize(
    ("kind", "settled", "lasting"),
    [
        ("identity", "always", True),
        ("config", "always", True),
        ("state", "always", True),
        ("state", "gpu busy", False),
        ("state", "link traffic", False),
        ("state", "cpu busy", False),
        ("counter", "always", False),
        ("telemetry", "always", False),
    ],
)
def test_what_stands_until_somebody_changes_it_is_lasting(kind: Kind, settled: Settled, lasting: bool) -> None:
    assert Fact(kind=kind, why="x", source="y", settled=settled).lasting is lasting


def test_each_word_declares_its_own_kind() -> None:
    words = {
        "identity": identity("w", "s"),
        "config": config("w", "s"),
        "counter": counter("w", "s"),
        "telemetry": telemetry("w", "s"),
        "state": state("w", "s", settled="cpu busy"),
    }
    assert {kind: fact.kind for kind, fact in words.items()} == {kind: kind for kind in words}
    assert words["state"].settled == "cpu busy"


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"$": "gap", "code": "denied"},
        {"a": [{"$": "map", "items": {"b": {"$": "nonsense"}}}]},
        [1, 2.5, True, "text", {"deep": {"$": "doc", "value": {"$": "hmac"}}}],
    ],
)
def test_a_document_may_hold_anything_json_even_our_own_tag(document: Any) -> None:
    board = Board(server=Document(document))
    again = msgspec.json.decode(msgspec.json.encode(board), type=Board)
    assert again.server == Document(document)


def test_every_tagged_type_survives_json_in_one_section() -> None:
    board = Board(
        serial=Redacted("k1", "d1"),
        limit=Gap("denied", "needs root"),
        links=Map({"0": Link(speed=32000), "1": Link(width=Gap("absent"))}),
        names=Map({"a": "clear", "b": Redacted("k1", "d2"), "c": Gap("failed", "no text")}),
        order=("b", "a"),
        link=Link(speed=8000),
    )
    again = msgspec.json.decode(msgspec.json.encode(board), type=Board)
    assert again == board
    assert isinstance(again.limit, Gap)
    assert again.limit.detail == "needs root"


def test_what_nobody_read_is_not_written_and_is_not_read_after_load() -> None:
    assert msgspec.json.encode(Board(limit=300)) == b'{"limit":300}'
    again = msgspec.json.decode(b"{}", type=Board)
    assert again.limit is NOT_READ
    assert again.link.speed is NOT_READ


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b'{"limit":true}', "$.limit"),
        (b'{"limit":"300"}', "$.limit"),
        (b'{"links":{"$":"map","items":{"0":{"speed":1.5}}}}', "$.links.items[...].speed"),
        (b'{"order":[1]}', "$.order[0]"),
    ],
)
def test_a_wrong_type_is_refused_on_load_with_its_place(text: bytes, where: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(text, type=Board)
    assert where in str(refused.value)


def test_a_section_is_frozen_and_takes_its_facts_by_name_only() -> None:
    with pytest.raises(AttributeError):
        Link().speed = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        Link(1)  # type: ignore[call-arg]


def test_a_derived_section_keeps_the_facts_it_inherits() -> None:
    class Faster(Link):
        lanes: Seen[int] = config("more of them", "sysfs")

    facts: Mapping[str, Fact] = Faster.__facts__
    assert list(facts) == ["speed", "width", "lanes"]
    assert Faster(speed=1, lanes=2).speed == 1


def test_then_passes_a_gap_through_without_reading() -> None:
    denied = Gap("denied", "needs root")
    assert then(denied, lambda _: pytest.fail("was called")) is denied


@pytest.mark.parametrize("error", [ValueError("bad"), KeyError("bad"), IndexError("bad")])
def test_then_turns_a_value_that_makes_no_sense_into_failed_with_its_words(error: Exception) -> None:
    def read(_: str) -> int:
        raise error

    gap = then("text", read)
    assert isinstance(gap, Gap)
    assert (gap.code, gap.detail) == ("failed", f"{type(error).__name__}: {error}")


def test_then_lets_a_bug_through() -> None:
    def read(_: str) -> int:
        raise TypeError("a bug is no reading")

    with pytest.raises(TypeError):
        then("text", read)


def test_seen_or_gives_the_value_even_a_false_one() -> None:
    assert seen_or(0, 7) == 0
    assert seen_or(Gap("absent"), 7) == 7
