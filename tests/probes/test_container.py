"""Which container a process is in, and what that container was given: hand-made machines, and real namespaces."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from fingerprint.testing import Recorder, Replay, load, save
from probes.container import read as container_probe
from probes.container.sections import Container
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.probe import Target
from tests.kit.test_host import plain_user
from tests.probes.asked import received
from tests.probes.children import changes
from tests.probes.tree import tree

ID = "c0ffee" + "0123456789abcdef" * 3 + "0123456789"
V2 = "30 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
STAT = "{} (x) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 {} " + " ".join(["0"] * 30)


def read(host: Host, pid: int = 7, name: str = "main") -> Container:
    return received(container_probe.read(host, Target(name, pid)))


def code(seen: object) -> str:
    assert isinstance(seen, Gap), seen
    return seen.code


def machine(root: Path, cgroup: str, files: Mapping[str, str] | None = None) -> Host:
    """A tree in which process 7 stands in this group of cgroup v2."""
    return tree(root, {"/proc/self/mountinfo": V2, "/proc/7/cgroup": f"0::{cgroup}\n", **(files or {})})


@pytest.mark.parametrize(
    ("path", "runtime"),
    [
        (f"/system.slice/docker-{ID}.scope", "docker"),
        (f"/docker/{ID}", "docker"),
        (f"/machine.slice/libpod-{ID}.scope/container", "podman"),
        (f"/kubepods.slice/kubepods-pod12.slice/cri-containerd-{ID}.scope", "containerd"),
        (f"/kubepods.slice/kubepods-burstable.slice/crio-{ID}.scope", "cri-o"),
        (f"/kubepods/burstable/pod0a/{ID}", "kubernetes"),
    ],
)
def test_the_control_group_bears_runtime_and_id(tmp_path: Path, path: str, runtime: str) -> None:
    seen = read(machine(tmp_path, path))
    assert (seen.runtime, seen.id) == (runtime, ID)


def test_an_id_is_no_lasting_fact_so_that_each_start_is_no_change(tmp_path: Path) -> None:
    first = read(machine(tmp_path / "a", f"/docker/{ID}"))
    second = read(machine(tmp_path / "b", f"/docker/{ID[::-1]}"))
    assert first.id != second.id
    assert changes(first, second) == {}


def test_a_session_and_a_service_are_no_containers(tmp_path: Path) -> None:
    for number, path in enumerate(("/", "/user.slice/user-0.slice/session-3.scope", "/system.slice/vllm.service")):
        seen = read(machine(tmp_path / str(number), path))
        assert seen.runtime == "none"
        assert {code(value) for value in (seen.id, seen.image, seen.started)} == {"absent"}


def test_what_an_image_left_in_the_root_of_a_machine_makes_it_no_container(tmp_path: Path) -> None:
    """A virtual machine whose disk was made of an image has /.dockerenv too."""
    files = {"/.dockerenv": "", "/proc/7/mountinfo": "27 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"}
    assert read(machine(tmp_path, "/", files)).runtime == "none"


def test_from_inside_the_mounts_tell_what_the_control_group_hides(tmp_path: Path) -> None:
    mounted = (
        "27 1 0:40 / / rw,relatime - overlay overlay rw\n"
        f"30 27 8:1 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw,relatime - ext4 /dev/sda1 rw\n"
    )
    seen = read(machine(tmp_path, "/", {"/proc/7/mountinfo": mounted, "/.dockerenv": ""}))
    assert (seen.runtime, seen.id, seen.root_type) == ("docker", ID, "overlay")
    assert code(seen.image) == "not_read", "a tree lacks what was not copied"


def test_of_the_runtimes_own_file_the_image_is_told_and_none_of_its_secrets(tmp_path: Path) -> None:
    digest = f"sha256:{ID}"
    kept = f'{{"ID":"{ID}","Image":"{digest}","Config":{{"Env":["TOKEN=s3cret"],"Image":"lmsysorg/sglang:v0.5.3"}}}}'
    host = Recorder(machine(tmp_path, f"/docker/{ID}", {f"/var/lib/docker/containers/{ID}/config.v2.json": kept}))
    seen = read(host)
    assert (seen.image, seen.image_id) == ("lmsysorg/sglang:v0.5.3", digest)
    save(host.answers, tmp_path / "recording")
    assert "s3cret" not in (tmp_path / "recording/recording.json").read_text()


def test_the_start_is_that_of_the_oldest_process_of_the_group(tmp_path: Path) -> None:
    files = {
        f"/sys/fs/cgroup/docker/{ID}/cgroup.procs": "0\n7\n5\n9\n",
        **{f"/proc/{pid}/stat": STAT.format(pid, ticks) for pid, ticks in ((7, 4200), (5, 4100), (9, 9000))},
    }
    assert read(machine(tmp_path, f"/docker/{ID}", files)).started == 4100


@pytest.mark.parametrize(
    ("mask", "named"),
    [
        ("0000000000000000", ()),
        ("000001ffffffffff", ("all",)),
        ("0000000000804000", ("ipc_lock", "sys_nice")),
        ("0000000080000000", ("setfcap",)),
    ],
)
def test_capabilities_go_by_name(tmp_path: Path, mask: str, named: tuple[str, ...]) -> None:
    files = {"/proc/7/status": f"Name:\tx\nCapEff:\t{mask}\n", "/proc/sys/kernel/cap_last_cap": "40\n"}
    assert read(machine(tmp_path, "/", files)).capabilities == named


def test_disks_and_huge_pages_of_the_group_and_its_ancestors(tmp_path: Path) -> None:
    group = "/sys/fs/cgroup/a"
    files = {
        f"{group}/io.max": "8:0 rbps=1000 wbps=max riops=max wiops=max\n",
        f"{group}/b/io.max": "8:16 rbps=5 wbps=max riops=max wiops=max\n",
        f"{group}/b/hugetlb.2MB.max": "max\n",
        f"{group}/b/hugetlb.2MB.rsvd.max": "max\n",
    }
    seen = read(machine(tmp_path, "/a/b", files)).cgroup
    assert seen.version == 2
    assert seen.io_max == Map(
        {"8:0": "rbps=1000 wbps=max riops=max wiops=max", "8:16": "rbps=5 wbps=max riops=max wiops=max"}
    )
    assert seen.hugetlb_max == Map({"2MB": "max"})


def test_limits_of_the_first_version_are_told_in_the_words_of_the_second(tmp_path: Path) -> None:
    files = {
        "/proc/self/mountinfo": (
            "30 20 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
            "31 20 0:28 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n"
        ),
        "/proc/7/cgroup": "3:hugetlb:/a\n2:blkio:/a\n",
        "/sys/fs/cgroup/blkio/a/blkio.throttle.read_bps_device": "8:0 1048576\n",
        "/sys/fs/cgroup/blkio/a/blkio.throttle.write_iops_device": "8:0 100\n",
        "/sys/fs/cgroup/hugetlb/a/hugetlb.1GB.limit_in_bytes": "9223372036854771712\n",
    }
    seen = read(tree(tmp_path, files)).cgroup
    assert seen.io_max == Map({"8:0": "rbps=1048576 wiops=100"})
    assert seen.hugetlb_max == Map({"1GB": "max"})


def test_a_limit_that_may_not_be_read_is_no_absent_one(tmp_path: Path) -> None:
    answers = {
        ("text", "/proc/self/mountinfo"): V2,
        ("text", "/proc/7/cgroup"): "0::/a\n",
        ("text", "/sys/fs/cgroup/a/io.max"): Gap("denied"),
        ("text", "/sys/fs/cgroup/io.max"): Gap("absent"),
    }
    assert code(read(Replay(answers)).cgroup.io_max) == "denied"


def test_of_a_process_that_ended_all_is_a_gap() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    seen = read(Host(), child.pid)
    told = (seen.runtime, seen.namespaces, seen.shm_size, seen.capabilities, seen.label, seen.devices)
    assert {type(value) for value in told} == {Gap}


def test_a_descendant_in_the_same_place_is_not_told_again() -> None:
    child = subprocess.Popen(["sleep", "600"])
    try:
        assert read(Host(), child.pid, "main.sleep.1") == Container()
        assert read(Host(), child.pid).runtime != Container().runtime
    finally:
        child.kill()
        child.wait()


# Real namespaces and control groups.

root = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a container")]
INSIDE = 'mount -t tmpfs -o size="$0" none /dev/shm && echo there && exec sleep 600'


@contextmanager
def contained(group: Path, shm: str = "64m", *options: str) -> Iterator[int]:
    """The pid of a process with namespaces of its own, in a control group that is called as Docker calls one."""
    command = ["unshare", "--mount", "--ipc", "--uts", *options, "sh", "-c", INSIDE, shm]
    enter = f"import os, sys; open({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()));"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{enter} os.execvp(sys.argv[1], sys.argv[1:])", *command], stdout=subprocess.PIPE
    )
    try:
        assert child.stdout
        assert child.stdout.readline() == b"there\n"
        yield child.pid
    finally:
        child.kill()
        child.communicate()


@pytest.fixture
def group() -> Iterator[Path]:
    """A group of the hierarchy that counts processes, v2 or v1, named as Docker names it."""
    top = next(
        (
            Path(f"/sys/fs/cgroup/{name}")
            for name in ("pids", ".")
            if Path(f"/sys/fs/cgroup/{name}/cgroup.procs").exists()
        ),
        None,
    )
    if top is None:
        pytest.skip("no hierarchy of control groups is mounted")
    folder = top / f"docker-{ID}.scope"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield folder
    folder.rmdir()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make namespaces")
def test_mounts_of_its_own_in_the_root_of_the_machine_make_no_container() -> None:
    """As systemd's PrivateTmp gives a service. The machine may be made of an image that left /.dockerenv in it."""
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        seen = read(Host(), child.pid)
        child.kill()
    assert (seen.runtime, seen.namespaces) == ("none", ("mnt",))


class TestRealContainer:
    pytestmark = root

    def test_it_is_told_from_the_host(self, group: Path) -> None:
        before = read(Host(), os.getpid())
        with contained(group) as pid:
            seen = read(Host(), pid)
        assert (seen.runtime, seen.id, seen.shm_size) == ("docker", ID, 64 << 20)
        assert seen.namespaces == ("ipc", "mnt", "uts")
        assert isinstance(seen.started, int)
        assert {"runtime", "namespaces", "shm_size"} <= changes(before, seen).keys()

    def test_who_may_not_look_at_it_is_denied_what_is_inside(self, group: Path) -> None:
        with contained(group) as pid, plain_user():
            seen = read(Host(), pid)
        assert (seen.runtime, seen.id) == ("docker", ID)
        assert {code(seen.namespaces), code(seen.shm_size), code(seen.devices)} == {"denied"}

    def test_started_again_it_is_the_same_but_for_its_start(self, group: Path) -> None:
        host = Host()
        with contained(group) as pid:
            first = read(host, pid)
        with contained(group) as pid:
            second = read(host, pid)
        assert isinstance(first.started, int)
        assert isinstance(second.started, int)
        assert second.started > first.started
        assert changes(first, second) == {}

    def test_less_shared_memory_is_the_only_change(self, group: Path) -> None:
        with contained(group, "1g") as pid:
            first = read(Host(), pid)
        with contained(group, "64m") as pid:
            second = read(Host(), pid)
        assert changes(first, second) == {"shm_size": (1 << 30, 64 << 20)}

    @pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
    def test_fewer_capabilities_are_the_only_change(self, group: Path) -> None:
        with contained(group) as pid:
            first = read(Host(), pid)
        dropping = ("setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice")
        with contained(group, "64m", *dropping) as pid:
            second = read(Host(), pid)
        changed = changes(first, second)
        assert changed.keys() == {"capabilities"}
        assert set(changed["capabilities"][0]) - set(changed["capabilities"][1]) <= {"sys_nice", "all"}
        assert "sys_nice" not in changed["capabilities"][1]

    def test_a_recording_gives_the_same_again(self, group: Path, tmp_path: Path) -> None:
        recorder = Recorder(Host())
        with contained(group) as pid:
            live = read(recorder, pid)
        save(recorder.answers, tmp_path / "recording")
        assert read(Replay(load(tmp_path / "recording")), pid) == live
