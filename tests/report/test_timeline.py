"""A timeline in every form: nothing is lost in folding, nothing from outside is more than text, each is one file."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.report.json import render as as_json
from fingerprint.report.timeline import drawing, markdown, page, text
from fingerprint.report.timeline.scale import Scale, scale_of
from fingerprint.report.timeline.times import lasted, seconds
from fingerprint.report.timeline.told import AT_ONCE, MANY, Line, lines
from fingerprint.timeline.contract import Timeline
from tests.browser import browser, needs_browser
from tests.report.hostile import HOSTILE, replaced
from tests.report.timelines import AFTER_BOOT, CASES, LINKS, NOTHING, UNWATCHED, WATCHED, event, run, state, timeline

FORMS = (text.render, markdown.render, page.render, drawing.render)
SVG = "{http://www.w3.org/2000/svg}"


def told(*events: object, runs: Sequence[object] = ()) -> list[Line]:
    return lines(timeline("", "15T00:00:00", "17T00:00:00", events=tuple(events), runs=tuple(runs)))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_form_is_the_same_of_a_timeline_loaded_from_its_json(case: Timeline) -> None:
    loaded = msgspec.json.decode(as_json(case), type=Timeline)
    assert loaded == case
    assert [form(loaded) for form in FORMS] == [form(case) for form in FORMS]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_no_line_of_text_is_wider_than_the_terminal(case: Timeline) -> None:
    assert max(map(len, text.render(case, width=80).splitlines())) <= 80


# What is folded.


def test_what_happened_often_in_a_stretch_is_one_line_with_its_number() -> None:
    links = [line for line in lines(WATCHED) if line.term == "link"]
    assert [line.says.partition(" ")[0] for line in links] == ["8", "6"]
    assert sum(int(line.says.partition(" ")[0]) for line in links) == len(LINKS)


def test_less_than_many_of_a_kind_are_told_one_by_one() -> None:
    few = [event("kernel", f"16T10:00:0{n}", what="link", says="down") for n in range(MANY - 1)]
    assert [line.says for line in told(*few)] == ["down"] * (MANY - 1)


def test_of_many_states_that_changed_at_one_time_some_are_named_and_the_rest_are_counted() -> None:
    found = told(*AFTER_BOOT)
    assert [line.what for line in found[:-1]] == [it.what for it in AFTER_BOOT[: AT_ONCE - 1]]
    assert found[-1].says == f"and {len(AFTER_BOOT) - AT_ONCE + 1} more, of kernel, memory"


def test_one_more_than_are_named_is_named_too() -> None:
    assert [line.what for line in told(*AFTER_BOOT[:AT_ONCE])] == [it.what for it in AFTER_BOOT[:AT_ONCE]]


def test_a_state_that_went_back_and_forth_tells_where_it_ended() -> None:
    flaps = [state("gpu/0/power_limit", 600, 450, f"16T10:0{n}:00", f"16T10:0{n}:30", unit="W") for n in range(5)]
    (line,) = told(*flaps)
    assert line.says == "5 times until 10:04:30, the last 600 -> 450 W"


def test_segments_of_one_server_are_one_line_unless_they_are_marked() -> None:
    hours = [run("sglang-1", f"16T0{n}:00:00", f"16T0{n + 1}:00:00", attempt=n + 1, by_service=True) for n in range(6)]
    assert [line.says for line in told(runs=hours)] == ["6 runs of it until 06:00:00"]
    marked = [msgspec.structs.replace(hours[5], mark="a")]
    assert [line.what for line in told(runs=[*hours[:5], *marked])] == ["sglang-1", "sglang-1#6"]


# Where it stands beside the runs.


def test_an_event_is_marked_by_the_runs_in_which_it_happened_for_certain() -> None:
    during = [line for line in lines(WATCHED) if line.term in ("changed", "link")]
    assert [line.marks for line in during] == ["A", *[""] * 7, "B", "B|", "B|"]


def test_what_lies_between_two_runs_is_of_neither() -> None:
    assert [(line.marks, line.term) for line in lines(UNWATCHED)] == [
        ("A", "run"), ("", "boot"), ("", "changed"), ("B", "run"),
    ]  # fmt: skip


def test_a_time_that_is_known_is_told_alone_else_what_it_was_after() -> None:
    boot, changed = lines(UNWATCHED)[1:3]
    assert (boot.when, changed.when) == ("", "after 2026-01-15 21:20:00")


@pytest.mark.parametrize(
    ("span", "words"),
    [(0, "less than 1 s"), (90, "90 s"), (150, "2 min"), (3600, "1 h"), (11_520, "3 h 12 min"), (97_200, "1 day 3 h")],
)
def test_a_span_is_told_in_two_units_at_most(span: int, words: str) -> None:
    assert lasted(span) == words


def test_of_several_hosts_each_line_tells_of_which_it_is() -> None:
    events = (event("boot", "16T10:00:00"), event("kernel", "16T11:00:00", what="xid", says="grew", host="gpu-08"))
    found = timeline("", "15T00:00:00", "17T00:00:00", events=events, hosts=("gpu-07", "gpu-08"))
    assert [(line.what, line.term) for line in lines(found)] == [("gpu-07", "boot"), ("gpu-08", "xid")]


# The picture.


def test_what_ran_is_drawn_in_proportion_and_a_gap_no_longer_than_a_part_of_that() -> None:
    scale = Scale([0, 60, 180, 100_000, 100_060], [(0, 60), (60, 180), (100_000, 100_060)])
    first, second, gap, third = (scale.at(end) - scale.at(begin) for begin, end in
                                 ((0, 60), (60, 180), (180, 100_000), (100_000, 100_060)))  # fmt: skip
    assert second == pytest.approx(2 * first)
    assert third == pytest.approx(first)
    assert gap < second
    assert [it.seconds for it in scale.gaps] == [99_820]


def test_later_is_never_drawn_further_left() -> None:
    scale = scale_of(WATCHED)
    times = sorted(seconds(at) for it in WATCHED.events for at in (it.since, it.until))
    places = [scale.at(time) for time in times]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= 1


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20), st.tuples(*[st.integers(0, 10**9)] * 2))
def test_whatever_the_times_places_are_in_their_order_and_within_the_width(
    points: list[int], ran: tuple[int, int]
) -> None:
    scale = Scale(points, [(min(ran), max(ran))])
    places = [scale.at(time) for time in sorted((*points, *ran))]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in places)


def test_without_anything_that_ran_gaps_are_cut_to_their_mean() -> None:
    assert Scale([0, 10, 1000], []).gaps != []
    assert Scale([5], []).at(5) == 0.5


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_picture_is_xml_with_a_title_and_every_mark_of_it_says_what_it_is(case: Timeline) -> None:
    root = ET.fromstring(drawing.render(case))
    assert root.findtext(f"{SVG}title") == case.says
    assert root.get("role") == "img"
    assert "prefers-color-scheme: dark" in (root.findtext(f"{SVG}style") or "")
    said = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert all(any(it.name in words for words in said) for it in case.runs)
    assert not [it for it in root.iter(f"{SVG}path") if it.find(f"{SVG}title") is None]


# Texts from outside.


class Tags(HTMLParser):
    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: set[tuple[str, tuple[str, ...]]] = set()
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, tuple(name for name, _ in attrs)))


def hostile(words: str) -> Timeline:
    """Every text of it; times, kinds and values of a closed set stay."""
    plain = json.loads(msgspec.json.encode(WATCHED))
    kept = ("since", "until", "started", "ended", "kind", "told_by", "mark", "schema", "better")
    for part in (*plain["events"], *plain["runs"]):
        part |= {key: replaced(value, words) for key, value in part.items() if key not in kept}
    texts = dict.fromkeys(("says", "a", "b"), words) | {"hosts": [words], "notes": [words]}
    return msgspec.convert(plain | texts, Timeline)


@pytest.mark.parametrize("words", HOSTILE)
def test_no_text_becomes_an_element_or_an_attribute(words: str) -> None:
    for form in (page.render, drawing.render):
        assert Tags(form(hostile(words))).found <= Tags(form(hostile("be/nign"))).found
    ET.fromstring(drawing.render(hostile(words)))
    assert "<script" not in re.sub("`[^`]*`", "", markdown.render(hostile(words)))
    assert "\x1b" not in text.render(hostile(words))


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_and_a_picture_load_nothing_and_break_no_rule_of_their_own(tmp_path: Path, dark: bool) -> None:
    files = {
        "page.html": page.render(WATCHED),
        "picture.svg": drawing.render(WATCHED),
        "none.html": page.render(NOTHING),
    }
    with browser() as opened:
        for name, content in files.items():
            (tmp_path / name).write_text(content)
            opened.open(tmp_path / name, width=390 if dark else 1200, dark=dark)
            assert opened.told == []
            assert opened.requests == [(tmp_path / name).as_uri()]
            assert opened.ask("document.documentElement.scrollWidth <= innerWidth") is True
