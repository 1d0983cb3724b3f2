"""Counters that nobody sampled grow from the snapshot before a run to the one after it."""

from typing import Any

from msgspec.structs import replace

from fingerprint.runs.borders import grown_between
from fingerprint.runs.document import document
from fingerprint.runs.effective import Effective, effective, effective_of_snapshot
from fingerprint.runs.record import Growth, Sample, Sampled, Snapped, Uncounted
from fingerprint.runs.run import Run
from fingerprint.snapshot import Key, Reading, reading_of
from probes.kit.facts import Gap, Map, Section, Seen, counter
from tests.diff.made_up import Card, Lane, Made, Rack, rack, snapshot
from tests.runs.recorded import SECOND, run


class Port(Section):
    sent: Seen[int] = counter("begins again when it is full", "made up", wraps_at=1 << 32)
    packets: Seen[int] = counter("only grows", "made up")


TYPES: dict[str, type[Section]] = {"rack": Rack, "made": Made}


def ran(before: Section | Reading, after: Section | Reading, **facts: Sample) -> tuple[Run, Effective]:
    """A run of 8 s."""
    samples = {f"rack/x/{name}": sample for name, sample in facts.items()}
    taken = {
        "s1": snapshot({"rack": before}, id_="s1", at=SECOND),
        "s2": snapshot({"rack": after}, id_="s2", at=9 * SECOND),
    }
    told = (Snapped(at=1, moment="before", snapshot="s1"), Snapped(at=2, moment="after", snapshot="s2"))
    folded = run(*told, Sampled(at=2, ticks=9, missed=0, facts=samples))
    return folded, effective(folded, taken)


def grown(before: Section | Reading, after: Section | Reading, **facts: Sample) -> Any:
    return grown_between(ran(before, after, **facts)[1], TYPES.get)


def test_a_counter_grew_by_what_it_was_more_afterwards() -> None:
    assert grown(rack(x=Card(errors=3)), rack(x=Card(errors=8))) == {"rack/x/errors": Growth(3, 8, 5, 8.0)}


def test_counters_of_items_within_items_are_found() -> None:
    before, after = (rack(x=Card(lanes=Map({"0": Lane(replays=n)}))) for n in (0, 7))
    assert grown(before, after) == {"rack/x/lanes/0/replays": Growth(0, 7, 7, 8.0)}


def test_where_it_fell_nothing_is_added() -> None:
    found = grown(rack(x=Card(errors=8)), rack(x=Card(errors=2)))
    assert found == {"rack/x/errors": Growth(8, 2, 0, 8.0, resets=1)}


def test_of_a_counter_that_wraps_two_readings_tell_nothing() -> None:
    state = ran(Port(sent=3, packets=3), Port(sent=8, packets=8))[1]
    assert grown_between(state, {"rack": Port}.get) == {"rack/packets": Growth(3, 8, 5, 8.0)}


def test_a_counter_that_was_not_seen_twice_did_not_grow() -> None:
    assert grown(rack(x=Card(errors=8)), rack(x=Card(errors=Gap("lost")))) == {}
    assert grown(rack(), rack(x=Card(errors=8))) == {}
    assert grown(Reading("timed_out"), rack(x=Card(errors=8))) == {}


def test_samples_stand_where_there_are_any() -> None:
    assert grown(rack(x=Card(errors=3)), rack(x=Card(errors=8)), errors=Growth(3, 4, 1, 8.0)) == {}


def test_a_snapshot_alone_tells_of_no_growth() -> None:
    assert grown_between(effective_of_snapshot(snapshot({"rack": rack(x=Card(errors=8))})), TYPES.get) == {}


def test_an_area_of_another_release_tells_nothing() -> None:
    _, state = ran(rack(x=Card(errors=3)), rack(x=Card(errors=8)))
    assert grown_between(state, lambda area: None) == {}
    assert grown_between(state, lambda area: Made) == {}


def test_a_reading_under_load_leaves_the_borders_to_tell() -> None:
    readings = {moment: reading_of(rack(x=Card(errors=n))) for n, moment in enumerate(("before", "during", "after"))}
    taken = {moment: snapshot({"rack": it}, id_=moment, at=SECOND) for moment, it in readings.items()}
    moments: Any = readings
    state = effective(run(*(Snapped(at=1, moment=moment, snapshot=moment) for moment in moments)), taken)
    assert state.sections[Key("rack")].under_load
    assert grown_between(state, TYPES.get) == {"rack/x/errors": Growth(0, 2, 2, 0.0)}


def test_the_published_run_holds_samples_with_their_unit_and_condition_and_growth_between() -> None:
    folded, state = ran(rack(x=Card(errors=3)), rack(x=Card(errors=8)), clock=Uncounted(41))
    told = document(folded, "closed", state, TYPES)["samples"]
    assert told == {
        "rack/x/clock": {"type": "uncounted", "left_out": 41, "unit": "MHz", "condition": "gpu busy"},
        "rack/x/errors": {
            "type": "growth", "first": 3, "last": 8, "grown": 5, "seconds": 8.0, "resets": 0,
            "unit": "errors", "condition": "always",
        },
    }  # fmt: skip
    odd = document(folded, "closed", replace(state, samples={"odd": Uncounted(1)}), TYPES)["samples"]["odd"]
    assert odd == {"type": "uncounted", "left_out": 1, "unit": "", "condition": "always"}
