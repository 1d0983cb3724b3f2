"""Which change is the consequence of which, where both stand in a collection."""

from collections.abc import Mapping

from fingerprint.diff.compare import compare
from probes.kit.facts import Map, Section, Seen, config, identity, state
from probes.kit.probe import Probe
from tests.diff.made_up import state_of


class Port(Section):
    up: Seen[str] = state("whether it carries anything", "made up", settled="always")
    speed: Seen[int] = state("what it carries", "made up", settled="always", follows=("hub/*/ports/*/up",))


class Way(Section):
    open: Seen[str] = state("whether a pair may talk", "made up", settled="always", follows=("hub/*/mode",))


class Hub(Section):
    mode: Seen[str] = config("what it does", "made up")
    width: Seen[int] = state("all ports together", "made up", settled="always", follows=("hub/*/ports/**/up",))
    ports: Seen[Map[Port]] = identity("its ports", "made up")
    ways: Seen[Map[Way]] = identity("the other hubs", "made up")


class Hubs(Section):
    hubs: Seen[Map[Hub]] = identity("the hubs", "made up")


def _unread(_host: object, _target: object) -> Hubs:
    raise AssertionError("nothing is read here")


HUBS: Probe[Section] = Probe("hub", "host", Hubs, _unread, 1.0, "border")


def followed(a: Mapping[str, Hub], b: Mapping[str, Hub]) -> dict[str, str | None]:
    """Each change, and what it is a consequence of."""
    x, y = (state_of({"hub": Hubs(hubs=Map(dict(hubs)))}) for hubs in (a, b))
    return {change.text: change.follows for change in compare(x, y, known=lambda _: HUBS).changes}


def port(up: str, speed: int) -> Port:
    return Port(up=up, speed=speed)


def test_a_change_of_one_item_follows_none_of_another_item() -> None:
    a = {"0": Hub(ports=Map({"1": port("yes", 9)})), "1": Hub(ports=Map({"1": port("yes", 9)}))}
    b = {"0": Hub(ports=Map({"1": port("no", 9)})), "1": Hub(ports=Map({"1": port("yes", 4)}))}
    assert followed(a, b) == {"hub/0/ports/1/up": None, "hub/1/ports/1/speed": None}


def test_a_change_within_an_item_of_an_item_follows_one_of_both_the_same() -> None:
    a = {"0": Hub(ports=Map({"1": port("yes", 9), "2": port("yes", 9)}))}
    b = {"0": Hub(ports=Map({"1": port("no", 0), "2": port("yes", 4)}))}
    assert followed(a, b) == {
        "hub/0/ports/1/up": None, "hub/0/ports/1/speed": "hub/0/ports/1/up", "hub/0/ports/2/speed": None,
    }  # fmt: skip


def test_what_an_item_comes_to_follows_what_changed_anywhere_below_it_and_below_no_other() -> None:
    ports = {up: Map({"1": port(up, 9)}) for up in ("yes", "no")}
    a = {"0": Hub(width=9, ports=ports["yes"]), "1": Hub(width=9, ports=ports["yes"])}
    b = {"0": Hub(width=0, ports=ports["no"]), "1": Hub(width=8, ports=ports["yes"])}
    assert followed(a, b) == {"hub/0/ports/1/up": None, "hub/0/width": "hub/0/ports/1/up", "hub/1/width": None}


def test_a_pair_follows_what_changed_on_either_of_it() -> None:
    def hubs(mode: str, open_: str) -> dict[str, Hub]:
        ways = {name: Map({other: Way(open=open_)}) for name, other in (("0", "1"), ("1", "0"))}
        return {"0": Hub(mode="a", ways=ways["0"]), "1": Hub(mode=mode, ways=ways["1"]), "2": Hub(mode="a")}

    found = followed(hubs("a", "yes"), hubs("b", "no"))
    assert found == {"hub/1/mode": None, "hub/*/ways/*/open": "hub/1/mode"}


def test_a_pair_follows_nothing_of_a_third() -> None:
    a = {"0": Hub(ways=Map({"1": Way(open="yes")})), "2": Hub(mode="a")}
    b = {"0": Hub(ways=Map({"1": Way(open="no")})), "2": Hub(mode="b")}
    assert followed(a, b) == {"hub/0/ways/1/open": None, "hub/2/mode": None}


def test_the_same_on_all_items_is_one_change_and_one_consequence() -> None:
    a, b = ({key: Hub(ports=Map({"1": port(up, speed)})) for key in "01"} for up, speed in (("yes", 9), ("no", 0)))
    assert followed(a, b) == {"hub/*/ports/1/up": None, "hub/*/ports/1/speed": "hub/*/ports/1/up"}


class Tool(Section):
    variables: Seen[Map[Seen[str]]] = config("what it finds set", "made up", follows=("env/*",))


class Environment(Section):
    set: Seen[Map[Seen[str]]] = config("what is set", "made up")


BOTH: dict[str, Probe[Section]] = {
    "tool": Probe("tool", "host", Tool, _unread, 1.0, "border"),
    "env": Probe("env", "host", Environment, _unread, 1.0, "border"),
}


def test_a_variable_follows_its_namesake_and_no_variable_that_merely_comes_before_it() -> None:
    a, b = (
        state_of(
            {
                "tool": Tool(variables=Map({"ALGO": algorithm})),
                "env": Environment(set=Map({"ALGO": algorithm, "AAA": algorithm})),
            }
        )
        for algorithm in ("Ring", "Tree")
    )
    found = {change.text: change.follows for change in compare(a, b, known=BOTH.get).changes}
    assert found == {"env/AAA": None, "env/ALGO": None, "tool/ALGO": "env/ALGO"}
