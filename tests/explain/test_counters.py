"""Counters of trouble, whether sampled or read at the borders of a run alone."""

from typing import Any

from fingerprint.runs.record import Growth, Sample
from probes.kit.facts import Map
from tests.diff.made_up import Card, Lane, Rack, rack
from tests.explain.subjects import explained, subject


def counted(name: str, before: Any, after: Any) -> Any:
    """A run before which the card `x` counted `before` errors, and `after` at its end."""
    return subject(name, area="rack", made=rack(x=Card(errors=before)), after=rack(x=Card(errors=after)))


def lines(a: Any, b: Any) -> list[tuple[str, str, Any, Any]]:
    return [(c.fact, c.verdict, c.before, c.after) for c in explained(a, b).changes if c.kind == "counter"]


def test_errors_that_grew_within_one_run_only_are_told_whatever_they_were_before() -> None:
    assert lines(counted("A", 5, 5), counted("B", 7, 25)) == [("rack/x/errors", "grew", 0, 18)]


def test_errors_that_grew_are_suspects_before_a_setting_that_differs() -> None:
    a = subject("A", area="rack", made=rack(x=Card(errors=5, limit=700)), after=rack(x=Card(errors=5, limit=700)))
    b = subject("B", area="rack", made=rack(x=Card(errors=5, limit=450)), after=rack(x=Card(errors=14, limit=450)))
    diff = explained(a, b)
    assert [suspect.facts for suspect in diff.suspects] == [("rack/x/errors",), ("rack/x/limit",)]
    assert diff.headline.startswith("rack/x/errors stood still -> grew by 9 errors (and 1 more suspect)")
    assert diff.next[0] == "Find out why rack/x/errors grew: it stands still where all is well."
    assert diff.suspects[0].bracket == ("2023-11-14T22:13:20Z", "2023-11-14T22:13:29Z")


def test_what_follows_from_a_counter_that_grew_on_the_same_device_is_no_suspect() -> None:
    def at(count: int) -> Rack:
        return rack(x=Card(errors=count, losses=count), y=Card(errors=0, losses=count))

    a = subject("A", area="rack", made=at(0), after=at(0))
    diff = explained(a, subject("B", area="rack", made=at(0), after=at(3)))
    told = {suspect.facts[0]: suspect.consequences for suspect in diff.suspects}
    assert told == {"rack/x/errors": ("rack/x/losses",), "rack/y/losses": ()}
    assert diff.headline.startswith("rack/x/errors stood still -> grew by 3 errors on 1/2")


def test_errors_that_stood_still_or_grew_in_both_are_not_told() -> None:
    assert lines(counted("A", 5, 5), counted("B", 7, 7)) == []
    assert lines(counted("A", 5, 6), counted("B", 7, 9)) == []


def test_a_counter_that_fell_from_border_to_border_was_reset() -> None:
    assert lines(counted("A", 5, 5), counted("B", 7, 0)) == [("rack/x/errors", "was reset", None, None)]


def test_samples_tell_more_than_the_borders() -> None:
    a = counted("A", 5, 5)
    sampled: dict[str, Sample] = {"rack/x/errors": Growth(7, 7, 0, 10.0)}
    b = subject("B", area="rack", made=rack(x=Card(errors=7)), after=rack(x=Card(errors=99)), samples=sampled)
    assert lines(a, b) == []


def test_the_same_counter_of_several_devices_is_one_line_that_counts_them() -> None:
    def ran(name: str, *replays: int) -> Any:
        def at(factor: int) -> Rack:
            lanes = {str(n): Lane(name="l", replays=factor * count) for n, count in enumerate(replays)}
            return rack(x=Card(lanes=Map(lanes)), y=Card(lanes=Map(lanes)))

        return subject(name, area="rack", made=at(0), after=at(1))

    [change] = [c for c in explained(ran("A", 0, 0, 0), ran("B", 9, 18, 0)).changes if c.kind == "counter"]
    assert (change.fact, change.on, change.unit) == ("rack/*/lanes/*/replays", "4/6", "")
    assert change.values["rack/y/lanes/1/replays"] == (0, 18)


def test_a_device_that_moved_keeps_its_counters() -> None:
    def ran(name: str, slots: tuple[str, str], grown: int) -> Any:
        def at(count: int) -> Rack:
            return rack(**{slots[0]: Card(uuid="1", errors=0), slots[1]: Card(uuid="2", errors=count)})

        return subject(name, area="rack", made=at(0), after=at(grown))

    assert lines(ran("A", ("x", "y"), 9), ran("B", ("y", "x"), 18)) == []
