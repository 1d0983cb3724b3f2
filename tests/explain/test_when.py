"""Between which times a suspect changed: told by the runs, or more narrowly by whoever watched the host meanwhile."""

from typing import Any

from msgspec.structs import replace

from fingerprint.explain import Noticed, Subject
from fingerprint.explain.contract import Suspect
from fingerprint.words import moment
from probes.kit.facts import Map
from tests.diff.made_up import Device, Made, Task
from tests.explain.subjects import START, explained, subject
from tests.runs.recorded import SECOND

END = START + 9 * SECOND
LATER = START + 3600 * SECOND
RUNS = (moment(END), moment(LATER))


def at(since: int, until: int, value: Any = "b", path: str = "made/mode") -> Noticed:
    """Seconds after A ended."""
    return Noticed(path, END + since * SECOND, END + until * SECOND, value)


def when(since: int, until: int) -> tuple[str, str]:
    return moment(END + since * SECOND), moment(END + until * SECOND)


def first(a: Subject, b: Subject, *noticed: Noticed) -> Suspect:
    return explained(a, replace(b, noticed=noticed)).suspects[0]


def sides(**more: Any) -> tuple[Subject, Subject]:
    return subject("A", Made(mode="a")), subject("B", Made(mode="b"), at=LATER, **more)


def told(suspect: Suspect) -> tuple[Any, Any]:
    return suspect.bracket, suspect.bracket_by


def test_without_anybody_who_watched_it_changed_between_the_runs() -> None:
    assert told(first(*sides())) == (RUNS, "runs")


def test_what_was_noticed_between_the_runs_narrows_it() -> None:
    assert told(first(*sides(), at(60, 120))) == (when(60, 120), "service")


def test_of_changes_back_and_forth_the_last_that_led_to_b_counts() -> None:
    noticed = (at(60, 120), at(200, 260, "a"), at(300, 360))
    assert told(first(*sides(), *noticed)) == (when(300, 360), "service")


def test_one_that_led_elsewhere_says_that_the_last_was_missed() -> None:
    assert told(first(*sides(), at(60, 120), at(200, 260, "a"))) == (RUNS, "runs")


def test_one_that_may_have_come_behind_the_reading_of_b_decides_nothing() -> None:
    back = Noticed("made/mode", LATER - SECOND, LATER + SECOND, "a")
    assert told(first(*sides(), at(60, 120), back)) == (when(60, 120), "service")


def test_changes_of_another_fact_or_another_time_are_no_answer() -> None:
    noticed = (at(60, 120, path="made/bytes"), at(-900, -800), at(7200, 7260))
    assert told(first(*sides(), *noticed)) == (RUNS, "runs")


def test_a_bracket_ends_where_the_readings_of_the_runs_do() -> None:
    assert told(first(*sides(), at(-60, 120))) == ((RUNS[0], when(0, 120)[1]), "service")


def test_where_b_was_the_earlier_one_the_change_is_to_what_a_has() -> None:
    a, b = sides()
    assert told(first(b, a, at(60, 120), at(200, 260, "a"))) == (RUNS, "runs")
    assert told(first(b, a, at(60, 120))) == (when(60, 120), "service")


def test_of_several_devices_it_spans_all_and_is_the_runs_where_one_was_missed() -> None:
    a, b = (
        subject(name, Made(devices=Map({key: Device(limit=limit) for key in "12"})), at=begun)
        for name, limit, begun in (("A", 600, START), ("B", 450, LATER))
    )
    one, other = at(60, 120, 450, "made/devices/1/limit"), at(300, 360, 450, "made/devices/2/limit")
    assert told(first(a, b, one, other)) == (when(60, 360), "service")
    assert told(first(a, b, one)) == (RUNS, "runs")


def test_what_changed_during_b_is_narrowed_within_b() -> None:
    a = subject("A", Made(mode="a"))
    b = subject("B", Made(mode="a"), after=Made(mode="b"), at=LATER)
    noticed = Noticed("made/mode", LATER + 3 * SECOND, LATER + 5 * SECOND, "b")
    assert told(first(a, b))[1] == "runs"
    assert told(first(a, b, noticed)) == ((moment(LATER + 3 * SECOND), moment(LATER + 5 * SECOND)), "service")


def test_what_a_process_was_started_with_has_a_time_only_where_it_was_seen_to_change() -> None:
    a, b = subject("A", None, Task(nice=0)), subject("B", None, Task(nice=5), at=LATER)
    assert told(first(a, b)) == (None, None)
    assert told(first(a, b, at(60, 120, 5, "process/main/nice"))) == (when(60, 120), "service")


def test_two_hosts_have_no_time_in_common() -> None:
    a, b = sides(host="other")
    assert told(first(a, b, at(60, 120))) == (None, None)
