"""Where a process stands in control groups, and which limit of all its groups is the tightest."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.process.cgroup import cgroup, normal

V2 = "30 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "30 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "31 20 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 20 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 20 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
)


def machine(root: Path, mounts: str, membership: str, files: Mapping[str, str]) -> Host:
    written = {"/proc/self/mountinfo": mounts, "/proc/7/cgroup": membership}
    written |= {f"/sys/fs/cgroup{path}": content for path, content in files.items()}
    for path, content in written.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return Host(str(root))


def test_in_v2_the_tightest_of_all_ancestors_counts(tmp_path: Path) -> None:
    host = machine(
        tmp_path,
        V2,
        "0::/a.slice/b.service\n",
        {
            "/a.slice/cpu.max": "200000 100000\n",
            "/a.slice/b.service/cpu.max": "max 100000\n",
            "/a.slice/memory.max": "1073741824\n",
            "/a.slice/b.service/memory.max": "max\n",
            "/a.slice/b.service/memory.high": "max\n",
            "/a.slice/b.service/memory.swap.max": "0\n",
            "/a.slice/b.service/pids.max": "500\n",
            "/a.slice/cpu.weight": "50\n",
            "/a.slice/b.service/cpu.weight": "100\n",
            "/a.slice/cpuset.cpus.effective": "0-3\n",
            "/cpuset.cpus.effective": "0-7\n",
        },
    )
    seen = cgroup(host, 7)
    assert seen.path == Map({"unified": "/a.slice/b.service"})
    assert (seen.cpu_max, seen.cpu_weight, seen.cpuset_cpus) == ("200000 100000", (50,), "0-3")
    assert (seen.memory_max, seen.memory_high, seen.memory_swap_max, seen.pids_max) == (1 << 30, "max", 0, 500)


def test_quotas_are_compared_as_shares_of_their_own_periods(tmp_path: Path) -> None:
    files = {"/a/cpu.max": "90000 100000", "/a/b/cpu.max": "40000 50000"}
    assert cgroup(machine(tmp_path, V2, "0::/a/b\n", files), 7).cpu_max == "40000 50000"


def test_in_v1_each_controller_has_a_path_of_its_own(tmp_path: Path) -> None:
    huge = "9223372036854771712\n"
    host = machine(
        tmp_path,
        V1,
        "4:pids:/\n3:cpuset:/\n2:memory:/jobs/1\n1:cpu,cpuacct:/jobs\n0::/\n",
        {
            "/cpu/cpu.cfs_quota_us": "-1\n",
            "/cpu/cpu.cfs_period_us": "100000\n",
            "/cpu/jobs/cpu.cfs_quota_us": "50000\n",
            "/cpu/jobs/cpu.cfs_period_us": "100000\n",
            "/cpu/jobs/cpu.shares": "512\n",
            "/cpu/cpu.shares": "1024\n",
            "/memory/memory.limit_in_bytes": huge,
            "/memory/jobs/1/memory.limit_in_bytes": "4096\n",
            "/memory/jobs/1/memory.memsw.limit_in_bytes": "12288\n",
            "/cpuset/cpuset.effective_cpus": "0-1\n",
            "/cpuset/cpuset.effective_mems": "0\n",
        },
    )
    seen = cgroup(host, 7)
    assert (seen.cpu_max, seen.cpu_weight) == ("50000 100000", (512,))
    assert (seen.memory_max, seen.memory_swap_max, seen.memory_high) == (4096, 8192, Gap("unsupported"))
    assert (seen.cpuset_cpus, seen.cpuset_mems, seen.pids_max) == ("0-1", "0", "max")


def test_a_container_sees_its_own_group_mounted_as_the_top(tmp_path: Path) -> None:
    mounts = "30 20 0:27 /docker/c0ffee /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    files = {"/cpu.max": "300000 100000", "/inner/cpu.max": "max 100000"}
    assert cgroup(machine(tmp_path, mounts, "0::/docker/c0ffee/inner\n", files), 7).cpu_max == "300000 100000"


@pytest.mark.parametrize("path", ["/../outside", "/elsewhere"])
def test_a_group_outside_of_what_is_mounted_is_not_observable(tmp_path: Path, path: str) -> None:
    mounts = "30 20 0:27 /docker/c0ffee /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    assert cgroup(machine(tmp_path, mounts, f"0::{path}\n", {}), 7).cpu_max == Gap("not_observable")


def test_without_a_mount_nothing_is_claimed(tmp_path: Path) -> None:
    assert cgroup(machine(tmp_path, "", "0::/\n", {}), 7).memory_max == Gap("not_observable")


def test_without_limits_in_any_group_there_is_none(tmp_path: Path) -> None:
    seen = cgroup(machine(tmp_path, V2, "0::/a\n", {}), 7)
    assert (seen.cpu_max, seen.memory_max, seen.cpu_weight) == ("max", "max", ())
    assert seen.cpuset_cpus == Gap("absent")


def test_what_makes_no_sense_is_failed(tmp_path: Path) -> None:
    seen = cgroup(machine(tmp_path, V2, "0::/a\n", {"/a/cpu.max": "plenty", "/a/memory.max": "lots"}), 7)
    assert (seen.cpu_max, seen.memory_max) == (Gap("failed"), Gap("failed"))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/user.slice/user-1000.slice/session-12.scope", "/user.slice/user-1000.slice/session-N.scope"),
        ("/user.slice/user-1000.slice/session-c3.scope", "/user.slice/user-1000.slice/session-N.scope"),
        ("/system.slice/run-r0a1b2c3d4e5f60718293a4b5c6d7e8f9.scope", "/system.slice/run-N.scope"),
        ("/system.slice/run-p1234-i5678.service", "/system.slice/run-N.service"),
        ("/system.slice/run-u42.service", "/system.slice/run-N.service"),
        ("/system.slice/docker-" + "a1" * 32 + ".scope", "/system.slice/docker-ID.scope"),
        ("/docker/" + "b2" * 32, "/docker/ID"),
        (
            "/kubepods.slice/kubepods-pod3e1b2c4d_0000_1111_2222_333344445555.slice/cri-containerd-"
            + "c3" * 32
            + ".scope",
            "/kubepods.slice/kubepods-podID.slice/cri-containerd-ID.scope",
        ),
        ("/user.slice/vte-spawn-3e1b2c4d-0000-1111-2222-333344445555.scope", "/user.slice/vte-spawn-ID.scope"),
        ("/app.slice/app-gnome-terminal-4711.scope", "/app.slice/app-gnome-terminal-N.scope"),
        ("/slurm/uid_1000/job_4711/step_0/task_1", "/slurm/uid_1000/job_N/step_N/task_N"),
        (
            "/system.slice/system-sshd.slice/sshd@3-192.0.2.1:22-192.0.2.2:51234.service",
            "/system.slice/system-sshd.slice/sshd@N.service",
        ),
        ("/system.slice/inference@8000.service", "/system.slice/inference@8000.service"),
        ("/system.slice/inference.service", "/system.slice/inference.service"),
        ("/", "/"),
    ],
)
def test_what_is_new_at_each_login_start_or_job_is_left_out_of_the_path(path: str, shown: str) -> None:
    assert normal(path) == shown
