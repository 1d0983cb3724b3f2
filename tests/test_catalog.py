import importlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema
import msgspec
import pytest

from fingerprint import catalog
from fingerprint.sections import declared, section_types
from fingerprint.snapshot import Provenance
from probes.kit.facts import Fact, Gap, Map, Section, Seen, config, telemetry
from probes.kit.host import Host
from probes.kit.probe import HOST, Probe, areas, discover

ROOT = Path(__file__).parents[1]
SHARED_REASONS = 3


def all_types() -> Iterator[type[Section]]:
    for probe in discover().values():
        yield from section_types(probe.section)


def all_facts() -> list[Fact]:
    """Each declaration once, however many places its section stands in."""
    return list({id(fact): fact for kind in all_types() for fact in kind.__facts__.values()}.values())


def without_source(facts: Iterable[Fact]) -> list[Fact]:
    return [fact for fact in facts if not fact.source.strip()]


def overused_reasons(facts: Iterable[Fact]) -> list[str]:
    times = Counter(" ".join(fact.why.lower().split()).rstrip(".") for fact in facts)
    return [why for why, count in times.items() if count > SHARED_REASONS or not why]


def test_every_fact_has_a_source() -> None:
    assert without_source(all_facts()) == []


def test_no_more_than_three_facts_share_a_reason_and_none_is_without() -> None:
    assert overused_reasons(all_facts()) == []


def test_a_fact_without_a_source_or_with_a_worn_reason_would_be_refused() -> None:
    assert without_source([Fact(kind="config", why="w", source=" ")]) != []
    worn = [Fact(kind="config", why=why, source=f"/proc/{why}") for why in ("Same", "same.", "same ", "same")]
    assert overused_reasons(worn) == ["same"]
    assert overused_reasons(worn[:3]) == []
    assert overused_reasons([Fact(kind="config", why="", source="/proc/x")]) == [""]


def test_every_area_module_has_exactly_one_probe() -> None:
    for area in areas():
        found = [value for value in vars(importlib.import_module(f"probes.{area}")).values() if type(value) is Probe]
        assert [probe.area for probe in found] == [area]


def test_every_field_of_a_section_is_a_fact_or_a_section() -> None:
    for kind in all_types():
        hints = get_type_hints(kind)
        for field in kind.__struct_fields__:
            nested = isinstance(hints[field], type) and issubclass(hints[field], Section)
            assert (field in kind.__facts__) is not nested, f"{kind.__name__}.{field}"


def test_no_lasting_fact_is_a_float() -> None:
    assert [fact.path for fact in catalog.facts() if fact.lasting and re.search(r"\bfloat\b", fact.type)] == []


def test_no_path_is_declared_twice() -> None:
    times = Counter(fact.path for fact in catalog.facts())
    assert [path for path, count in times.items() if count > 1] == []


def test_whatever_a_fact_follows_is_declared() -> None:
    missing = [f"{fact.path}: {glob}" for fact in catalog.facts() for glob in fact.follows if not catalog.find(glob)]
    assert missing == []


def test_no_fact_follows_itself_alone() -> None:
    for fact in catalog.facts():
        for glob in fact.follows:
            assert [led.path for led in catalog.find(glob)] != [fact.path], fact.path


def test_restore_commands_use_the_placeholders_that_are_filled() -> None:
    for fact in catalog.facts():
        if fact.restore:
            fact.restore.format(value="1", key="k", target="t", pid=1)


def test_the_page_of_facts_is_as_the_code_declares_them() -> None:
    written = (ROOT / "docs/facts.md").read_text(encoding="utf-8")
    assert written == catalog.markdown(), "renew it: fingerprint facts --format markdown > docs/facts.md"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("memory/swap/*/priority", "memory/swap/*/priority"),
        ("memory/swap/sda2/priority", "memory/swap/*/priority"),
        ("memory/swap/sd*/priority", "memory/swap/*/priority"),
        ("**/priority", "memory/swap/*/priority"),
        ("memory/**", "memory/vm/swappiness"),
        ("*/vm/swap*", "memory/vm/swappiness"),
    ],
)
def test_a_fact_is_found_by_its_pattern_by_a_path_and_by_a_glob(pattern: str, path: str) -> None:
    assert path in [fact.path for fact in catalog.find(pattern)]


@pytest.mark.parametrize("pattern", ["memory/vm", "vm/swappiness", "memory/vm/swappiness/more", "memory/*"])
def test_a_pattern_that_matches_another_depth_finds_nothing_there(pattern: str) -> None:
    assert "memory/vm/swappiness" not in [fact.path for fact in catalog.find(pattern)]


def test_a_malformed_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="empty segment"):
        catalog.find("memory//vm")


class Worker(Section):
    """As a process probe would declare it."""

    variables: Seen[Map[Seen[str]]] = config("steers the libraries", "/proc/PID/environ", private=True)
    load: Seen[int] = telemetry("how busy", "/proc/PID/stat", "ticks", tolerance=2, renamed_from=("busy",))


def read(host: Host, target: Any) -> Worker:
    return Worker()


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    probe: Probe[Any] = Probe("worker", "process", Worker, read, 1.0, "border")
    monkeypatch.setattr(catalog, "facts", lambda: tuple(catalog.facts_of(probe)))


@pytest.mark.usefixtures("workers")
def test_facts_of_targets_stand_below_a_star_and_keys_of_plain_collections_are_found() -> None:
    assert [fact.path for fact in catalog.facts()] == ["worker/*/variables", "worker/*/load"]
    for pattern in ("worker/main/variables/NCCL_PROTO", "worker/*/variables/NCCL_*", "worker/**/NCCL_PROTO"):
        assert [fact.path for fact in catalog.find(pattern)] == ["worker/*/variables"]
    assert catalog.find("worker/main/load/more") == ()


@pytest.mark.usefixtures("workers")
def test_an_explanation_has_its_fixed_headings_and_what_was_declared() -> None:
    text = catalog.explain("worker/main/load")
    headings = [line[2:14].strip() for line in text.splitlines()[1:]]
    assert headings == [
        "What",
        "Why",
        "Where",
        "Type",
        "Unit",
        "Compared",
        "Follows",
        "Followed by",
        "Check",
        "Restore",
    ]
    assert "how busy" in text
    assert "earlier called busy" in text
    assert "differences up to 2 ticks are none" in text
    assert "grep -H '' /proc/PID/stat" in text
    assert "leaves the host only as a keyed digest" in catalog.explain("worker/*/variables")


def test_an_explanation_names_what_the_fact_follows_and_what_follows_it() -> None:
    follower = next(fact for fact in catalog.facts() if fact.follows)
    assert follower.follows[0] in catalog.explain(follower.path)
    leader = catalog.find(follower.follows[0])[0]
    if leader.path != follower.path:
        assert follower.path in catalog.explain(leader.path)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("memory/vm/swapiness", "memory/vm/swappiness"),
        ("swappiness", "memory/vm/swappiness"),
        ("memory/vm", "memory/vm/"),
        ("warp/drive", "`fingerprint facts` lists all"),
        ("memory//vm", "empty segment"),
    ],
)
def test_an_unknown_path_is_answered_with_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(LookupError) as refused:
        catalog.explain(wrong)
    assert nearest in refused.value.args[0]


def test_the_schema_takes_a_snapshot_of_this_host_and_refuses_a_broken_one() -> None:
    schema = catalog.schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    section = discover(["memory"])["memory"].read(Host(), HOST)
    snapshot = {
        "schema": "fingerprint.snapshot/1",
        "id": "01J",
        "taken_at": 1,
        "host": "h",
        "provenance": msgspec.to_builtins(Provenance("0", "3.11", 0, "k")),
        "sections": {"memory": {"outcome": "ok", "facts": json.loads(msgspec.json.encode(section))}},
    }
    validator.validate(snapshot)
    snapshot["sections"]["memory"]["facts"]["total"] = True
    assert not validator.is_valid(snapshot)


def test_the_schema_tells_kind_unit_why_and_source_of_every_fact() -> None:
    defs = catalog.schema()["$defs"]
    told = [
        (p["kind"], p["why"], p["source"])
        for d in defs.values()
        for p in d.get("properties", {}).values()
        if "kind" in p
    ]
    for fact in all_facts():
        assert (fact.kind, fact.why, fact.source) in told


def test_a_gap_is_a_value_of_every_fact_in_the_schema() -> None:
    defs = catalog.schema()["$defs"]
    swappiness = next(d["properties"]["swappiness"] for d in defs.values() if "swappiness" in d.get("properties", {}))
    validator = jsonschema.Draft202012Validator({**swappiness, "$defs": defs})
    assert validator.is_valid(msgspec.to_builtins(Gap("denied", "root")))
    assert validator.is_valid(60)
    assert not validator.is_valid("60")


def test_every_declared_fact_is_in_the_catalog() -> None:
    assert len(catalog.facts()) == sum(len(list(declared(probe.section))) for probe in discover().values())
