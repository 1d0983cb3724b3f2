"""Devices that went, and facts that a driver no longer reports."""

from typing import Any

from fingerprint.diff.known import probe_of
from fingerprint.explain import exit_status, explain
from fingerprint.runs.record import Distribution, Held, Sample
from probes.gpu import Gpu, Gpus
from probes.gpu.nvlink import Link, NvLinks
from probes.gpu.peers import Peer as GpuPeer
from probes.kit.facts import Gap, Map
from tests.diff.made_up import Card, Device, Lane, Made, Peer, Rack, rack
from tests.explain.subjects import explained, subject

ONE, OTHER = "0000:17:00.0", "0000:2a:00.0"
LANES = Map({"0": Lane(name="up")})
WELL = Card(uuid="1", limit=700_000, mode="a", slot=3, lanes=LANES)
GONE: dict[str, Any] = dict.fromkeys(("uuid", "limit", "mode", "slot", "lanes"), Gap("lost"))


def ran(name: str, made: Rack, after: Rack | None = None, samples: dict[str, Sample] | None = None) -> Any:
    return subject(name, area="rack", made=made, after=after, samples=samples or {})


def test_a_device_that_was_lost_in_the_middle_of_a_run_is_the_first_suspect() -> None:
    twin = Card(uuid="2", limit=700_000, mode="a", slot=4)
    capped = Card(uuid="2", limit=450_000, mode="b", slot=4)
    a = ran("A", rack(x=WELL, y=twin))
    b = ran("B", rack(x=WELL, y=capped), after=rack(x=Card(**GONE), y=capped))
    diff = explained(a, b)
    first = diff.suspects[0]
    assert (first.facts, first.before) == (("rack/x",), "seen")
    assert first.after == {"during": ["seen", {"gap": "lost"}]}
    assert "rack/x seen -> seen then (lost)" in diff.headline
    assert {suspect.facts[0] for suspect in diff.suspects[1:]} == {"rack/y/limit", "rack/y/mode"}
    assert diff.changes[0].verdict == "changed during the run"
    assert exit_status(diff) == 1


def test_which_devices_changed_is_told_where_it_is_several_and_not_all() -> None:
    def racks(*limits: int) -> Rack:
        return rack(
            **{name: Card(uuid=name, limit=limit, mode="a", slot=1) for name, limit in zip("xyz", limits, strict=True)}
        )

    a = ran("A", racks(3, 3, 3))
    for limits, which in (((1, 3, 1), ("rack/x/limit", "rack/z/limit")), ((1, 1, 1), ()), ((3, 1, 3), ())):
        diff = explained(a, ran("B", racks(*limits)))
        assert [(s.which, c.which) for s, c in zip(diff.suspects, diff.changes, strict=True)] == [(which, which)]


def test_what_others_lost_by_a_lost_device_is_its_consequence() -> None:
    def pair(status: Any) -> Card:
        return Card(uuid="2", limit=1, mode="a", slot=4, peers=Map({"x": Peer(status=status)}))

    well, broken = rack(x=WELL, y=pair("ok")), rack(x=Card(**GONE), y=pair(Gap("lost")))
    for diff in (
        explained(ran("A", well), ran("B", well, after=broken)),
        explained(ran("A", well), ran("B", broken)),
    ):
        assert [(s.facts, s.consequences) for s in diff.suspects] == [(("rack/x",), ("rack/y/peers/x/status",))]
        assert diff.next[0] == "See in the kernel log why rack/x was lost, before anything is run on it again"


def test_devices_that_could_not_be_read_are_named_at_once_and_facts_that_went_dark_with_them_are_one_line() -> None:
    dark: dict[str, Any] = dict.fromkeys(("uuid", "limit", "mode", "slot", "lanes"), Gap("failed", "no answer"))
    plain = Card(uuid="2", limit=1, mode="a", slot=Gap("failed", "no answer"))
    a, b = rack(x=WELL, y=Card(uuid="2", limit=1, mode="a", slot=4)), rack(x=Card(**dark), y=plain)
    diff = explained(ran("A", a), ran("B", b))
    assert diff.headline == "Nothing is known to have changed, but not all could be compared: rack/x went dark on 1/2."
    assert "See why rack/x, rack/y/slot could not be read: fingerprint doctor" in diff.next


def test_what_a_driver_no_longer_reports_is_no_suspect_and_says_so() -> None:
    a, b = ran("A", rack(x=WELL)), ran("B", rack(x=Card(uuid="1", limit=Gap("retired"), mode="a", slot=3, lanes=LANES)))
    there, back = explained(a, b), explained(b, a)
    assert (there.suspects, exit_status(there)) == ((), 0)
    assert [(c.fact, c.verdict, c.says) for c in there.changes] == [("rack/x/limit", "went dark", "no longer reported")]
    assert [c.says for c in back.changes] == ["not reported by the other driver or kernel"]


def test_a_link_that_narrowed_under_load_is_a_suspect_and_one_at_rest_is_none() -> None:
    wide: dict[str, Sample] = {"rack/x/width": Held(((16, 40),))}
    narrow: dict[str, Sample] = {"rack/x/width": Held(((8, 40),))}
    at = rack(x=Card(uuid="1", width=1))
    under_load = explained(ran("A", at, samples=wide), ran("B", at, samples=narrow))
    assert [(s.facts, s.before, s.after) for s in under_load.suspects] == [(("rack/x/width",), 16, 8)]
    at_rest = explained(ran("A", rack(x=Card(uuid="1", width=16))), ran("B", rack(x=Card(uuid="1", width=8))))
    assert (at_rest.suspects, [c.verdict for c in at_rest.changes]) == ((), ["not comparable"])


def test_what_was_left_out_is_said_beside_what_was_seen() -> None:
    def clock(value: float, left_out: int) -> dict[str, Sample]:
        return {"rack/x/clock": Distribution(40, value, (value,) * 7, left_out)}

    at = rack(x=Card(uuid="1"))
    [during] = explained(ran("A", at, samples=clock(1980, 3)), ran("B", at, samples=clock(600, 12))).during
    assert during.says == "median 1980 -> 600 MHz while gpu busy; 40 of 43 and 40 of 52 samples"


def test_telemetry_of_exchanged_devices_is_compared_device_by_device() -> None:
    def clocks(x: float, y: float) -> dict[str, Sample]:
        return {f"rack/{key}/clock": Distribution(40, v, (v,) * 7) for key, v in (("x", x), ("y", y))}

    one, two = Card(uuid="1"), Card(uuid="2")
    a, b = (
        ran("A", rack(x=one, y=two), samples=clocks(1980, 600)),
        ran("B", rack(x=two, y=one), samples=clocks(600, 1980)),
    )
    assert explained(a, b).during == ()


def test_devices_of_another_section_keep_their_own_lines() -> None:
    made = Made(devices=Map({"0": Device(uuid="1", limit=600_000)}))
    less = Made(devices=Map({"0": Device(uuid="1", limit=450_000)}))
    [suspect] = explained(subject("A", made), subject("B", less)).suspects
    assert suspect.restore == "set 0 600000"


def test_a_gpu_is_looked_at_by_a_command_that_shows_the_fact() -> None:
    def gpus(mode: str, link: str, peer: str, topology: str) -> Gpus:
        links = NvLinks(links=Map({"17": Link(state=link)}))
        peers = Map({OTHER: GpuPeer(p2p_read=peer, topology=topology)})
        return Gpus(gpus=Map({ONE: Gpu(compute_mode=mode, nvlink=links, peers=peers)}))

    sides = ("A", gpus("default", "active", "ok", "switch")), ("B", gpus("prohibited", "inactive", "no", "system"))
    a, b = (subject(name, area="gpu", made=made) for name, made in sides)
    checks = {suspect.facts[0].rpartition("/")[2]: suspect.check for suspect in explain(a, b, known=probe_of).suspects}
    assert checks == {
        "compute_mode": f"nvidia-smi -q -i {ONE}",
        "state": f"nvidia-smi nvlink --status -i {ONE}",
        "p2p_read": "nvidia-smi topo -p2p r",
        "topology": "nvidia-smi topo -m",
    }


def test_an_item_that_went_dark_with_its_device_is_not_named_first() -> None:
    dark: dict[str, Any] = dict.fromkeys(("uuid", "limit", "mode", "slot", "lanes"), Gap("asleep"))

    def rest(status: Any) -> Card:
        return Card(uuid="2", limit=1, mode="a", slot=4, peers=Map({"x": Peer(status=status)}))

    diff = explained(ran("A", rack(x=WELL, a=rest("ok"))), ran("B", rack(x=Card(**dark), a=rest(Gap("asleep")))))
    assert diff.headline.endswith(": rack/x went dark on 1/2.")
