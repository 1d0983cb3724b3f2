"""What is around the GPUs: who sets their limits at boot, who keeps them up, and who is on them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fingerprint.testing import Replay
from probes.gpu.inferred import read_inferred
from probes.gpu.machine import CONTAINER_FILES, Machine, read_machine
from probes.gpu.processes import process_facts
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from tests.probes.asked import gpu
from tests.probes.gpu_hosts import BARE, CONTAINED, FILE, code
from tests.probes.tree import tree

ALONE = Machine(contained=False, host_pids=True, daemon_socket=True, daemon=True, at_boot=())
LISTS: Mapping[str, Any] = {
    f"nvmlDeviceGet{kind}RunningProcesses_v3": [] for kind in ("Compute", "Graphics", "MPSCompute")
}
COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3"
GIB = 1 << 30


# Who sets limits at boot.

UNIT = "[Service]\nEnvironment=TOKEN=secret\nExecStart=/usr/bin/nvidia-smi -i 0 -pl 450\n"
CALLING = "[Service]\nExecStartPre=-/opt/gpu/prepare.sh --all\nExecStart=/usr/bin/true\n"


def at_boot(root: Path, files: Mapping[str, str]) -> Any:
    return read_machine(tree(root, files)).at_boot


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"/etc/systemd/system/gpu.service": UNIT}, "/etc/systemd/system/gpu.service: -pl"),
        (
            {"/etc/systemd/system/gpu.service": CALLING, "/opt/gpu/prepare.sh": "nvidia-smi --lock-gpu-clocks=1200\n"},
            "/opt/gpu/prepare.sh: --lock-gpu-clocks",
        ),
        ({"/etc/cron.d/gpu": "@reboot root nvidia-smi -pm 1\n"}, "/etc/cron.d/gpu: -pm"),
        ({"/etc/rc.local": "#!/bin/sh\nnvidia-smi -q\nnvidia-smi -lmc 2619\n"}, "/etc/rc.local: -lmc"),
        ({"/etc/udev/rules.d/9-gpu.rules": 'RUN+="/usr/bin/nvidia-smi -ac 2619,1980"\n'}, "rules.d/9-gpu.rules: -ac"),
    ],
)
def test_who_sets_power_or_clocks_at_boot_is_found(tmp_path: Path, files: Mapping[str, str], found: str) -> None:
    (line,) = at_boot(tmp_path, files)
    assert line.endswith(found)


def test_who_only_looks_sets_nothing(tmp_path: Path) -> None:
    files = {"/etc/systemd/system/a.service": "ExecStart=/usr/bin/nvidia-smi -L\nExecStart=/usr/bin/other -pl 3\n"}
    assert at_boot(tmp_path, files) == ()


def test_a_container_does_not_see_who_sets_limits_at_boot() -> None:
    assert code(read_machine(Replay(CONTAINED)).at_boot) == "not_observable"


# Who keeps a GPU up.


PID_FILE = ("text", "/run/nvidia-persistenced/nvidia-persistenced.pid")
COMM = ("text", "/proc/7/comm")


@pytest.mark.parametrize(
    ("questions", "daemon"),
    [
        ({PID_FILE: "7\n", COMM: "nvidia-persiste\n"}, True),
        ({PID_FILE: "7\n", COMM: "bash\n"}, False),
        ({("stat", "/run/nvidia-persistenced/socket"): FILE}, True),
        ({}, False),
    ],
)
def test_the_daemon_is_the_process_that_its_pid_file_names(questions: Any, daemon: bool) -> None:
    assert read_machine(Replay({**BARE, **questions})).daemon == daemon


def test_in_a_container_the_daemon_shows_by_its_socket_or_not_at_all() -> None:
    socket = {("stat", "/var/run/nvidia-persistenced/socket"): FILE}
    assert read_machine(Replay({**CONTAINED, **socket})).daemon is True
    assert code(read_machine(Replay(CONTAINED)).daemon) == "not_observable"


@pytest.mark.parametrize("file", CONTAINER_FILES)
def test_a_container_that_shares_the_hosts_pids_is_one_by_its_files(file: str) -> None:
    machine = read_machine(Replay({**BARE, ("stat", file): FILE}))
    assert (machine.contained, machine.host_pids) == (True, True)
    assert not read_machine(Replay(BARE)).contained


def inferred(machine: Machine, limit: int = 450_000, persistence: int = 1) -> Any:
    return read_inferred(
        gpu(
            {
                "nvmlDeviceGetPowerManagementLimit": limit,
                "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
                "nvmlDeviceGetPersistenceMode": persistence,
            }
        ),
        machine,
    )


def test_the_boards_own_limit_was_set_by_nobody() -> None:
    found = inferred(ALONE, limit=700_000)
    assert (found.power_limit_by, found.power_limit_until) == ("default", "not set")


@pytest.mark.parametrize(
    ("at_boot", "persistence", "until"),
    [
        ((), 1, "reboot"),
        ((), 0, "last close"),
        (("/etc/rc.local: -pl",), 1, "set again at boot"),
        (("/etc/rc.local: -pm",), 1, "reboot"),
    ],
)
def test_a_limit_that_somebody_set_lasts_as_long_as_something_keeps_it(
    at_boot: tuple[str, ...], persistence: int, until: str
) -> None:
    found = inferred(ALONE._replace(at_boot=at_boot), persistence=persistence)
    assert (found.power_limit_by, found.power_limit_until) == ("somebody", until)
    assert found.set_at_boot == at_boot


@pytest.mark.parametrize(
    ("daemon", "persistence", "by"), [(True, 1, "nvidia-persistenced"), (False, 1, "flag"), (True, 0, "nobody")]
)
def test_persistence_is_the_daemons_or_a_flag_that_is_gone_after_a_reboot(
    daemon: bool, persistence: int, by: str
) -> None:
    assert inferred(ALONE._replace(daemon=daemon), persistence=persistence).persistence_by == by


# Who is on a GPU.


def running(pid: int, used: int | None) -> dict[str, Any]:
    return {"pid": pid, "usedGpuMemory": used, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}


def on_gpu(lists: Mapping[str, Any], machine: Machine = ALONE, used: int = 0, **more: Any) -> Any:
    memory = {"total": 80 * GIB, "reserved": GIB, "free": 79 * GIB - used, "used": used}
    answers = {**LISTS, "nvmlDeviceGetMemoryInfo": memory, **lists}
    return process_facts(gpu(answers, more.get("others")), machine)


def test_a_process_is_told_with_its_owner_and_container() -> None:
    container = "4f" * 32
    others = {
        ("text", "/proc/7/comm"): "python3\n",
        ("stat", "/proc/7"): FILE,
        ("text", "/proc/7/cgroup"): f"0::/system.slice/docker-{container}.scope\n",
    }
    facts = on_gpu({COMPUTE: [running(7, GIB)]}, used=GIB, others=others)
    process = facts["processes"].items["7"]
    assert (process.name, process.owner, process.used_memory, process.type) == ("python3", 0, GIB, "compute")
    assert process.container == container[:12]


@pytest.mark.parametrize("path", ["/user.slice/user-0.slice", "/", "/docker/short"])
def test_a_process_outside_of_containers_is_in_none(path: str) -> None:
    facts = on_gpu({COMPUTE: [running(7, GIB)]}, others={("text", "/proc/7/cgroup"): f"0::{path}\n"})
    assert code(facts["processes"].items["7"].container) == "absent"


def test_pids_of_the_host_are_nobody_in_a_container() -> None:
    machine = ALONE._replace(contained=True, host_pids=False)
    process = on_gpu({COMPUTE: [running(7, GIB)]}, machine)["processes"].items["7"]
    assert {code(process.name), code(process.owner), code(process.container)} == {"not_observable"}
    assert process.used_memory == GIB


def test_a_process_that_computes_and_draws_is_one_with_its_memory_once() -> None:
    both = {COMPUTE: [running(7, GIB)], "nvmlDeviceGetGraphicsRunningProcesses_v3": [running(7, GIB)]}
    facts = on_gpu(both, used=GIB)
    assert facts["processes"].items["7"].type == "compute+graphics"
    assert facts["unowned_memory"] == 0


def test_memory_that_no_process_owns_is_what_is_left() -> None:
    assert on_gpu({COMPUTE: [running(7, GIB)]}, used=3 * GIB)["unowned_memory"] == 2 * GIB
    assert on_gpu({}, used=2 * GIB)["unowned_memory"] == 2 * GIB


@pytest.mark.parametrize(
    ("lists", "machine"),
    [
        ({COMPUTE: [running(7, None)]}, ALONE),
        ({}, ALONE._replace(contained=True)),
        ({"nvmlDeviceGetMigMode": [1, 1]}, ALONE),
        ({"nvmlDeviceGetMemoryInfo": {"total": GIB, "free": 0, "used": GIB}}, ALONE),
    ],
)
def test_where_some_owner_is_not_told_no_memory_is_called_unowned(lists: Any, machine: Machine) -> None:
    assert code(on_gpu(lists, machine)["unowned_memory"]) == "not_observable"


def test_where_gpu_and_cpu_share_one_memory_none_of_it_is_called_unowned() -> None:
    told = process_facts(gpu({**LISTS, "nvmlDeviceGetMemoryInfo": Gap("unsupported")}), ALONE)
    assert told["unowned_memory"] == Gap("unsupported")


def test_processes_that_are_not_told_are_not_none() -> None:
    facts = on_gpu({COMPUTE: Gap("denied")})
    assert {code(facts["processes"]), code(facts["unowned_memory"])} == {"denied"}


def test_a_gpu_that_nobody_is_on_has_no_processes() -> None:
    assert on_gpu({})["processes"] == Map({})


def test_this_machine_is_in_a_container_or_not_and_its_boot_files_are_read() -> None:
    machine = read_machine(Host())
    assert isinstance(machine.at_boot, Gap) == machine.contained
