"""The mechanism graph holds together: each rule sees declared facts, and each fact that can matter is seen."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint import catalog
from fingerprint.catalog import CatalogFact
from fingerprint.explain import mechanisms
from fingerprint.explain.mechanisms import THEMES, phases_of, rule, rules, rules_of, themes
from fingerprint.explain.mechanisms.graph import SERVES, Phase, Resource, Rule
from probes.kit.paths import FactPath, Glob, parse_path

FOLDER = Path(mechanisms.__file__).parent
AWAITING: Mapping[Resource, str] = {}
"""Resources that no rule moves yet, and which area is missing for one."""
LIMIT = re.compile(r"(^|[-_])(limit|max|quota|cap)($|[-_])")
REACHED_UNSEEN: Mapping[str, str] = {
    "mappings-limit": "how many mappings a process has is no fact",
    "locked-memory-limit": "what was refused is nowhere: mapped/*/memory/locked holds what was not",
}
"""Limits of which nothing tells whether they were reached."""
KEY = "a key that nobody declared"


def globs_of(one: Rule) -> Iterator[str]:
    yield from one.sees
    yield from one.beside
    yield from (condition.facts for condition in (*one.binds, *one.shows))
    if one.bound:
        yield one.bound.facts


# The registry.


def test_every_theme_in_the_folder_is_in_the_list() -> None:
    assert sorted(THEMES) == sorted({path.stem for path in FOLDER.glob("*.py")} - {"__init__", "graph"})


def test_themes_have_a_title_of_their_own_each() -> None:
    assert len(themes()) == len(THEMES)
    assert not any("_" in title for title in themes())


def test_names_are_given_once_and_are_no_areas() -> None:
    times = Counter(one.name for one in rules())
    assert [name for name, count in times.items() if count > 1] == []
    assert [name for name in times if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    assert times.keys() & {fact.area for fact in catalog.facts()} == set()


def test_a_rule_is_found_by_its_name() -> None:
    assert [rule(one.name) for one in rules()] == list(rules())
    with pytest.raises(LookupError):
        rule("no-such-rule")


# What rules see.


def test_every_glob_can_mean_a_declared_fact() -> None:
    lost = [f"{one.name}: {glob}" for one in rules() for glob in globs_of(one) if not catalog.find(glob)]
    assert lost == []


def test_every_glob_names_its_area() -> None:
    areas = {fact.area for fact in catalog.facts()}
    assert [(one.name, glob) for one in rules() for glob in globs_of(one) if glob.split("/")[0] not in areas] == []


def must_be_seen(fact: CatalogFact) -> bool:
    return not fact.context and (fact.kind in ("config", "state") or (fact.kind == "counter" and fact.trouble))


def test_every_setting_every_state_and_every_counter_of_trouble_is_seen() -> None:
    """Of a collection, each key that nobody thought of as well."""
    assert [
        str(path) for fact in catalog.facts() if must_be_seen(fact) for path in paths(fact) if not rules_of(path)
    ] == []


def paths(fact: CatalogFact) -> Iterator[FactPath]:
    path = FactPath(KEY if part == "*" else part for part in fact.segments)
    yield path / KEY if is_map_of_values(fact) else path


def is_map_of_values(fact: CatalogFact) -> bool:
    return fact.type.startswith("Map[") and not catalog.find(f"{fact.path}/*/*")


def test_no_rule_sees_context_alone() -> None:
    """A context fact is never a suspect: a rule that sees nothing else is never used."""
    seen = {one.name: [fact for glob in one.sees for fact in catalog.find(glob)] for one in rules()}
    assert [name for name, facts in seen.items() if all(fact.context for fact in facts)] == []


def test_what_makes_a_rule_bind_is_a_counter_or_telemetry() -> None:
    wrong = [
        f"{one.name}: {fact.path} is {fact.kind}"
        for one in rules()
        for condition in (*one.binds, *one.shows)
        for fact in catalog.find(condition.facts)
        if fact.kind not in ("counter", "telemetry")
    ]
    assert wrong == []


def test_a_condition_suits_its_fact() -> None:
    """Only a counter grows or has crossed a link, and only telemetry comes to a limit, is active or is lower."""
    wrong = [
        f"{one.name}: {condition.facts} {condition.sign}"
        for one in rules()
        for condition in (*one.binds, *one.shows)
        for fact in catalog.find(condition.facts)
        if (fact.kind == "counter") is not (condition.sign in ("grew", "worked", "carried", "crossed", "rerouted"))
    ]
    assert wrong == []


def test_a_bound_is_a_ratio_of_numbers_that_the_rule_sees_or_that_were_observed() -> None:
    for one in rules():
        facts = catalog.find(one.bound.facts) if one.bound else ()
        assert all(fact.type in ("int", "float") for fact in facts), one.name
        if one.bound and one.bound.by == "ratio":
            assert one.bound.facts in one.sees, one.name
        else:
            assert all(fact.kind in ("telemetry", "state") for fact in facts), one.name


def test_a_limit_has_a_condition() -> None:
    unbound = {one.name for one in rules() if LIMIT.search(one.name) and not one.binds}
    assert unbound == REACHED_UNSEEN.keys()


# What rules move.


def test_every_rule_reaches_a_phase_and_no_phase_in_vain() -> None:
    assert [one.name for one in rules() if not phases_of(one)] == []
    assert [one.name for one in rules() if set(one.phases) - set(phases_of(one))] == []


def test_every_resource_serves_a_phase() -> None:
    assert list(SERVES) == list(get_args(Resource))
    assert {phase for phases in SERVES.values() for phase in phases} == set(get_args(Phase)) - {"completion"}
    assert all(SERVES.values())


def test_every_resource_is_moved_by_a_rule_or_awaits_its_area() -> None:
    moved = {resource for one in rules() for resource in one.moves}
    assert moved.isdisjoint(AWAITING)
    assert moved | set(AWAITING) == set(get_args(Resource))


def test_what_can_end_a_run_reaches_its_completion_and_nothing_else_does() -> None:
    assert [one.name for one in rules() if (one.breaks != "never") is not ("completion" in phases_of(one))] == []


def test_what_mostly_goes_one_way_has_a_way() -> None:
    assert [one.name for one in rules() if one.mostly and one.way == "either" and not (one.best or one.worst)] == []


def test_what_goes_over_pcie_moves_what_does() -> None:
    over = [one for one in rules() if one.over_pcie]
    assert [one.name for one in over if not {*one.moves} & {"pcie link", "collective", "availability"}] == []
    assert {one.over_pcie for one in over} == {"between GPUs", "all"}


def test_usual_effects_are_ratios_of_one_or_more() -> None:
    told = [(one.name, one.usual) for one in rules() if one.usual]
    assert [(name, usual) for name, usual in told if not 1 <= usual[0] <= usual[1]] == []
    assert [one.name for one in rules() if one.usual and not one.sources] == []


# What rules say.


def test_every_rule_says_why_in_words_of_its_own_and_how_to_confirm() -> None:
    assert [why for why, count in Counter(one.why for one in rules()).items() if count > 1] == []
    assert [one.name for one in rules() if not one.why.strip() or not one.confirm.strip()] == []


def test_sources_are_addresses_and_incidents_are_counted_only_where_some_are_named() -> None:
    assert [
        f"{one.name}: {s}" for one in rules() for s in one.sources if not re.match(r"https?://[\w.-]+/\S*$", s)
    ] == []
    assert [one.name for one in rules() if one.confirmed and not one.sources] == []
    assert [one.name for one in rules() if not 0 <= one.confirmed <= 303] == []


# The index.


GLOBS = [(Glob(glob), one.name) for one in rules() for glob in one.sees]


NAMES = st.sampled_from(["main", "x", "limit", "OMP_NUM_THREADS", "a/b", "50%", "*"])


@given(st.sampled_from([str(glob) for glob, _ in GLOBS]), st.lists(NAMES, min_size=1, max_size=4))
def test_the_index_finds_what_a_search_through_all_rules_finds(glob: str, names: list[str]) -> None:
    parts = (part for at, one in enumerate(glob.split("/")) for part in filled(one, names, at))
    path = FactPath(parts)
    found = [one.name for one in rules_of(path)]
    assert len(found) == len(set(found))
    matching = {(str(glob), name) for glob, name in GLOBS if glob.matches(path)}
    left_out = {glob for glob, name in matching if name not in found}
    assert set(found) <= {name for _, name in matching}
    assert bool(found) == bool(matching)
    assert all("*" in glob for glob in left_out), "only what sees several names gives way"


def filled(part: str, names: list[str], at: int) -> list[str]:
    return names if part == "**" else [part.replace("*", names[at % len(names)])]


@pytest.mark.parametrize(
    ("path", "first", "last"),
    [
        ("process/main/env/OMP_NUM_THREADS", "omp-threads", "omp-threads"),
        ("process/main/env/SOMETHING_ELSE", "any-variable", "any-variable"),
        ("kernel/modules/nvidia/version", "gpu-module", "gpu-module-options"),
        ("libraries/main/packages/pyzmq/version", "package-front-end", "package-front-end"),
        ("libraries/main/packages/jinja2/version", "package-other", "package-other"),
    ],
)
def test_the_rule_of_the_thing_itself_comes_before_the_rule_of_its_kind(path: str, first: str, last: str) -> None:
    names = [one.name for one in rules_of(parse_path(path))]
    assert (names[0], names[-1]) == (first, last)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("process/main/env/SGLANG_LOG_MS", "log-levels"),
        ("process/main/env/KINETO_LOG_LEVEL", "log-levels"),
        ("process/main/env/SGLANG_LOGITS_PROCESSER_CHUNK_SIZE", "sglang-switches"),
        ("process/main/env/TRTLLM_TOPOLOGY", "tensorrt-llm-switches"),
        ("kernel/cmdline/tsx_async_abort", "boot-mitigations"),
        ("kernel/cmdline/tsx", "kernel-command-line"),
        ("kernel/modules/virtio_net/parameters/napi_tx", "virtual-network-offloads"),
        ("kernel/modules/virtio_net/parameters/napi_weight", "network-module"),
    ],
)
def test_what_is_called_alike_is_not_of_one_kind(path: str, name: str) -> None:
    """Topology and logits bear a log in their names; of packets at once 1 is not the best, as it is of switches."""
    assert rules_of(parse_path(path))[0].name == name


def test_what_no_rule_sees_has_none() -> None:
    assert rules_of(parse_path("memory/available")) == rules_of(parse_path("warp/drive")) == ()


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_names_the_areas_that_it_sees(theme: str) -> None:
    declared = import_module(f"fingerprint.explain.mechanisms.{theme}").RULES
    assert {glob.split("/")[0] for rule in declared for glob in rule.sees} == set(THEMES[theme].split())
