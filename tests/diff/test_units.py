"""Units that moved or were swapped, and releases that report more or less: what that brings with it is no news."""

from typing import Any

from fingerprint.diff import Changes, compare
from fingerprint.explain.suspects import restore
from fingerprint.runs.effective import Effective
from probes.driver import Driver
from probes.driver.module import Module
from probes.gpu import Gpu, Gpus
from probes.gpu.ecc import Ecc
from probes.gpu.health import Health
from probes.gpu.peers import Peer
from probes.gpu.settings import NO_SOCKET
from probes.kit.facts import Gap, Map
from tests.diff.made_up import state_of

UNSUPPORTED = Gap("unsupported")


def host(driver: str = "580", **gpus: Gpu) -> Effective:
    return state_of({"gpu": Gpus(gpus=Map(gpus)), "driver": Driver(module=Module(version=driver))})


def gpu(uuid: str, *peers: str, **facts: Any) -> Gpu:
    return Gpu(uuid=uuid, peers=Map({peer: Peer(topology="PIX") for peer in peers}), **facts)


def causes(changes: Changes) -> list[str]:
    return [c.text for c in changes.changes if c.follows is None and not c.first.context]


def test_another_unit_is_one_change_and_what_it_is_follows() -> None:
    before = gpu("1", serial="11", vbios_version="96", ecc=Ecc(mode_default="enabled"), power_limit=700)
    after = gpu("2", serial="22", vbios_version="97", ecc=Ecc(mode_default="disabled"), power_limit=450)
    assert causes(compare(host(x=before), host(x=after))) == ["gpu/x/uuid", "gpu/x/power_limit"]


def test_where_clouds_hide_the_uuid_the_serial_tells_it() -> None:
    before, after = (Gpu(uuid=UNSUPPORTED, serial=serial, vbios_version=serial) for serial in ("1", "2"))
    assert causes(compare(host(x=before), host(x=after))) == ["gpu/x/serial"]


def test_a_flashed_unit_is_no_other_unit() -> None:
    before, after = (gpu("1", serial="11", vbios_version=version) for version in ("96", "97"))
    assert causes(compare(host(x=before), host(x=after))) == ["gpu/x/vbios_version"]


def test_units_that_changed_places_keep_their_peers() -> None:
    changes = compare(
        host(x=gpu("1", "y", "z"), y=gpu("2", "x", "z"), z=gpu("3", "x", "y")),
        host(x=gpu("2", "y", "z"), y=gpu("1", "x", "z"), z=gpu("3", "x", "y")),
    )
    assert changes.changes == ()


def test_a_unit_that_moved_is_set_back_where_it_is_now() -> None:
    a = host(x=gpu("1", power_limit=700_000), y=gpu("2", power_limit=700_000))
    b = host(x=gpu("2", power_limit=450_000), y=gpu("1", power_limit=700_000))
    [change] = compare(a, b).changes
    assert change.text == "gpu/y/power_limit"
    assert restore(change) == "nvidia-smi -i x -pl 700"


def test_what_another_driver_tells_and_the_first_did_not_follows_from_it() -> None:
    a, b = gpu("1", addressing_mode=UNSUPPORTED), gpu("1", addressing_mode="none")
    by_itself = compare(host(x=a), host(x=b))
    upgraded = compare(host("580", x=a), host("595", x=b))
    assert [(c.text, c.follows) for c in by_itself.changes] == [("gpu/x/addressing_mode", None)]
    assert causes(upgraded) == ["driver/module/version"]


def test_a_state_that_one_side_could_not_read_at_rest_is_not_known() -> None:
    a, b = gpu("1", performance_state="P8"), gpu("1", performance_state=UNSUPPORTED)
    changes = compare(host(x=a), host(x=b))
    assert changes.changes == ()
    [unknown] = [u for u in changes.not_known if u.names[-1:] == ("performance_state",)]
    assert (unknown.a, unknown.b) == ("seen", "unsupported")


def test_why_something_went_dark_is_said() -> None:
    a, b = gpu("1", persistence_mode="enabled"), gpu("1", persistence_mode=NO_SOCKET)
    [change] = compare(host(x=a), host(x=b)).changes
    assert (change.first.verdict, change.first.says) == ("went dark", NO_SOCKET.detail)


def test_why_a_whole_device_went_dark_is_what_most_of_its_facts_say() -> None:
    asleep = Gap("asleep", "suspended")
    dark = Gpu(uuid=asleep, serial=asleep, vbios_version=asleep, name=Gap("failed", "garbled"))
    [change] = compare(host(x=gpu("1", serial="11", vbios_version="96")), host(x=dark)).changes
    assert (change.text, change.first.says) == ("gpu/x", "suspended")


def test_a_need_is_mended_and_never_set_back() -> None:
    well, ill = (gpu("1", health=Health(recovery_action=action)) for action in ("none", "gpu_reset"))
    [fell_ill] = compare(host(x=well), host(x=ill)).changes
    [recovered] = compare(host(x=ill), host(x=well)).changes
    assert (restore(fell_ill) or "").startswith("nvidia-smi -i x -r")
    assert restore(recovered) is None
