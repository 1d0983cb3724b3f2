"""What holds for any two sections."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from fingerprint.diff import Changes, compare
from fingerprint.diff.known import is_waiting, waiting
from fingerprint.runs.effective import Effective, effective
from fingerprint.runs.record import Held, Sampled, Snapped, Uncounted
from fingerprint.sections import leaves
from fingerprint.walk import differences
from probes.kit.facts import NOT_READ, Gap, Map, Redacted
from tests.diff.made_up import Card, Device, Lane, Links, Made, Rack, known, made, snapshot
from tests.runs.recorded import run

MIRRORED = {"appeared": "vanished", "vanished": "appeared", "went dark": "came to light", "came to light": "went dark"}

gaps = st.sampled_from([NOT_READ, Gap("absent"), Gap("denied"), Gap("lost"), Gap("failed", "why")])
numbers = gaps | st.integers(0, 3)
words = gaps | st.sampled_from(["a", "b"])
private = words | st.builds(Redacted, st.sampled_from("kl"), st.sampled_from("12"))
keys = st.sampled_from(["0", "1", "x/y"])
devices = st.builds(Device, limit=numbers)
facts = st.fixed_dictionaries(
    {
        "mode": words, "after_mode": numbers, "ratio": numbers, "bytes": numbers, "name": words, "heat": numbers,
        "links": st.builds(Links, width=gaps | st.integers(0, 8)),
        "devices": gaps | st.builds(Map, st.dictionaries(keys, devices)),
        "variables": gaps | st.builds(Map, st.dictionaries(keys, private)),
    }
)  # fmt: skip

cards = st.builds(
    Card, uuid=st.sampled_from("12") | gaps, limit=numbers, mode=words, slot=numbers, width=numbers,
    lanes=gaps | st.builds(Map, st.dictionaries(st.sampled_from("01"), st.builds(Lane, name=words))),
)  # fmt: skip
counts = st.integers(0, 40)
held = st.lists(counts, min_size=1, max_size=3).map(lambda times: tuple(enumerate(times)))
samples = st.builds(Held, held, left_out=counts) | st.builds(Uncounted, counts)
racks = st.dictionaries(st.sampled_from("xy"), cards).map(lambda found: Rack(cards=Map(found)))


@st.composite
def runs(draw: st.DrawFn) -> Effective:
    """A rack before and after a run in which the widths of its cards were sampled, or were not."""
    before = draw(racks)
    after = draw(st.just(before) | racks)
    facts = {f"rack/{key}/width": draw(samples) for key in draw(st.sets(st.sampled_from("xy")))}
    taken = {"s1": snapshot({"rack": before}, id_="s1"), "s2": snapshot({"rack": after}, id_="s2")}
    moments = (Snapped(at=1, moment="before", snapshot="s1"), Snapped(at=2, moment="after", snapshot="s2"))
    return effective(run(*moments, Sampled(at=2, ticks=9, missed=0, facts=facts)), taken)


def told(changes: Changes) -> Counter[tuple[str, str, str, str]]:
    each = [change for folded in changes.changes for change in folded.changes]
    return Counter((str(c.path), c.verdict, repr(c.before), repr(c.after)) for c in each)


@given(racks, st.dictionaries(keys, st.builds(Device, limit=numbers, speed=numbers)))
def test_no_state_that_waits_lies_beside_the_ways_to_them(rack: Rack, found: dict[str, Device]) -> None:
    for section in (rack, Made(mode="a", devices=Map(found))):
        every = [leaf for leaf in leaves(section) if is_waiting(leaf.fact)]
        assert [leaf for leaf in leaves(section, fields=waiting) if is_waiting(leaf.fact)] == every


@given(runs())
def test_nothing_but_what_moved_alike_in_both_is_told_of_a_run_against_itself(state: Effective) -> None:
    changes = compare(state, state, known=known).changes
    assert all(change.first.context and change.first.verdict == "changed during the run" for change in changes)


@given(runs(), runs())
def test_mirrored_runs_give_mirrored_changes(a: Effective, b: Effective) -> None:
    there, back = compare(a, b, known=known), compare(b, a, known=known)
    assume(not any(pair.how == "unit moved" for pair in there.pairing))  # it is told under its key of A
    assert there.ruled_out == back.ruled_out
    swapped = ((path, MIRRORED.get(v, v), y, x) for (path, v, x, y) in told(there).elements())
    assert Counter(swapped) == told(back)


@given(runs(), runs())
def test_no_fact_is_told_and_not_known_at_once(a: Effective, b: Effective) -> None:
    found = compare(a, b, known=known)
    changed = [change.names for folded in found.changes for change in folded.changes]
    unknown = [u.names for u in found.not_known]
    assert len({*changed, *unknown}) == len(changed) + len(unknown)


def compared(a: dict[str, Any], b: dict[str, Any]) -> Changes:
    return compare(made(**a), made(**b), known=known)


def lasting_paths(values: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    return (leaf.names for leaf in leaves(Made(**values)) if leaf.fact.lasting)


@given(facts)
def test_nothing_changed_from_a_section_to_itself(values: dict[str, Any]) -> None:
    assert compared(values, values).changes == ()


@given(facts, facts)
def test_mirrored_sections_give_mirrored_changes(a: dict[str, Any], b: dict[str, Any]) -> None:
    there, back = compared(a, b), compared(b, a)
    assert there.ruled_out == back.ruled_out
    mirrored = Counter(
        (change.path, MIRRORED.get(change.verdict, change.verdict), repr(change.after), repr(change.before))
        for folded in there.changes
        for change in folded.changes
    )
    assert mirrored == Counter(
        (change.path, change.verdict, repr(change.before), repr(change.after))
        for folded in back.changes
        for change in folded.changes
    )


@given(facts, facts)
def test_every_lasting_path_is_a_change_or_not_known_or_ruled_out_and_only_one_of_these(
    a: dict[str, Any], b: dict[str, Any]
) -> None:
    found = compared(a, b)
    changed = [change.names for folded in found.changes for change in folded.changes]
    unknown = [u.names for u in found.not_known]
    assert len({*changed, *unknown}) == len(changed) + len(unknown)
    told = {*changed, *unknown}
    key_sets = {names[:-1] for names in told}  # a collection whose keys differ is told by its items
    left = {
        names
        for names in {*lasting_paths(a), *lasting_paths(b)}
        if not any(names[:end] in told for end in range(1, len(names) + 1))
        and not (names in key_sets and _keys(a, names) != _keys(b, names))
    }
    assert sum(found.ruled_out.values()) == len(left)


def _keys(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    value = values.get(names[0])
    return set(value.items) if isinstance(value, Map) and len(names) == 1 else None


@given(facts, facts)
def test_the_walk_is_empty_for_equal_sections_alone(a: dict[str, Any], b: dict[str, Any]) -> None:
    width = (a["links"].width, b["links"].width)
    beyond = any(isinstance(side, Gap) for side in width) or abs(width[0] - width[1]) > 1
    same = Made(**{**a, "links": Links()}) == Made(**{**b, "links": Links()}) and (
        a["links"] == b["links"] or not beyond
    )
    assert (not list(differences(Made(**a), Made(**b)))) == same
