"""What `fingerprint explain` says of a rule, and of the rules that a fact has a part in."""

import re

import pytest

from fingerprint import catalog
from fingerprint.explain.mechanisms import phases_of, rules, rules_of
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.reference import NO_BOUND, explain, of_rule, rows_of_fact
from probes.kit.paths import parse_path

HEADINGS = (
    "Theme Sees Moves Reaches Why Binds Suspected Explains Confirm Restore".split(),
    ["Beside it", "Incidents", "Sources"],
)
SOME_AND_ALL = [
    pytest.param(one, id=one.name, marks=[pytest.mark.long] if at % 4 else []) for at, one in enumerate(rules())
]
WHERE_THERE_IS_ANY = ("Shows in", "Told by", "Between", "Needs", "Enough", "Letters")


def parts(text: str) -> dict[str, str]:
    """Heading -> text, further lines joined; of the first of several."""
    found = re.findall(r"^  (\S.{11})(.*(?:\n {14}.*)*)", text.split("\n\n", maxsplit=1)[0], re.M)
    return {title.strip(): re.sub(r"\n +", "\n", said) for title, said in found}


@pytest.mark.parametrize("one", SOME_AND_ALL)
def test_a_rule_is_told_whole_under_fixed_headings(one: Rule) -> None:
    told = parts(explain(one.name))
    assert [title for title in told if title not in WHERE_THERE_IS_ANY] == [t for titles in HEADINGS for t in titles]
    assert ("Shows in" in told, "Told by" in told) == (bool(one.shows), bool(one.told_by))
    assert ("Between" in told, "Needs" in told) == (one.between, one.over_rdma)
    assert all(word in told["Moves"] for word in one.best)
    assert ("mostly" in told["Moves"]) is one.mostly
    assert ("Enough" in told) is (one.enough is not None)
    assert all(sign.facts in told["Shows in"] for sign in one.shows)
    assert told["Sees"].splitlines() == list(one.sees)
    assert [line.partition(" (")[0] for line in told["Reaches"].splitlines()] == list(phases_of(one))
    assert (told["Why"], told["Confirm"]) == (one.why, one.confirm)
    assert all(condition.facts in told["Binds"] and condition.says in told["Binds"] for condition in one.binds)
    assert (told["Explains"] == NO_BOUND) is (one.bound is None)
    assert told["Sources"].splitlines() == list(one.sources or ("none",))


def test_restore_commands_are_those_of_the_facts_that_the_rule_sees() -> None:
    for one in rules():
        seen = {fact.restore for glob in one.sees for fact in catalog.find(glob) if fact.restore}
        told = parts(of_rule(one))["Restore"]
        assert all(command in told for command in seen), one.name
        assert seen or told == "no single command sets it back"


def test_each_fact_that_a_rule_sees_names_the_rule() -> None:
    for fact in catalog.facts():
        path = fact.path.replace("*", "x")
        names = [rule.name for rule in rules_of(parse_path(path))]
        told = parts(explain(path))["Mechanisms"]
        assert [name for name in names if f"{name}: " not in told] == [], path


@pytest.mark.parametrize("part", [pytest.param(at, marks=[pytest.mark.long] if at else []) for at in range(40)])
def test_each_rule_is_named_by_each_fact_that_it_sees_however_that_is_asked_for(part: int) -> None:
    for one in rules()[part::40]:
        for glob in one.sees:
            told = [dict(rows_of_fact(glob, fact))["Mechanisms"] for fact in catalog.find(glob)]
            assert all(f"{one.name}: " in mechanisms for mechanisms in told), (one.name, glob)


def test_what_makes_a_rule_bind_names_the_rule_as_evidence() -> None:
    for one in rules():
        for condition in one.binds:
            assert one.name in parts(explain(condition.facts))["Evidence"], (one.name, condition.facts)


def test_a_key_is_told_of_the_rules_that_see_this_key_alone() -> None:
    whole = parts(explain("process/*/env"))["Mechanisms"]
    threads = parts(explain("process/main/env/OMP_NUM_THREADS"))["Mechanisms"]
    protocol = parts(explain("process/main/env/NCCL_PROTO"))["Mechanisms"]
    assert threads != protocol
    assert {*threads.splitlines(), *protocol.splitlines()} <= set(whole.splitlines())


def test_evidence_is_told_to_be_no_cause() -> None:
    told = parts(explain("gpu/*/clocks_event_reasons_counters/sw_power_cap"))
    assert told["Mechanisms"] == "none: evidence, no cause by itself"
    assert "power-limit" in told["Evidence"]


def test_context_is_told_to_be_context() -> None:
    context = next(
        fact for fact in catalog.facts() if fact.context and not rules_of(parse_path(fact.path.replace("*", "x")))
    )
    assert parts(explain(context.path))["Mechanisms"] == "none: context for other facts"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("{}x", "Nearest rules: "),
        ("memory/vm/swapiness", "nearest: memory/vm/swappiness"),
        ("warp/drive", "`fingerprint facts` lists all"),
    ],
)
def test_what_is_no_rule_and_no_fact_is_answered_with_the_nearest_of_both(wrong: str, named: str) -> None:
    name = rules()[0].name
    with pytest.raises(LookupError) as refused:
        explain(wrong.format(name))
    assert named in refused.value.args[0]
    assert (name in refused.value.args[0]) is ("{}" in wrong)


@pytest.mark.parametrize("broken", ["", "memory//vm", "50%"])
def test_what_is_neither_a_name_nor_a_path_is_refused_in_words(broken: str) -> None:
    with pytest.raises(LookupError, match=r"empty segment|bare %"):
        explain(broken)
