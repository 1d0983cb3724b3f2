"""Counters of trouble that grew."""

from fingerprint.catalog import facts
from fingerprint.service.troubles import CLASSES, Trouble, Troubles
from probes.kit.paths import parse_path
from tests.service.snapshots import TYPES, at, kernel, memory, snapshot


def test_what_grew_is_told_with_its_class_and_between_which_looks() -> None:
    troubles = Troubles(TYPES)
    assert troubles.take(snapshot(0, memory=memory(oom_kill=3), kernel=kernel(oops_count=0))) == ()
    found = troubles.take(snapshot(1, memory=memory(oom_kill=5), kernel=kernel(oops_count=1)))
    assert set(found) == {
        Trouble("oom", "memory/vmstat/oom_kill", 2, at(0), at(1)),
        Trouble("hung", "kernel/troubles/oops_count", 1, at(0), at(1)),
    }
    assert troubles.take(snapshot(2, memory=memory(oom_kill=5), kernel=kernel(oops_count=1))) == ()


def test_a_counter_that_fell_began_anew_and_what_it_holds_is_new() -> None:
    troubles = Troubles(TYPES)
    troubles.take(snapshot(0, memory=memory(oom_kill=7)))
    [found] = troubles.take(snapshot(1, memory=memory(oom_kill=2)))
    assert found.by == 2


def test_each_class_sees_facts_that_probes_declare() -> None:
    told = [fact.path.replace("*", "x") for fact in facts() if fact.kind == "counter"]
    declared = [parse_path(path) for one in told for path in (one, f"{one}/x")]
    for name, globs in CLASSES.items():
        assert [glob for glob in globs if not any(glob.matches(path) for path in declared)] == [], name
