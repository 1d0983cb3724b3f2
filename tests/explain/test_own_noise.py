"""What a host does by itself is left out of a diff and counted; what somebody set is always told."""

from typing import Any

import pytest

from fingerprint.explain import exit_status, explain
from fingerprint.explain.contract import Diff
from fingerprint.noise import Learned, Learner, Own
from fingerprint.report.text import render
from fingerprint.runs.record import Distribution, Growth
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, state, telemetry
from probes.kit.probe import Probe
from tests.diff.made_up import Card, rack
from tests.diff.made_up import known as rack_known
from tests.diff.made_up import snapshot as state_at
from tests.explain.subjects import START, subject
from tests.runs.recorded import SECOND


class Fan(Section):
    target: Seen[int] = config("what was set", "made up")
    step: Seen[int] = state("what it settled on", "made up", settled="always")
    governor: Seen[str] = state("who governs", "made up", settled="always")
    rate: Seen[int] = config("moves with the step", "made up", follows=("made/step",))
    points: Seen[Map[Seen[int]]] = state("those there", "made up", settled="always")
    speed: Seen[int] = telemetry("moves always", "made up", "rpm")
    turns: Seen[int] = counter("only grows", "made up", "turns")


def known(area: str) -> Probe[Section] | None:
    return Probe("made", "host", Fan, lambda host, target: Fan(), 1.0, "border") if area == "made" else None


def learned(host: str = "h", changed: tuple[str, ...] = (), **facts: Any) -> Learned:
    paths = {f"made/{name}": fact for name, fact in facts.items()}
    return Learned(host=host, at=START, seconds=18.0, snapshots=10, facts=paths, changed=changed)


STEP = Own("state", "", 3, 9, 1, 4)
GOVERNOR = Own("state", "", 3, 9, values=('"a"', '"b"'))
SPEED = Own("telemetry", "rpm", 9, 9, 100, 1000)
TURNS = Own("counter", "turns", 9, 9, 0.0, 50.0)


def between(a: Fan, b: Fan, noise: Learned | None, **after: Any) -> Diff:
    one = subject("A", a)
    other = subject("B", b, at=START + 60 * SECOND, **after)
    return explain(one, other, known=known, noise=noise)


def sampled(a: Any, b: Any, noise: Learned | None, path: str = "made/speed") -> Diff:
    one, other = (subject(name, Fan(target=1), samples={path: sample}) for name, sample in (("A", a), ("B", b)))
    return explain(one, other, known=known, noise=noise)


def spread(low: float, high: float) -> Distribution:
    middle = (low + high) / 2
    return Distribution(50, middle, (low, low, middle, middle, middle, high, high))


def growth(rate: float) -> Growth:
    return Growth(0, int(rate * 10), int(rate * 10), 10.0)


def left_out(diff: Diff) -> tuple[str, ...]:
    assert diff.own_noise is not None
    return diff.own_noise.left_out


def test_a_state_that_the_host_takes_by_itself_is_no_change() -> None:
    diff = between(Fan(step=1, governor="a"), Fan(step=3, governor="b"), learned(step=STEP, governor=GOVERNOR))
    assert (diff.changes, diff.suspects, exit_status(diff)) == ((), (), 0)
    assert sorted(left_out(diff)) == ["made/governor", "made/step"]
    assert "; 2 moved no more than this host does by itself" in diff.headline


@pytest.mark.parametrize(("a", "b"), [(1, 5), (0, 4), (5, 6)])
def test_a_state_beyond_that_is_told(a: int, b: int) -> None:
    diff = between(Fan(step=a), Fan(step=b), learned(step=STEP))
    assert [change.fact for change in diff.changes] == ["made/step"]
    assert (left_out(diff), exit_status(diff)) == ((), 1)


def test_a_word_that_was_never_seen_is_told() -> None:
    diff = between(Fan(governor="a"), Fan(governor="c"), learned(governor=GOVERNOR))
    assert [change.fact for change in diff.changes] == ["made/governor"]


def test_a_state_that_moved_while_a_run_ran_is_left_out_within_that_and_told_beyond() -> None:
    noise = learned(step=STEP)
    assert left_out(between(Fan(step=1), Fan(step=1), noise, after=Fan(step=2))) == ("made/step",)
    assert left_out(between(Fan(step=1), Fan(step=1), noise, after=Fan(step=9))) == ()


def test_a_setting_is_told_however_noisy_the_file_says_it_is() -> None:
    noisy = Own("state", "", 9, 9, 0, 10_000)
    diff = between(Fan(target=1), Fan(target=2), learned(target=noisy, changed=("made/target",)))
    assert [suspect.facts for suspect in diff.suspects] == [("made/target",)]
    assert (left_out(diff), exit_status(diff)) == ((), 1)
    assert diff.own_noise is not None
    assert "while 1 lasting fact changed" in diff.own_noise.says


def test_what_followed_from_noise_stands_for_itself() -> None:
    diff = between(Fan(step=1, rate=1), Fan(step=2, rate=2), learned(step=STEP))
    assert [(change.fact, change.follows) for change in diff.changes] == [("made/rate", None)]
    assert [suspect.facts for suspect in diff.suspects] == [("made/rate",)]


def test_what_came_or_went_dark_is_told() -> None:
    known: dict[str, Any] = {"step": STEP, "points/1": STEP}
    noise = learned(**known)
    assert len(between(Fan(step=1), Fan(step=Gap("denied")), noise).changes) == 1
    assert len(between(Fan(points=Map({})), Fan(points=Map({"1": 2})), noise).changes) == 1


def test_telemetry_within_the_learned_range_is_not_told_and_outside_it_is() -> None:
    noise = learned(speed=SPEED)
    within = sampled(spread(100, 110), spread(900, 1000), noise)
    beyond = sampled(spread(100, 110), spread(900, 1001), noise)
    assert (within.during, left_out(within)) == ((), ("made/speed",))
    assert ([item.fact for item in beyond.during], left_out(beyond)) == (["made/speed"], ())


def test_telemetry_that_settles_in_a_condition_is_told_in_spite_of_how_it_moves_at_rest() -> None:
    """The clock of an idle device moves all the way down; under load that is a finding."""
    at_rest = Learner(rack_known)
    for nth, clock in enumerate((210, 1980, 345, 1980)):
        at_rest.add(state_at({"rack": rack(x=Card(busy=0, clock=clock))}, at=10**18 + nth), nth * SECOND)
    assert "rack/x/clock" not in at_rest.learned().facts
    under_load = Learner(rack_known)
    for nth, clock in enumerate((1950, 1980, 1965)):
        under_load.add(state_at({"rack": rack(x=Card(busy=99, clock=clock))}, at=10**18 + nth), nth * SECOND)
    assert under_load.learned().facts["rack/x/clock"].low == 1950


def test_growth_within_the_learned_rates_is_not_told_and_outside_them_is() -> None:
    noise = learned(turns=TURNS)
    within, beyond = (sampled(growth(2), growth(rate), noise, "made/turns") for rate in (50, 51))
    assert (within.during, left_out(within)) == ((), ("made/turns",))
    assert ([item.fact for item in beyond.during], left_out(beyond)) == (["made/turns"], ())


def test_what_is_alike_is_not_counted_as_left_out() -> None:
    diff = sampled(spread(100, 110), spread(100, 110), learned(speed=SPEED))
    assert left_out(diff) == ()


def test_what_was_learned_of_another_host_says_nothing() -> None:
    diff = between(Fan(step=1), Fan(step=2), learned("another", step=STEP))
    assert diff.own_noise is None
    assert [change.fact for change in diff.changes] == ["made/step"]


def test_without_anything_learned_nothing_is_left_out() -> None:
    diff = sampled(spread(100, 110), spread(900, 1000), None)
    assert (diff.own_noise, [item.fact for item in diff.during]) == (None, ["made/speed"])


def test_the_text_says_how_many_were_left_out_and_since_when_that_is_known() -> None:
    diff = sampled(spread(100, 110), spread(900, 1000), learned(speed=SPEED))
    assert "1 left out: it moves as much by itself" in render(diff)
    assert "made/speed; learned 2023-11-14T22:13:20Z from 10 snapshots" in render(diff)
