"""Whatever NVML does to the process that calls it, snapshots and runs end in their time, keep the rest and name it."""

import fcntl
import json
import os
import pty
import signal
import termios
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fingerprint.reader import Reader, take_snapshot
from fingerprint.snapshot import Job, Snapshot
from probes.kit.facts import Gap
from probes.kit.nvml import inquiry
from probes.kit.nvml.inquiry import FIELDS, Argument, key_of
from probes.kit.probe import discover
from tests.e2e.conftest import Cli
from tests.e2e.hung_gpus import (
    ASKING,
    MIG,
    ONE,
    TWO,
    Missing,
    details,
    lasting,
    leaves,
    matching,
    matching_gaps,
    snapshot,
    started,
    stat,
    two_gpus,
)
from tests.e2e.test_hung_host import HungHost
from tests.nvml.fake import Fake, FakeNvml, lose
from tests.nvml.scenario import ABORT, EACH_CALL, HANDLE, HANG, SEGFAULT, read_from, sleep
from tests.waiting import until


class Hung(NamedTuple):
    """A call that never returns. device: "" for the system. earlier: facts that were answered before it is made."""

    device: str
    key: str
    earlier: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """Until NVML has told a GPU's address it is known by its number."""
        device = "index 1" if self.key in (HANDLE, "nvmlDeviceGetPciInfo_v3") else self.device
        return f"in {self.key}{f' on {device}' if device else ''} (pid"


# A fact that each phase of a pass answers, by the phase's first call.
ANSWERED = {
    "nvmlDeviceGetName": "gpu/*/uuid",
    "nvmlDeviceGetPersistenceMode": "gpu/*/power_limit",
    "nvmlDeviceGetPerformanceState": "gpu/*/clocks/sm",
    "nvmlDeviceGetMarginTemperature": "gpu/*/temperature/margin",
    "nvmlDeviceGetMaxPcieLinkGeneration": "gpu/*/pcie/link_gen_max",
    "nvmlDeviceGetTotalEccErrors": "gpu/*/ecc/volatile/sram_corrected",
    "nvmlDeviceGetCpuAffinityWithinScope": "gpu/*/affinity/cpus",
}


def calls_of(device: str, phase: Sequence[inquiry.Called], earlier: tuple[str, ...]) -> Iterator[Hung]:
    """Many fields are one call, which is named by the first of them."""
    for name, args in phase:
        yield Hung(device, key_of(name, _first(args) if name == FIELDS else args), earlier)


def _first(fields: tuple[Argument, ...]) -> tuple[Argument, ...]:
    return fields[0] if isinstance(fields[0], tuple) else (fields[0],)


def every_call() -> Iterator[Hung]:
    yield Hung("", "nvmlInit")
    yield from calls_of("", inquiry.SYSTEM, ())
    earlier: tuple[str, ...] = ("driver/nvml/driver_version",)
    yield Hung("", "nvmlDeviceGetCount", earlier)
    yield Hung(TWO, HANDLE, earlier)
    for phase in inquiry.SNAPSHOT_PHASES:
        yield from calls_of(TWO, phase, earlier)
        earlier += tuple(fact for call, fact in ANSWERED.items() if call == phase[0][0])
    yield Hung(ONE, "nvmlDeviceGetMigDeviceHandleByIndex(0)", earlier)
    yield from calls_of(MIG, inquiry.MIG_DEVICE, earlier)
    yield from (Hung(TWO, key_of(name, (7,)), earlier) for name in inquiry.LINK)
    yield Hung(TWO, key_of(FIELDS, (inquiry.LINK_FIELDS[0], 7)), earlier)
    yield from (Hung(ONE, key_of(name, (TWO, *args)), earlier) for name, args in inquiry.PEER)


EVERYDAY = {
    "nvmlInit", HANDLE, "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetFieldValues(91)",
    "nvmlDeviceGetNvLinkState(7)", f"nvmlDeviceGetP2PStatus({TWO},2)",
}  # fmt: skip


def params() -> Iterator[Any]:
    for hung in every_call():
        everyday = hung.key in EVERYDAY and "/" not in hung.device
        yield pytest.param(hung, id=f"{hung.key} {hung.device}".strip(), marks=() if everyday else pytest.mark.long)


@pytest.fixture
def fake(fake_nvml: FakeNvml, fingerprint: Cli) -> Fake:
    return two_gpus(fake_nvml, fingerprint)


@pytest.mark.parametrize("hung", [*params()])
def test_a_call_that_hangs_costs_what_it_and_later_ones_tell(fingerprint: Cli, fake: Fake, hung: Hung) -> None:
    well = leaves(snapshot(fingerprint))
    (fake.scenario["devices"][hung.device] if hung.device else fake.scenario["system"])[hung.key] = HANG
    fake.save()
    document = snapshot(fingerprint)
    assert {section["outcome"] for section in document["sections"].values()} == {"ok"}
    assert not [path for path in matching_gaps(leaves(document), "timed_out") if path.split("/")[0] not in ASKING]
    found = leaves(document)
    assert any(hung.named in detail for detail in details(found)), details(found)
    for glob in hung.earlier:
        seen = matching(found, glob)
        assert seen == matching(well, glob)
        assert seen
    invented = {path: value for path, value in found.items() if path in lasting(well) and value != well[path]}
    assert {path for path, value in invented.items() if not isinstance(value, Missing)} == set()


def test_show_and_doctor_name_it(fingerprint: Cli, fake: Fake) -> None:
    fake.put(TWO, "nvmlDeviceGetUUID", HANG)
    taken = snapshot(fingerprint)["id"]
    shown = fingerprint("show", taken, "--facts", f"gpu/**/{TWO}/uuid").stdout
    told = json.loads(fingerprint("doctor", "--format", "json").stdout)
    [nvml] = [finding for finding in told if finding["about"] == "nvml"]
    assert nvml["level"] == "problem"
    for text in (nvml["why"], shown):
        assert "unresponsive since" in text
        assert f"in nvmlDeviceGetUUID on {TWO}" in " ".join(text.split())


@pytest.mark.long
def test_nothing_piles_up_over_a_hundred_snapshots(fingerprint: Cli, fake: Fake) -> None:
    fake.put(TWO, "nvmlDeviceGetUUID", HANG)
    snapshot(fingerprint)
    for document in taken(100, fake):
        assert f"in nvmlDeviceGetUUID on {TWO} (pid" in why(document)
        assert "no second process is started" in why(document)
    assert len(fake.processes()) == 1
    assert fake.called("nvmlInitWithFlags") == 1


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")
def test_five_users_start_one_process(fingerprint: Cli, fake: Fake) -> None:
    for folder in fake.lock.parents:
        if folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)  # pytest's folders are root's alone
    fake.put(TWO, "nvmlDeviceGetUUID", HANG)
    snapshot(fingerprint)
    for uid in range(60001, 60006):
        for told in as_user(uid, lambda: [why(document) for document in taken(3, fake)]):
            assert f"in nvmlDeviceGetUUID on {TWO} (pid" in told
    assert len(fake.processes()) == 1
    assert fake.called("nvmlInitWithFlags") == 1


def taken(times: int, fake: Fake) -> Iterator[Snapshot]:
    """Snapshots of what NVML tells, each by a reader of its own."""
    probes = discover(["gpu"])
    for _ in range(times):
        reader = Reader(fake.host(budget_s=0.8, gpu_budget_s=0.4), probes)
        try:
            yield take_snapshot(reader, [Job("gpu")], "", 5.0)
        finally:
            reader.close()


def why(taken: Snapshot) -> str:
    """Why there are no GPUs."""
    [reading] = taken.readings.values()
    section: Any = reading.section(discover(["gpu"])["gpu"].section)
    gap: Gap = section.gpus
    assert gap.code == "timed_out"
    return gap.detail


def as_user(uid: int, act: Callable[[], list[str]]) -> list[str]:
    """What `act` tells as that user; what it raises is told likewise."""
    ours, theirs = os.pipe()
    if not (pid := os.fork()):
        os.setgid(uid)
        os.setuid(uid)
        try:
            told = act()
        except BaseException as error:  # noqa: BLE001  # the fork must end here
            told = [repr(error)]
        os.write(theirs, json.dumps(told).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as pipe:
        told = json.loads(pipe.read())
    os.waitpid(pid, 0)
    return told


@pytest.mark.long
def test_when_the_call_comes_back_the_process_ends_and_all_is_whole_again(fingerprint: Cli, fake: Fake) -> None:
    well = leaves(snapshot(fingerprint), *ASKING)
    fake.put(TWO, "nvmlDeviceGetSerial", sleep(1.2, fake.scenario["devices"][TWO]["nvmlDeviceGetSerial"]))
    late = leaves(snapshot(fingerprint), *ASKING)
    assert any(f"in nvmlDeviceGetSerial on {TWO} (pid" in detail for detail in details(late))
    until(lambda: not fake.processes())
    fake.put(TWO, "nvmlDeviceGetSerial", well[f"gpu/{TWO}/serial"])
    again = leaves(snapshot(fingerprint), *ASKING)
    assert again.keys() == well.keys()
    assert [path for path in lasting(well) if again[path] != well[path]] == []


@pytest.mark.parametrize(("death", "number"), [(ABORT, signal.SIGABRT), (SEGFAULT, signal.SIGSEGV)])
def test_a_crash_inside_the_library_is_named_and_costs_what_comes_later(
    fingerprint: Cli, fake: Fake, death: dict[str, Any], number: int
) -> None:
    fake.put(TWO, "nvmlDeviceGetPowerManagementLimit", death)
    document = snapshot(fingerprint)
    assert {section["outcome"] for section in document["sections"].values()} == {"ok"}
    found = leaves(document, "gpu")
    lost = found[f"gpu/{TWO}/power_limit"]
    assert f"ended by signal {int(number)}" in lost.detail
    assert f"in nvmlDeviceGetPowerManagementLimit on {TWO}" in lost.detail
    assert found[f"gpu/{TWO}/uuid"].startswith("GPU-")
    assert found[f"gpu/{ONE}/power_limit"] == 700_000
    assert fake.processes() == []


def test_a_slow_gpu_spends_its_own_budget_and_no_other_ones(fingerprint: Cli, fake: Fake) -> None:
    fake.put(TWO, EACH_CALL, sleep(0.1))
    found = leaves(snapshot(fingerprint, env={"FINGERPRINT_NVML_BUDGET_S": "2"}), "gpu")
    whole = [path for path in found if path.startswith(f"gpu/{ONE}/") and "/peers/" not in path]
    assert [path for path in whole if isinstance(found[path], Missing) and found[path].code == "timed_out"] == []
    assert "not asked, because this GPU had taken 0.4 s" in found[f"gpu/{TWO}/power_limit"].detail
    assert found[f"gpu/{TWO}/name"] == found[f"gpu/{ONE}/name"]


def test_a_gpu_that_is_lost_in_the_middle_keeps_what_it_told(fingerprint: Cli, fake: Fake) -> None:
    fake.put(ONE, "nvmlDeviceGetPersistenceMode", sleep(0.3, 1))
    with started(fingerprint, "snapshot", "--format", "json") as taking:
        until(lambda: fake.lock.exists() and fake.mark and fake.mark.call == "nvmlDeviceGetPersistenceMode")
        lose(fake, TWO)
        found = leaves(json.loads(taking.communicate()[0]), "gpu")
    assert found[f"gpu/{TWO}/uuid"].startswith("GPU-")
    assert found[f"gpu/{TWO}/power_limit"].code == "lost"
    assert found[f"gpu/{ONE}/power_limit"] == 700_000


def test_the_process_left_behind_holds_nothing_of_its_starter(fingerprint: Cli, fake: Fake) -> None:
    fake.put(TWO, "nvmlDeviceGetUUID", HANG)
    ours, theirs = os.pipe()
    terminal, slave = pty.openpty()

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    how: dict[str, Any] = {"stdin": slave, "pass_fds": [theirs, slave], "preexec_fn": own_terminal}
    with started(fingerprint, "snapshot", **how) as taking:
        taking.communicate()
    for fd in (theirs, slave):
        os.close(fd)
    [pid] = fake.processes()
    assert os.read(ours, 1) == b""  # the end of a pipeline comes while the process is still there
    held = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    assert {name for name in held if not name.startswith(("pipe:", "/memfd:"))} == {"/dev/null", str(fake.lock)}
    assert len(held) == 5
    _ppid, _group, session, controlling, *_ = stat(pid)[1:]
    assert (session, controlling) == (str(pid), "0")
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    for fd in (ours, terminal):
        os.close(fd)


def test_a_reader_killed_in_the_middle_leaves_no_process_that_is_well(fingerprint: Cli, fake: Fake) -> None:
    fake.put(TWO, "nvmlDeviceGetSerial", sleep(0.3, "slow"))
    with started(fingerprint, "snapshot") as taking:
        until(lambda: fake.lock.exists() and fake.mark and fake.mark.call == "nvmlDeviceGetSerial")
        [pid] = fake.processes()
        os.kill(int(stat(pid)[1]), signal.SIGKILL)
        taking.communicate()
    until(lambda: not fake.processes())
    assert fake.called("nvmlShutdown") == fake.called("nvmlInitWithFlags")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="this kernel has no FUSE")
def test_a_call_in_state_d_is_given_up_as_any_other(fingerprint: Cli, fake: Fake, tmp_path: Path) -> None:
    mute = tmp_path / "mute"
    mute.mkdir()
    fake.put(TWO, "nvmlDeviceGetUUID", read_from(str(mute / "file")))
    host = HungHost(str(mute))
    try:
        document = snapshot(fingerprint, before=host.enter)
        assert {section["outcome"] for section in document["sections"].values()} == {"ok"}
        found = leaves(document, "gpu")
        assert f"in nvmlDeviceGetUUID on {TWO}" in found[f"gpu/{TWO}/power_limit"].detail
        [pid] = fake.processes()
        assert stat(pid)[0] == "D"
    finally:
        host.end()
    until(lambda: not fake.processes())
