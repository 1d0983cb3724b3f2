"""What settles is an event, with its bracket; what does not is none."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fingerprint.service.changes import Change, Changes
from fingerprint.snapshot import Reading
from probes.kit.facts import Gap
from probes.memory import Memory
from tests.service.snapshots import TYPES, at, kernel, memory, snapshot


def told(*swappiness: object) -> list[tuple[object, object, int, int]]:
    """One snapshot a minute. Which changes were told: from, to, and between which minutes."""
    changes = Changes(TYPES)
    found: list[Change] = []
    for minute, value in enumerate(swappiness):
        found += changes.take(snapshot(minute, memory=memory(value)))
    return [(one.was, one.is_, (one.since - at(0)) // at_minute(), (one.until - at(0)) // at_minute()) for one in found]


def at_minute() -> int:
    return at(1) - at(0)


def test_a_value_that_was_seen_twice_changed_between_the_last_old_one_and_the_first_new_one() -> None:
    assert told(60, 60, 10, 10) == [(60, 10, 1, 2)]


def test_a_value_that_was_seen_once_is_no_change() -> None:
    assert told(60, 10, 60, 60) == []


def test_there_and_back_is_two_changes() -> None:
    assert told(60, 10, 10, 60, 60) == [(60, 10, 0, 1), (10, 60, 2, 3)]


def test_a_third_value_comes_after_the_second() -> None:
    assert told(60, 10, 10, 20, 20) == [(60, 10, 0, 1), (10, 20, 2, 3)]


def test_what_could_not_be_read_meanwhile_is_no_change_and_hides_none() -> None:
    assert told(60, Gap("timed_out"), Gap("timed_out"), 60, 60) == []
    assert told(60, Gap("denied"), Gap("denied"), 10, 10) == [(60, 10, 0, 3)]


def test_that_it_is_no_longer_there_is_a_change() -> None:
    assert told(60, Gap("absent"), Gap("absent")) == [(60, {"gap": "absent"}, 0, 1)]


def test_an_item_that_came_and_went_is_told_whole_and_once() -> None:
    changes = Changes(TYPES)
    found: list[Change] = []
    for minute, modules in enumerate(((), ("nvidia",), ("nvidia",), (), ())):
        found += changes.take(snapshot(minute, kernel=kernel(modules=modules)))
    assert [str(one.path) for one in found] == ["kernel/modules/nvidia"] * 2


def test_a_section_that_hung_is_no_change() -> None:
    changes = Changes(TYPES)
    hung = Reading("timed_out", "hung")
    taken: list[Memory | Reading] = [memory(60), hung, hung, memory(60), memory(60)]
    assert [changes.take(snapshot(minute, memory=one)) for minute, one in enumerate(taken)] == [()] * 5


def test_a_reboot_is_noticed_by_the_last_that_was_stored() -> None:
    changes = Changes(TYPES)
    changes.take(snapshot(0, kernel=kernel("before")), at(30))
    changes.take(snapshot(60, kernel=kernel("after")))
    [boot] = changes.take(snapshot(61, kernel=kernel("after")))
    assert (str(boot.path), boot.since, boot.until) == ("kernel/boot_id", at(30), at(60))


@given(st.lists(st.sampled_from([10, 20, 30]), min_size=1, max_size=30))
def test_the_changes_lead_from_the_first_value_to_the_last_that_stood(values: list[int]) -> None:
    found = told(*values)
    chain = [values[0], *(now for _, now, _, _ in found)]
    assert [was for was, _, _, _ in found] == chain[:-1]
    stood = [value for value, after in pairwise(values) if value == after]
    if stood and values[-1] == values[-2]:
        assert chain[-1] == values[-1]
    assert all(since < until for _, _, since, until in found)
