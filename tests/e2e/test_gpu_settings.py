"""What somebody set on GPUs between two readings is the one suspect, on as many as it was set on."""

import pytest

from tests.e2e.gpu_host import ENFORCED, ONE, POWER_LIMIT, GpuHost, MakeHost, Told, needs_root
from tests.nvml.profiles import slots
from tests.nvml.scenario import Answers, error

LIMIT, DEFAULT = 450_000, 700_000
LOWERED = {POWER_LIMIT: LIMIT, ENFORCED: LIMIT}
RAISED = {POWER_LIMIT: DEFAULT, ENFORCED: DEFAULT}
PERSISTENCE, ECC, MIG = "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetEccMode", "nvmlDeviceGetMigMode"
REMAPPED_ROWS, COMPUTE_MODE = "nvmlDeviceGetRemappedRows", "nvmlDeviceGetComputeMode"
RECOVERY_ACTION = "nvmlDeviceGetFieldValues(230)"
FOLLOW_THE_LIMIT = {"enforced_power_limit", "inferred/power_limit_by", "inferred/power_limit_until"}


def after(host: GpuHost, changes: Answers, *devices: str) -> Told:
    """A snapshot without these answers and one with them, compared."""
    before = host.snapshot()
    host.put(changes, *devices)
    return host.diff(before, host.snapshot())


def only(told: Told, fact: str, on: str, before: object, now: object) -> None:
    """That this is the one suspect, and nothing else but its consequences changed."""
    assert told.causes == {fact: (on, before, now)}
    assert told.others == {}
    assert told.context == {}
    assert told.pairing == {}
    assert told.json["headline"].startswith(fact)
    assert told.json["comparable"]["same_gpus"] is True


def test_the_power_limit_of_all_gpus(gpu_host: MakeHost) -> None:
    told = after(gpu_host("H100 SXM", 8), LOWERED)
    only(told, "gpu/*/power_limit", "8/8", DEFAULT, LIMIT)
    assert told.with_it == {f"gpu/*/{fact}" for fact in FOLLOW_THE_LIMIT}
    assert told.line.startswith("gpu/*/power_limit 700 -> 450 W on 8/8. ")
    assert told.json["suspects"][0]["restore"].startswith("nvidia-smi -pl 700")  # without -i it is about all GPUs


def test_the_power_limit_of_one_gpu(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    told = after(host, LOWERED, ONE)
    only(told, f"gpu/{ONE}/power_limit", "1/8", DEFAULT, LIMIT)
    assert told.with_it == {f"gpu/{ONE}/{fact}" for fact in FOLLOW_THE_LIMIT}
    assert "700 -> 450 W on 1/8" in told.line
    [suspect] = told.json["suspects"]
    assert suspect["check"] == f"nvidia-smi -q -i {ONE}"
    assert suspect["restore"].startswith(f"nvidia-smi -i {ONE} -pl 700")


def test_the_power_limit_of_two_of_sixteen_gpus(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 16)
    only(after(host, LOWERED, *slots(16)[3:5]), "gpu/*/power_limit", "2/16", DEFAULT, LIMIT)


def test_the_power_limit_of_the_only_gpu(gpu_host: MakeHost) -> None:
    told = after(gpu_host("RTX 4090"), {POWER_LIMIT: 300_000, ENFORCED: 300_000})
    only(told, f"gpu/{ONE}/power_limit", "", 450_000, 300_000)
    assert told.line.startswith(f"gpu/{ONE}/power_limit 450 -> 300 W. ")


@pytest.mark.long
def test_runs_tell_the_same_as_snapshots(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    host.run("a")
    host.put(LOWERED)
    host.run("b")
    told = host.diff("a", "b")
    only(told, "gpu/*/power_limit", "8/8", DEFAULT, LIMIT)


def test_an_enforced_limit_below_the_requested_one_is_somebody_elses(gpu_host: MakeHost) -> None:
    told = after(gpu_host("H100 SXM", 8), {ENFORCED: 500_000})
    only(told, "gpu/*/enforced_power_limit", "8/8", DEFAULT, 500_000)
    assert "a BMC, a power brake or heat holds the GPU down" in told.line


@pytest.mark.root
@needs_root
def test_limits_that_a_reboot_took_back(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8, around=True)
    host.put(LOWERED)
    before = host.snapshot()
    assert before.fact(f"gpu/{ONE}/inferred/power_limit_by") == "somebody"
    assert before.fact(f"gpu/{ONE}/inferred/power_limit_until") == "reboot"
    host.around.boot(2)
    host.put(RAISED)
    told = host.diff(before, host.snapshot())
    assert told.causes == {"gpu/*/power_limit": ("8/8", LIMIT, DEFAULT)}
    assert told.json["comparable"]["epochs_crossed"] == ["boot"]
    assert list(told.context) == ["kernel/boot_id"]
    assert told.others == {}
    assert "Between them lies: boot." in told.line
    assert "450 -> 700 W on 8/8" in told.line


@pytest.mark.root
@needs_root
def test_limits_that_a_unit_sets_at_boot_outlive_it(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 2, around=True)
    host.put(LOWERED)
    host.around.file("/etc/systemd/system/gpu-limits.service", "[Service]\nExecStart=/usr/bin/nvidia-smi -pl 450\n")
    now = host.snapshot()
    assert now.fact(f"gpu/{ONE}/inferred/set_at_boot") == ["/etc/systemd/system/gpu-limits.service: -pl"]
    assert now.fact(f"gpu/{ONE}/inferred/power_limit_until") == "set again at boot"


@pytest.mark.root
@needs_root
def test_without_persistence_limits_do_not_even_last_until_a_reboot(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8, around=True)
    host.put(LOWERED)
    before = host.snapshot()
    host.put({PERSISTENCE: 0})
    now = host.snapshot()
    assert now.fact(f"gpu/{ONE}/persistence_mode") == "disabled"
    assert now.fact(f"gpu/{ONE}/inferred/power_limit_until") == "last close"
    told = host.diff(before, now)
    only(told, "gpu/*/persistence_mode", "8/8", "enabled", "disabled")
    assert told.with_it == {"gpu/*/inferred/power_limit_until", "gpu/*/inferred/persistence_by"}
    assert "limits, application clocks and compute mode are lost" in told.line


@pytest.mark.root
@needs_root
def test_persistence_that_reads_off_in_a_container_is_no_change(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 2, around=True)
    before = host.snapshot()
    host.around.contain()
    host.around.gives(0, 1)
    host.put({PERSISTENCE: 0})
    now = host.snapshot()
    assert now.fact(f"gpu/{ONE}/persistence_mode") == "not_observable"
    told = host.diff(before, now)
    assert told.causes == {}
    assert set(told.others.values()) == {"went dark"}
    assert told.others["gpu/*/persistence_mode"] == "went dark"
    assert "the socket of nvidia-persistenced is not mounted" in told.line
    host.around.file("/run/nvidia-persistenced/socket", "")
    assert host.snapshot().fact(f"gpu/{ONE}/persistence_mode") == "disabled", "its socket is here, so it is off"


def test_ecc_that_waits_for_a_reset(gpu_host: MakeHost) -> None:
    told = after(gpu_host("L40S", 8), {ECC: [1, 0]})
    only(told, "gpu/*/ecc/mode_pending", "8/8", "enabled", "disabled")
    assert "takes effect by itself at the next reset or reboot" in told.line


def test_ecc_that_was_switched_off(gpu_host: MakeHost) -> None:
    told = after(gpu_host("L40S", 8), {ECC: [0, 0]})
    only(told, "gpu/*/ecc/mode_current", "8/8", "enabled", "disabled")
    assert told.with_it == {"gpu/*/ecc/mode_pending"}
    [restore] = [suspect["restore"] for suspect in told.json["suspects"]]
    command, _, remark = restore.partition(" # ")
    assert command == "nvidia-smi -e ENABLED"
    assert remark == "takes effect at the next reset or reboot", "and hides no command behind it"


@pytest.mark.parametrize(
    ("change", "fact", "before", "now"),
    [
        ({REMAPPED_ROWS: [0, 1, 1, 0]}, "health/remapped_rows/pending", "no", "yes"),
        ({RECOVERY_ACTION: 1}, "health/recovery_action", "none", "gpu_reset"),
        ({COMPUTE_MODE: 3}, "compute_mode", "default", "exclusive_process"),
    ],
    ids=["row remap pending", "reset required", "compute mode"],
)
def test_a_mode_or_a_need_of_one_gpu(gpu_host: MakeHost, change: Answers, fact: str, before: str, now: str) -> None:
    told = after(gpu_host("H100 SXM", 8), change, ONE)
    only(told, f"gpu/{ONE}/{fact}", "1/8", before, now)
    assert f"{before} -> {now} on 1/8" in told.line
    assert told.json["next"][0].startswith(f"Set the first suspect back and run again: nvidia-smi -i {ONE} -")


def divided(host: GpuHost) -> None:
    """The first GPU in two instances: no peer reaches it, and it tells neither use nor remapped rows."""
    host.put({MIG: [1, 1], "nvmlDeviceGetUtilizationRates": error(3), REMAPPED_ROWS: error(3)}, ONE)
    for other in host.nvml.devices[1:]:
        host.put({f"nvmlDeviceGetP2PStatus({other},{way})": 5 for way in range(4)}, ONE)
    for at in range(2):
        host.put({f"nvmlDeviceGetMigDeviceHandleByIndex({at})": 0}, ONE)
        host.nvml.scenario["devices"][f"{ONE}/mig/{at}"] = {
            "nvmlDeviceGetUUID": f"MIG-{at}",
            "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
            "nvmlDeviceGetGpuInstanceId": at + 1,
            "nvmlDeviceGetComputeInstanceId": 0,
        }
    host.nvml.save()


def test_mig_takes_the_peers_along_and_brings_instances(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    before = host.snapshot()
    divided(host)
    now = host.snapshot()
    assert now.fact(f"gpu/{ONE}/mig/instances/1%2F0/profile") == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    assert now.fact(f"gpu/{ONE}/mig/mode_current") == "enabled"
    told = host.diff(before, now)
    only(told, f"gpu/{ONE}/mig/mode_current", "1/8", "disabled", "enabled")
    assert {f"gpu/{ONE}/mig/mode_pending", "gpu/*/peers/*/p2p_read", "gpu/*/peers/*/p2p_nvlink"} < told.with_it
    assert f"gpu/{ONE}/mig/instances/*" in told.with_it
    unknown = {line["fact"] for line in told.json["not_known"]}
    assert f"gpu/{ONE}/inferred/clock_lock" in unknown, "it tells no use, so nobody knows whether its clocks are locked"
