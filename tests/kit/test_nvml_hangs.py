"""Whatever NVML does, a host answers in time, knows what hung, keeps the rest, and starts nothing on a sick driver."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from probes.kit.facts import Gap
from probes.kit.host import Host
from tests.nvml.drivers import NEWEST
from tests.nvml.fake import Fake, FakeNvml, asked, calls_of_the_inquiry
from tests.nvml.profiles import host_of
from tests.nvml.scenario import ABORT, EACH_CALL, HANDLE, HANG, error, sleep
from tests.waiting import until

ONE, TWO = "0000:17:00.0", "0000:2a:00.0"
SHORT: dict[str, Any] = {"gpu_budget_s": 0.3, "budget_s": 1.0}


@pytest.fixture
def pair(fake_nvml: FakeNvml) -> Fake:
    return fake_nvml(host_of("H100 SXM", 2))


def reason(gap: Any) -> str:
    assert isinstance(gap, Gap), gap
    return f"{gap.code}: {gap.detail}"


HUNG = [
    (ONE, "nvmlDeviceGetName", "nvmlSystemGetDriverVersion", ""),
    (ONE, "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetSerial", TWO),
    (TWO, "nvmlDeviceGetComputeMode", "nvmlDeviceGetComputeMode", ONE),
    (ONE, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetTotalEccErrors(0,0)", TWO),
    (TWO, "nvmlDeviceGetNvLinkState(17)", "nvmlDeviceGetNvLinkState(17)", ONE),
    (ONE, f"nvmlDeviceGetP2PStatus({TWO},3)", f"nvmlDeviceGetP2PStatus({TWO},2)", ONE),
]


@pytest.mark.parametrize(("device", "call", "before", "of"), HUNG)
def test_a_call_that_hangs_is_named_and_what_came_before_it_stands(
    pair: Fake, device: str, call: str, before: str, of: str
) -> None:
    pair.put(device, call, HANG)
    host = pair.host(**SHORT)

    assert asked(host, of, before) == (pair.scenario["devices"][of] if of else pair.scenario["system"])[before]
    assert reason(asked(host, device, call)).startswith("timed_out: NVML: unresponsive since")
    assert f" in {call} on {device} (pid" in asked(host, device, call).detail


@pytest.mark.long
@pytest.mark.parametrize("call", sorted(set(calls_of_the_inquiry(TWO))))
def test_every_call_may_hang(fake_nvml: FakeNvml, call: str) -> None:
    newest = fake_nvml(host_of("H100 SXM", 2, NEWEST))
    newest.put(ONE, call, HANG)
    host = newest.driven(gpu_budget_s=0.2, budget_s=1.0)

    assert f" on {ONE} (pid" in reason(asked(host, ONE, call))
    assert host.nvml("", "nvmlSystemGetDriverVersion") == NEWEST
    assert len(newest.processes()) == 1


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount"])
def test_a_library_that_hangs_before_any_gpu_is_named_too(pair: Fake, call: str) -> None:
    pair.put("", call, HANG)
    host = pair.host(**SHORT)

    assert f" in {call} (pid" in reason(host.nvml_devices())
    assert host.nvml(ONE, "nvmlDeviceGetName") == host.nvml_devices()


def test_a_gpu_that_hangs_when_attached_is_named(pair: Fake) -> None:
    pair.put(TWO, HANDLE, HANG)
    host = pair.driven(**SHORT)

    assert f" in nvmlDeviceGetHandle on {TWO} (pid" in reason(host.nvml(TWO, "nvmlDeviceGetName"))
    assert host.nvml("", "nvmlSystemGetDriverVersion") == "580.65.06"


def test_a_process_deaf_to_signals_is_left_behind(pair: Fake) -> None:
    pair.put(ONE, "nvmlDeviceGetSerial", HANG)

    assert "; it was left behind" in reason(pair.host(**SHORT).nvml(ONE, "nvmlDeviceGetSerial"))
    assert len(pair.processes()) == 1


def test_a_shutdown_that_hangs_costs_no_answer(pair: Fake) -> None:
    pair.put("", "nvmlShutdown", HANG)
    host = pair.host(**SHORT)

    assert host.nvml(TWO, "nvmlDeviceGetName") == "NVIDIA H100 80GB HBM3"
    assert "in nvmlShutdown" in reason(pair.host(**SHORT).nvml(TWO, "nvmlDeviceGetName"))


def test_nothing_piles_up_on_a_driver_that_hangs(pair: Fake) -> None:
    pair.put(ONE, "nvmlDeviceGetUUID", HANG)
    told = [reason(pair.host(**SHORT).nvml(ONE, "nvmlDeviceGetUUID")) for _ in range(100)]

    assert len(pair.processes()) == 1
    assert pair.called("nvmlInitWithFlags") == 1
    for later in told[1:]:
        assert "in nvmlDeviceGetUUID on 0000:17:00.0" in later
        assert "no second process is started" in later


def test_other_processes_stay_away_too(pair: Fake) -> None:
    pair.put(ONE, "nvmlDeviceGetUUID", HANG)
    pair.host(**SHORT).nvml_devices()
    options = f"library={str(pair.library)!r}, lock={str(pair.lock)!r}, gpu_budget_s=0.3"
    code = f"from probes.kit.host import Host, Options; print(Host(nvml=Options({options})).nvml_devices())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=os.getcwd())

    assert "no second process is started" in told.stdout
    assert len(pair.processes()) == 1


def test_once_the_hung_process_ended_all_is_well_again(pair: Fake) -> None:
    pair.put(ONE, "nvmlDeviceGetUUID", HANG)
    host = pair.host(**SHORT)
    host.nvml_devices()
    pair.put(ONE, "nvmlDeviceGetUUID", "GPU-again")
    os.kill(pair.processes()[0], signal.SIGKILL)
    until(lambda: not pair.processes())

    def again() -> bool:
        host.begin_moment()
        return host.nvml(ONE, "nvmlDeviceGetUUID") == "GPU-again"

    until(again)


@pytest.mark.parametrize("call", ["nvmlDeviceGetVbiosVersion", "nvmlDeviceGetNvLinkVersion(3)"])
def test_a_crash_of_the_library_is_told_by_its_signal_and_call(pair: Fake, call: str) -> None:
    pair.put(TWO, call, ABORT)
    host = pair.host(**SHORT)

    assert host.nvml(ONE, "nvmlDeviceGetName") == "NVIDIA H100 80GB HBM3"
    assert f"by signal {int(signal.SIGABRT)}" in reason(asked(host, TWO, call))
    assert f"in {call} on {TWO}" in asked(host, TWO, call).detail


def test_a_crash_at_init_leaves_nobody_waiting(pair: Fake) -> None:
    pair.put("", "nvmlInit", ABORT)

    assert "in nvmlInit" in reason(pair.host(**SHORT).nvml_devices())
    pair.put("", "nvmlInit", error(0))
    assert pair.host(**SHORT).nvml_devices() == (ONE, TWO)


def test_a_slow_gpu_is_not_asked_for_ever_and_the_others_are(pair: Fake) -> None:
    """45 s a call, as a GPU whose GSP is ill answers."""
    pair.put(ONE, "nvmlDeviceGetUUID", sleep(0.2, "slow"))
    pair.put(ONE, "nvmlDeviceGetSerial", sleep(0.2, "slow"))
    host = pair.host(gpu_budget_s=0.3, budget_s=3.0)

    assert host.nvml(ONE, "nvmlDeviceGetUUID") == "slow"
    assert "not asked, because this GPU had taken 0.3 s" in reason(host.nvml(ONE, "nvmlDeviceGetPowerManagementLimit"))
    assert host.nvml(TWO, "nvmlDeviceGetPowerManagementLimit") == 700_000
    assert host.nvml(TWO, "nvmlDeviceGetNvLinkState", 17) == 1


def test_a_whole_pass_has_a_limit_too(pair: Fake) -> None:
    for device in (ONE, TWO):
        pair.put(device, "*", sleep(0.05))
    host = pair.host(gpu_budget_s=60.0, budget_s=0.5)

    assert host.nvml("", "nvmlSystemGetDriverVersion") == "580.65.06"
    assert reason(host.nvml(TWO, "nvmlDeviceGetNvLinkState", 17)).startswith("timed_out")
    assert until(lambda: not pair.processes())


@pytest.mark.parametrize(("code", "gap"), [(9, "absent"), (18, "failed"), (4, "denied"), (999, "failed")])
def test_an_init_that_fails_is_why_there_is_nothing(pair: Fake, code: int, gap: str) -> None:
    pair.put("", "nvmlInit", error(code))
    host = pair.host(**SHORT)

    for told in (host.nvml_devices(), host.nvml("", "nvmlSystemGetDriverVersion")):
        assert reason(told).startswith(f"{gap}: nvmlInit: ")
        assert f"(NVML {code})" in reason(told)
    of_a_gpu = "not_observable" if gap == "absent" else gap  # which may well be there
    assert reason(host.nvml(ONE, "nvmlDeviceGetName")) == reason(host.nvml_devices()).replace(gap, of_a_gpu, 1)


@pytest.mark.parametrize("content", [None, b"no library"])
def test_a_library_that_cannot_be_loaded_says_why(pair: Fake, content: bytes | None) -> None:
    pair.library.unlink()
    if content is not None:
        pair.library.write_bytes(content)

    told = reason(pair.host(**SHORT).nvml_devices())
    assert told.startswith("not_observable: nvmlInit: ")
    assert str(pair.library) in told


# What is asked, and in which order.


def test_the_library_is_opened_once_shut_down_and_never_told_to_change_anything(pair: Fake) -> None:
    host = pair.host()
    host.nvml_devices()
    asked(host, ONE, "nvmlDeviceGetName")

    names = [call.key.partition("(")[0] for call in pair.calls]
    assert names[0] == "nvmlInitWithFlags"
    assert names[-1] == "nvmlShutdown"
    assert names.count("nvmlInitWithFlags") == names.count("nvmlShutdown") == 1
    assert [name for name in names if "Set" in name.replace("Settings", "")] == []


def test_links_and_topology_come_last(pair: Fake) -> None:
    pair.host().nvml_devices()
    keys = [call.key for call in pair.calls]
    first_link = next(at for at, key in enumerate(keys) if key.startswith("nvmlDeviceGetNvLinkState"))
    first_pair = next(at for at, key in enumerate(keys) if "P2P" in key or "CommonAncestor" in key)
    processes = max(at for at, key in enumerate(keys) if "RunningProcesses" in key)

    assert processes < first_link < first_pair


def test_a_sleeping_gpu_is_not_touched(pair: Fake) -> None:
    host = pair.driven(asleep=[ONE])

    assert host.nvml_devices() == (TWO,)
    assert host.nvml(ONE, "nvmlDeviceGetName") == Gap("asleep")
    assert host.nvml(TWO, "nvmlDeviceGetName") == "NVIDIA H100 80GB HBM3"
    assert ONE not in {call.device for call in pair.calls}


def test_when_all_sleep_the_library_is_not_opened(pair: Fake) -> None:
    assert pair.driven(asleep=[ONE, TWO]).nvml_devices() == Gap("asleep")
    assert pair.calls == []


def test_without_a_driver_the_library_is_not_opened() -> None:
    if any(Path(path).exists() for path in ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")):
        pytest.skip("this machine has an NVIDIA driver")
    assert Host().nvml_devices() == Gap("absent")


# During a run.


def test_samples_follow_what_changes(pair: Fake) -> None:
    host = pair.host()
    told = []
    for clock in (1980, 1200):
        pair.put(ONE, "nvmlDeviceGetClockInfo(1)", clock)
        host.begin_moment()
        assert host.nvml_sample() == (ONE, TWO)
        told.append(host.nvml(ONE, "nvmlDeviceGetClockInfo", 1))

    assert told == [1980, 1200]
    assert pair.called("nvmlInitWithFlags") == 1
    assert pair.called("nvmlDeviceGetUUID") == 0


def test_between_samples_others_may_ask(pair: Fake) -> None:
    host = pair.host()
    host.nvml_sample()

    assert pair.host(**SHORT).nvml(ONE, "nvmlDeviceGetName") == "NVIDIA H100 80GB HBM3"
    host.begin_moment()
    assert host.nvml_sample() == (ONE, TWO)


def test_a_gpu_lost_between_two_samples_is_lost(pair: Fake) -> None:
    host = pair.host()
    host.nvml_sample()
    pair.put(TWO, "*", error(15))
    host.begin_moment()
    host.nvml_sample()

    assert host.nvml(TWO, "nvmlDeviceGetClockInfo", 1) == Gap("lost")
    assert host.nvml(ONE, "nvmlDeviceGetClockInfo", 1) == 345


def test_the_sampler_lets_go_of_the_gpus_when_it_is_told_to(pair: Fake) -> None:
    host = pair.host()
    host.nvml_sample()
    os.kill(pair.processes()[0], signal.SIGTERM)
    until(lambda: not pair.processes())
    host.begin_moment()

    assert "asked to release the GPUs" in reason(host.nvml_sample())
    assert pair.called("nvmlShutdown") == pair.called("nvmlInitWithFlags") == 1


SAMPLING = """
import sys
from probes.kit.host import Host, Options
host = Host(nvml=Options(library=sys.argv[1], lock=sys.argv[2]))
print(host.nvml_sample(), flush=True)
sys.stdin.read()
"""


def test_the_sampler_ends_with_whoever_asked_it_even_when_killed(pair: Fake) -> None:
    argv = [sys.executable, "-c", SAMPLING, str(pair.library), str(pair.lock)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert ONE in process.stdout.readline()
        process.kill()
    until(lambda: not [pid for pid in pair.processes() if pid != process.pid])

    assert pair.called("nvmlShutdown") == 1


def test_a_sample_that_hangs_is_told_and_asked_no_more(pair: Fake) -> None:
    host = pair.host(**SHORT)
    host.nvml_sample()
    pair.put(ONE, "nvmlDeviceGetPowerUsage", HANG)
    told = []
    for _ in range(3):
        host.begin_moment()
        told.append(reason(host.nvml_sample()))

    assert all("in nvmlDeviceGetPowerUsage on 0000:17:00.0" in each for each in told)
    assert len(pair.processes()) == 1


# The process.


def test_the_process_has_few_descriptors_and_none_of_ours(pair: Fake, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("ours")
    with (tmp_path / "secret").open() as ours:
        os.set_inheritable(ours.fileno(), True)
        host = pair.host()
        host.nvml_sample()
        (pid,) = pair.processes()
        held = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}

    assert str(tmp_path / "secret") not in held
    assert str(pair.lock) in held
    assert len(held) <= 5


def test_the_process_asks_persistenced_with_few_descriptors(pair: Fake) -> None:
    host = pair.host()
    host.nvml_sample()
    limits = Path(f"/proc/{pair.processes()[0]}/limits").read_text()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max open files")]

    assert int(line.split()[3]) <= 1024


def test_the_process_is_of_a_session_of_its_own(pair: Fake) -> None:
    host = pair.host()
    host.nvml_sample()
    (pid,) = pair.processes()

    assert os.getsid(pid) == pid


def test_a_pass_that_nobody_waits_for_any_more_ends_by_itself(fake_nvml: FakeNvml) -> None:
    """Each call comes back, so that no signal is needed, and its asker is gone, so that none comes."""
    fake = fake_nvml(host_of("H100 SXM", 8))
    for device in fake.devices:
        fake.put(device, EACH_CALL, sleep(0.02))
    script = "import os, sys; from probes.kit.host import Host; from probes.kit.nvml.options import Options\n"
    script += "Host(nvml=Options(library=sys.argv[1], lock=sys.argv[2], budget_s=1.0)).nvml_devices()"
    argv = [sys.executable, "-c", script, str(fake.library), str(fake.lock)]
    with subprocess.Popen(argv, cwd=Path(__file__).parents[2]) as asker:
        until(lambda: fake.called("nvmlDeviceGetName") > 0)
        asker.kill()
    until(lambda: not fake.processes())
