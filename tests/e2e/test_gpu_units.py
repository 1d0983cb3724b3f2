"""Which GPU sits where: swapped, exchanged, missing, lost, asleep, or not given to a container."""

from collections.abc import Mapping

import pytest

from tests.e2e.gpu_host import ENFORCED, ONE, OTHER, POWER_LIMIT, GpuHost, MakeHost, needs_root
from tests.nvml.profiles import unit
from tests.nvml.scenario import EACH_CALL, error

UUID, SERIAL, VBIOS = "nvmlDeviceGetUUID", "nvmlDeviceGetSerial", "nvmlDeviceGetVbiosVersion"
LOST, RESET_REQUIRED = error(15), error(16)
SWAPPED = {UUID: f"GPU-{unit(ONE, 'another')}", SERIAL: "1650000000001", VBIOS: "96.00.74.00.11"}


def exchange(host: GpuHost) -> None:
    """The boards of the first two slots; what belongs to the slot stays."""
    devices = host.nvml.scenario["devices"]
    boards = {slot: {key: devices[slot][key] for key in (UUID, SERIAL)} for slot in (ONE, OTHER)}
    host.put(boards[OTHER], ONE)
    host.put(boards[ONE], OTHER)


def test_a_gpu_that_was_swapped_in_its_slot_is_one_suspect(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    before = host.snapshot()
    host.put(SWAPPED, ONE)
    told = host.diff(before, host.snapshot())
    assert told.pairing == {(ONE, ONE): "slot has another unit"}
    assert told.causes == {f"gpu/{ONE}/uuid": ("1/8", before.fact(f"gpu/{ONE}/uuid"), SWAPPED[UUID])}
    assert told.with_it == {f"gpu/{ONE}/serial", f"gpu/{ONE}/vbios_version"}
    assert told.others == {}
    assert told.json["comparable"]["same_gpus"] is False
    assert "1 GPU was exchanged for another." in told.line
    assert f"{ONE} with {ONE} slot has another unit" in told.line
    assert told.json["next"][0].startswith(f"Compare it with {before.fact(f'gpu/{ONE}/uuid')}")


def test_two_gpus_that_were_exchanged_are_compared_with_themselves(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    before = host.snapshot()
    exchange(host)
    told = host.diff(before, host.snapshot())
    assert told.pairing == {(ONE, OTHER): "unit moved", (OTHER, ONE): "unit moved"}
    assert told.causes == {}
    assert told.others == {}
    assert list(told.context) == ["gpu/*/module_id"]
    assert told.json["comparable"]["same_gpus"] is True
    assert told.line.startswith("2 GPUs are in other slots. Nothing changed: ")


def test_a_limit_on_a_gpu_that_moved_is_set_back_in_the_slot_where_it_sits(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    before = host.snapshot()
    exchange(host)
    host.put({POWER_LIMIT: 450_000, ENFORCED: 450_000}, OTHER)
    told = host.diff(before, host.snapshot())
    assert told.causes == {f"gpu/{ONE}/power_limit": ("1/8", 700_000, 450_000)}, "by the name that it had in the first"
    assert f"nvidia-smi -i {OTHER} -pl" in told.json["suspects"][0]["restore"]
    assert told.line.startswith(f"2 GPUs are in other slots. gpu/{ONE}/power_limit 700 -> 450 W on 1/8. ")


def test_a_gpu_that_is_missing_is_one_suspect_with_its_place_among_the_others(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    before = host.snapshot()
    host.nvml.put(ONE, "listed", False)
    now = host.snapshot()
    assert len(now.gpus) == 7
    told = host.diff(before, now)
    assert told.pairing == {(ONE, ""): "only in a"}
    assert told.causes == {f"gpu/{ONE}": ("1/8", "seen", {"gap": "absent"})}
    assert told.with_it == {f"gpu/*/peers/{ONE}"}
    assert told.others == {}
    assert told.line.startswith(f"gpu/{ONE} seen -> (absent) on 1/8. ")
    assert "1 GPU is there in A only." in told.line
    assert f"Find out why gpu/{ONE} is no longer there, and run again once it is" in told.line
    back = host.diff(now, before)
    assert back.causes == {f"gpu/{ONE}": ("1/8", {"gap": "absent"}, "seen")}
    assert back.json["next"][0].startswith(f"Run again without gpu/{ONE}, ")


@pytest.mark.root
@needs_root
@pytest.mark.parametrize(
    ("doing", "gap"),
    [({EACH_CALL: LOST}, "lost"), ({EACH_CALL: RESET_REQUIRED}, "lost"), ({"listed": False}, "absent")],
    ids=["lost", "reset required", "unknown to NVML"],
)
def test_a_gpu_that_only_the_kernel_still_has_is_one_suspect(
    gpu_host: MakeHost, doing: Mapping[str, object], gap: str
) -> None:
    host = gpu_host("H100 SXM", 8, around=True)
    before = host.snapshot()
    host.put(doing, ONE)
    now = host.snapshot()
    assert len(now.gpus) == 8
    assert now.fact(f"gpu/{ONE}/power_limit") == gap
    told = host.diff(before, now)
    assert told.causes == {f"gpu/{ONE}": ("1/8", "seen", {"gap": gap})}
    assert told.with_it == {f"gpu/*/peers/{ONE}"}
    assert told.others == {}
    assert told.context == {}


@pytest.mark.root
@needs_root
def test_a_gpu_that_is_suspended_is_not_woken_and_nothing_is_said_to_have_changed(gpu_host: MakeHost) -> None:
    host = gpu_host("RTX 4090", 2, around=True)
    before = host.snapshot()
    assert OTHER in {call.device for call in host.nvml.calls}
    calls = len(host.nvml.calls)
    host.around.runtime(OTHER, "suspended")
    now = host.snapshot()
    assert {call.device for call in host.nvml.calls[calls:]} == {"", ONE}, "no call is about it"
    assert now.fact(f"gpu/{OTHER}/power_limit") == "asleep"
    assert now.fact(f"gpu/{OTHER}/runtime_status") == "suspended"
    told = host.diff(before, now)
    assert told.causes == {}
    assert set(told.others.values()) == {"went dark"}
    assert told.json["headline"].startswith("Nothing is known to have changed")
    assert f"gpu/{OTHER} seen -> (asleep) went dark on 1/2" in told.line
    assert "asking would wake it" in told.line


@pytest.mark.root
@needs_root
def test_where_all_gpus_are_suspended_nvml_is_not_even_opened(gpu_host: MakeHost) -> None:
    host = gpu_host("RTX 4090", 2, around=True)
    for slot in host.nvml.devices:
        host.around.runtime(slot, "suspended")
    now = host.snapshot()
    assert host.nvml.calls == []
    assert now.gpus == [ONE, OTHER]
    assert now.fact("driver/nvml/driver_version") == "asleep"


@pytest.mark.root
@needs_root
def test_a_container_has_the_gpus_that_it_was_given(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8, around=True)
    before = host.snapshot()
    host.around.contain()
    host.around.gives(0, 1)
    hidden = host.nvml.devices[2:]
    host.put({"listed": False}, *hidden)
    now = host.snapshot()
    assert now.gpus == [ONE, OTHER]
    told = host.diff(before, now)
    assert told.pairing == {(slot, ""): "only in a" for slot in hidden}
    assert told.causes == {"gpu/*": ("6/8", "seen", {"gap": "absent"})}
    assert told.others == {"gpu/*/inferred/set_at_boot": "went dark"}
    assert "6 GPUs are there in A only." in told.line
    again = host.diff(now, host.snapshot())
    assert (again.causes, again.others, again.context) == ({}, {}, {})


@pytest.mark.parametrize("count", [1, 16])
def test_two_readings_of_one_host_differ_in_nothing(gpu_host: MakeHost, count: int) -> None:
    host = gpu_host("H100 SXM", count)
    before = host.snapshot()
    assert len(before.gpus) == count
    told = host.diff(before, host.snapshot())
    assert (told.causes, told.others, told.context, told.pairing) == ({}, {}, {}, {})
    assert told.json["headline"].startswith("Nothing changed: ")


def test_a_fact_is_found_by_its_path_where_it_is_shown(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 2)
    shown = host.cli("show", host.snapshot().id, "--facts", f"gpu/{ONE}/power_limit").stdout
    assert f"gpu/{ONE}/power_limit" in shown
    assert "gpus" not in shown
