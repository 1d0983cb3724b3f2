"""What is recorded is what is replayed, nothing else is answered, and no secret gets in."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.testing import (
    HOSTNAME,
    RECORDING,
    Recorder,
    Replay,
    anonymised,
    expect,
    load,
    record,
    save,
    sections_of,
)
from probes.kit.answers import Stat
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import Host
from probes.kit.redact import Redactor

SECRET = "correct-horse-battery-staple"


@pytest.fixture
def child() -> Iterator[int]:
    """A shell that waits, with a secret in its environment and one among its arguments."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", "read line", "sh", "--api-key", SECRET],
        env={"DB_PASSWORD": SECRET, "NCCL_PROTO": "LL"},
        stdin=subprocess.PIPE,
    )
    yield process.pid
    process.communicate(b"\n")


def everything_asked(host: Host, pid: int, file: Path) -> dict[str, object]:
    """One answer of each of Host's questions that a test can afford, by its name."""
    return {
        "text": host.text("/proc/cpuinfo"),
        "head": host.head("/proc/cpuinfo", 16),
        "matching": host.matching("/proc/cpuinfo", "^processor.*: ([0-9]+)"),
        "settings": host.settings("/proc/self/io"),
        "mentioned": host.mentioned(str(file.parent), ["NCCL_PROTO"]),
        "names": host.names("/sys/devices/system"),
        "link": host.link("/proc/self"),
        "stat": host.stat(str(file)),
        "sha256": host.sha256(str(file)),
        "stats": host.stats("/sys/kernel"),
        "space": host.space("/dev/shm"),
        "resident": host.resident(str(file), 1 << 20),
        "weights": host.weights(str(file)),
        "elf": host.elf("/proc/self/exe", "(Python)"),
        "pci_config": host.pci_config("/proc/self/cmdline"),
        "opened": host.opened(os.getpid(), "/dev/null"),
        "environ": host.environ(pid),
        "arguments": host.arguments(pid),
        "io_priority": host.io_priority(pid),
        "command": host.command(["/bin/echo", "one"]),
        "pids": host.pids("sh", "no-such-program"),
        "ethtool": host.ethtool("lo", "features"),
        "netlink": host.netlink("rules"),
        "routes": host.routes(),
        "http": host.http(os.getpid(), "127.0.0.1:9", "/props"),
        "kernel_log": host.kernel_log(),
        "nvml": host.nvml("", "nvmlSystemGetDriverVersion"),
        "nvml_devices": host.nvml_devices(),
        "nvml_sample": host.nvml_sample(),
    }


def test_every_kind_of_answer_of_a_live_host_comes_back_from_the_file(tmp_path: Path, child: int) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    recorder = Recorder(Host())
    live = everything_asked(recorder, child, file)
    assert isinstance(live["stat"], Stat)
    assert isinstance(live["environ"], Map)

    save(recorder.answers, str(tmp_path / "host"))

    assert everything_asked(Replay(load(str(tmp_path / "host"))), child, file) == live


def test_each_question_of_host_is_recorded_under_its_own_name(tmp_path: Path, child: int) -> None:
    recorder = Recorder(Host())
    everything_asked(recorder, child, tmp_path / "none")
    derived = {"line", "number"}  # made of `text`
    slow = {"cpuid"}  # starts programs for over a second
    silent = {"begin_moment", "within"}  # no question
    public = {name for name, value in vars(Host).items() if callable(value) and not name.startswith("_")}
    assert {call for call, _ in recorder.answers} == public - derived - slow - silent


def test_the_slow_answer_of_cpuid_comes_back_too(tmp_path: Path) -> None:
    save({("cpuid", ""): {"brand_raw": "AMD EPYC", "flags": ["sse", "avx"]}}, str(tmp_path))
    assert Replay(load(str(tmp_path))).cpuid() == {"brand_raw": "AMD EPYC", "flags": ["sse", "avx"]}


def test_gaps_come_back_with_their_words(tmp_path: Path) -> None:
    recorder = Recorder(Host())
    missing = recorder.text("/nowhere")
    save(recorder.answers, str(tmp_path))
    replayed = Replay(load(str(tmp_path))).text("/nowhere")
    assert isinstance(missing, Gap)
    assert isinstance(replayed, Gap)
    assert (replayed.code, replayed.detail) == ("absent", missing.detail)


def test_a_replay_says_not_read_to_what_was_not_recorded() -> None:
    answer = Replay({}).text("/proc/cpuinfo")
    assert isinstance(answer, Gap)
    assert (answer.code, answer.detail) == ("not_read", "not recorded")


def test_a_recorder_answers_a_repeated_question_as_the_replay_will(tmp_path: Path) -> None:
    (tmp_path / "value").write_text("1")
    recorder = Recorder(Host())
    assert recorder.text(str(tmp_path / "value")) == "1"
    (tmp_path / "value").write_text("2")
    assert recorder.text(str(tmp_path / "value")) == "1"


@given(text=st.text(), key=st.text())
def test_any_text_survives_the_file(tmp_path_factory: pytest.TempPathFactory, text: str, key: str) -> None:
    folder = str(tmp_path_factory.mktemp("host"))
    save({("text", key): text}, folder)
    assert load(folder) == {("text", key): text}


def test_a_long_text_stands_in_the_file_line_by_line(tmp_path: Path) -> None:
    save({("text", "/proc/meminfo"): "MemTotal: 1 kB\nMemFree: 2 kB\n"}, str(tmp_path))
    assert '  "MemFree: 2 kB",\n' in (tmp_path / RECORDING).read_text()


def test_no_secret_of_a_process_gets_into_a_recording(tmp_path: Path, child: int) -> None:
    recorder = Recorder(Host())
    assert isinstance(recorder.environ(child), Map)
    assert "--api-key" in str(recorder.arguments(child))
    save(recorder.answers, str(tmp_path))
    written = (tmp_path / RECORDING).read_text()
    assert SECRET not in written
    assert '"NCCL_PROTO":"LL"' in written


def test_a_file_that_is_no_recording_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / RECORDING).write_text('[["telepathy","",1]]')
    with pytest.raises(ValueError, match=rf"{tmp_path}/{RECORDING} .*telepathy.*fingerprint record"):
        load(str(tmp_path))
    with pytest.raises(ValueError, match="No such file"):
        load(str(tmp_path / "none"))


NAMED = {
    ("text", HOSTNAME): "gpu-17\n",
    (
        "text",
        "/proc/cmdline",
    ): "root=UUID=18e645be-29c9-445c-9958-2a641ab0cd99 nfsroot=10.1.2.3:/srv luks=https://me:pw@vault/k",
    ("text", "/etc/machine-id"): "0123456789abcdef0123456789abcdef\n",
    ("text", "/sys/class/net/eth0/address"): "b8:59:9f:aa:bb:cc\n",
    ("text", "/proc/sys/kernel/osrelease"): "5.15.0-91.101-generic\n",
    ("link", "/home/ada/model"): "/srv/gpu-17/ada",
    ("stat", "/home/ada/model"): Stat(1, 2, 3, 4, 5, 6),
}


def test_what_names_a_machine_or_its_people_gets_stand_ins() -> None:
    assert anonymised(NAMED, {"/srv": "/data"}) == {
        ("text", HOSTNAME): "host\n",
        ("text", "/proc/cmdline"): "root=UUID=00000000-0000-4000-8000-000000000001 nfsroot=192.0.2.1:/data redacted",
        ("text", "/etc/machine-id"): "00000000000000000000000000000001\n",
        ("text", "/sys/class/net/eth0/address"): "02:00:00:00:00:01\n",
        ("text", "/proc/sys/kernel/osrelease"): "5.15.0-91.101-generic\n",
        ("link", "/home/user1/model"): "/data/host/ada",
        ("stat", "/home/user1/model"): Stat(1, 2, 3, 4, 5, 6),
    }


def of_board(serial: str, uuid: str, cluster: list[int]) -> dict[tuple[str, str], object]:
    fabric = {"state": 3, "clusterUuid": cluster}
    platform = {
        "ibGuid": "\\xfe\\x80\\x01",
        "rackGuid": "7hx",
        "chassisSerialNumber": "2507816907154",
        "slotNumber": 25,
    }
    return {
        ("nvml", "0000:17:00.0 nvmlDeviceGetSerial"): serial,
        ("nvml", "0000:17:00.0 nvmlDeviceGetUUID"): f"GPU-{uuid}",
        ("nvml", "0000:17:00.0 nvmlDeviceGetGpuFabricInfoV"): fabric,
        ("nvml", "0000:17:00.0 nvmlDeviceGetPlatformInfo"): platform,
        ("nvml", "0000:17:00.0 nvmlDeviceGetClockInfo(1)"): 1980,
        ("nvml", "0000:17:00.0 nvmlDeviceGetBoardPartNumber"): "692-2G520-0200-000",
        ("text", "/var/log/inventory"): f"board {serial} is GPU-{uuid}\n",
    }


def test_what_names_a_board_its_chassis_or_its_fabric_gets_stand_ins() -> None:
    uuid = "79497437-2081-51df-d5d8-04bbee59c2f2"
    shown = anonymised(of_board("1650000012345", uuid, list(bytes.fromhex(uuid.replace("-", "")))))
    named = "00000000-0000-4000-8000-000000000001"
    assert shown == {
        ("nvml", "0000:17:00.0 nvmlDeviceGetSerial"): "1600000000003",
        ("nvml", "0000:17:00.0 nvmlDeviceGetUUID"): f"GPU-{named}",
        ("nvml", "0000:17:00.0 nvmlDeviceGetGpuFabricInfoV"): {
            "state": 3, "clusterUuid": list(bytes.fromhex(named.replace("-", ""))),
        },
        ("nvml", "0000:17:00.0 nvmlDeviceGetPlatformInfo"): {
            "ibGuid": "0000000000000001", "rackGuid": "7hx", "chassisSerialNumber": "1800000000002", "slotNumber": 25,
        },
        ("nvml", "0000:17:00.0 nvmlDeviceGetClockInfo(1)"): 1980,
        ("nvml", "0000:17:00.0 nvmlDeviceGetBoardPartNumber"): "692-2G520-0200-000",
        ("text", "/var/log/inventory"): f"board 1600000000003 is GPU-{named}\n",
    }  # fmt: skip


def test_what_names_a_disk_gets_a_stand_in_wherever_it_stands() -> None:
    place = "/sys/block/nvme0n1/device/serial"
    shown = anonymised({("text", place): "S7KGNU0X123456  \n", ("text", "/etc/disks"): "S7KGNU0X123456 in bay 3\n"})
    assert shown == {("text", place): "1900000000001  \n", ("text", "/etc/disks"): "1900000000001 in bay 3\n"}
    assert anonymised({("text", place): "0000\n"}) == {("text", place): "0000\n"}


def test_a_board_without_a_serial_number_and_a_fabric_without_a_name_stay_so() -> None:
    without = of_board("0000000000000", "00000000-0000-0000-0000-000000000000", [0] * 16)
    shown = anonymised(without)
    for call in ("nvmlDeviceGetSerial", "nvmlDeviceGetGpuFabricInfoV"):
        assert shown["nvml", f"0000:17:00.0 {call}"] == without["nvml", f"0000:17:00.0 {call}"]


def test_why_a_serial_number_is_missing_is_no_serial_number() -> None:
    answers = {("nvml", "0000:17:00.0 nvmlDeviceGetSerial"): Gap("lost", "nvmlDeviceGetSerial: GPU is lost (NVML 15)")}
    assert anonymised(answers) == answers


def test_one_value_has_one_stand_in_wherever_it_stands() -> None:
    mac, other = "b8:59:9f:aa:bb:cc", "b8:59:9f:aa:bb:cd"
    texts = anonymised({("text", "/a"): f"{mac} {other}", ("text", "/b"): f"{other} {mac}"})
    assert texts["text", "/a"] == "02:00:00:00:00:01 02:00:00:00:00:02"
    assert texts["text", "/b"] == "02:00:00:00:00:02 02:00:00:00:00:01"


def test_redacted_values_stay_redacted_when_a_recording_is_anonymised() -> None:
    mark = Redactor.ephemeral().redacted(SECRET)
    answers = anonymised({("environ", "/proc/1/environ"): Map({"DB_PASSWORD": mark})})
    assert isinstance(answers["environ", "/proc/1/environ"].items["DB_PASSWORD"], Redacted)


def test_a_recorded_host_replays_to_its_snapshot_and_a_changed_probe_can_write_it_anew(tmp_path: Path) -> None:
    folder = tmp_path / "host"
    record(Host(), ["cpu"], str(folder))
    first = (folder / "snapshot.json").read_bytes()
    assert sections_of(Replay(load(str(folder))), ["cpu"])["cpu"]["threads"] == os.sysconf("SC_NPROCESSORS_ONLN")
    (folder / "snapshot.json").write_text("")
    expect(str(folder), ["cpu"])
    assert (folder / "snapshot.json").read_bytes() == first


def test_a_secret_on_the_kernel_command_line_is_in_neither_file(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text(
        f"ro --auth-token {SECRET} ip=dhcp password={SECRET} url=http://me:{SECRET}@x/"
    )
    record(Host(root=str(tmp_path)), ["kernel"], str(tmp_path / "host"))
    written = "".join(file.read_text() for file in (tmp_path / "host").iterdir())
    assert "ip=dhcp" in written
    assert SECRET not in written


def test_a_secret_parameter_of_a_module_is_in_neither_file_and_replays_alike(tmp_path: Path) -> None:
    folder = tmp_path / "sys/module/cifs/parameters"
    folder.mkdir(parents=True)
    (folder / "password").write_text(SECRET)
    (folder / "mode").write_text("1")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/modules").write_text("cifs 1 0 - Live 0x0\n")
    record(Host(root=str(tmp_path)), ["kernel"], str(tmp_path / "host"))
    assert SECRET not in "".join(file.read_text() for file in (tmp_path / "host").iterdir())
    first, second = (sections_of(Replay(load(str(tmp_path / "host"))), ["kernel"]) for _ in range(2))
    assert first == second


def test_a_recording_that_breaks_a_probe_shows_what_broke() -> None:
    sections = sections_of(Replay({("text", "/proc/cpuinfo"): 5}), ["cpu"])
    assert sections["cpu"]["failed"].startswith("TypeError: ")
