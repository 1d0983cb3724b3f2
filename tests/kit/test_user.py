"""What root reads for a process of another user: what that user may read, wherever his links lead."""

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from fingerprint.testing import Recorder, Replay
from probes.kit.answers import Resident
from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.user import User
from tests.kit.test_within import gap, started
from tests.probes.children import running

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root reads for others")]
SOMEBODY, GROUP = 65533, 65532
SLEEP = ("sleep", "600")
READS: dict[str, Callable[[Host, str], Any]] = {
    "text": Host.text,
    "head": lambda host, path: host.head(path, 100),
    "matching": lambda host, path: host.matching(path, ".*"),
    "sha256": Host.sha256,
    "elf": Host.elf,
    "weights": Host.weights,
}


def open_to_all(folder: Path) -> None:
    """With those folders above it that pytest keeps for itself."""
    for above in takewhile(lambda place: "pytest-" in str(place), (folder, *folder.parents)):
        above.chmod(0o755)


@pytest.fixture
def theirs() -> Iterator[int]:
    with running(SLEEP, user=SOMEBODY, group=SOMEBODY, extra_groups=[GROUP]) as pid:
        yield pid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    open_to_all(tmp_path)
    (tmp_path / "secret").write_text("root:$6$hunter2:20228:0\n")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "link").symlink_to("secret")
    return tmp_path


@pytest.mark.parametrize("name", READS)
def test_a_link_to_what_only_root_may_read_is_denied(name: str, folder: Path, theirs: int) -> None:
    host, path = Host(), str(folder / "link")
    assert gap(READS[name](host.within(theirs), path)) == "denied"
    assert host.text(path) == "root:$6$hunter2:20228:0\n"


def test_what_of_roots_file_is_in_memory_root_tells_of_what_he_may_open(folder: Path, theirs: int) -> None:
    (folder / "weights").write_bytes(bytes(1 << 16))
    host = Host()
    seen = host.within(theirs).resident(str(folder / "weights"), 1 << 20)
    assert isinstance(seen, Resident)
    assert (seen.looked_at, seen.there) == (1 << 16, 1 << 16)
    assert gap(host.within(theirs).resident(str(folder / "link"), 1 << 20)) == "denied"
    assert (os.geteuid(), os.getegid()) == (0, 0)


@pytest.fixture
def apart() -> Iterator[int]:
    """A process of his in a mount namespace of its own that holds all of our files, as `unshare -Urm` gives anybody."""
    his = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
    yield from started(["unshare", "-m", *his, "sh", "-c", "echo there; exec sleep 600"])


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs util-linux")
@pytest.mark.parametrize("name", READS)
def test_a_file_system_of_his_own_shows_him_no_more(name: str, folder: Path, apart: int) -> None:
    assert gap(READS[name](Host().within(apart), str(folder / "link"))) == "denied"


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs util-linux")
def test_in_a_file_system_of_his_own_he_may_read_what_is_open_to_all(folder: Path, apart: int) -> None:
    (folder / "open").write_text("read me")
    files = Host().within(apart)
    assert files.text(str(folder / "open")) == "read me"
    assert files.link(str(folder / "link")) == "secret"
    assert gap(files.text(str(folder / "nowhere"))) == "absent"
    assert (os.geteuid(), os.getegid()) == (0, 0)


def test_what_root_has_read_before_is_not_told_from_memory(folder: Path, theirs: int) -> None:
    host, path = Host(), str(folder / "link")
    host.sha256(path)
    assert gap(host.within(theirs).sha256(path)) == "denied"


@pytest.mark.parametrize(("owner", "mode"), [((SOMEBODY, 0), 0o600), ((0, SOMEBODY), 0o640), ((0, GROUP), 0o640)])
def test_what_the_user_or_one_of_his_groups_may_read_is_read(
    owner: tuple[int, int], mode: int, folder: Path, theirs: int
) -> None:
    path = folder / "own"
    path.write_text("theirs")
    path.chmod(mode)
    os.chown(path, *owner)
    assert Host().within(theirs).text(str(path)) == "theirs"


def test_we_are_root_again_whatever_was_read(folder: Path, theirs: int) -> None:
    before = os.getresuid(), os.getresgid(), os.getgroups()
    files = Host().within(theirs)
    for path in (folder / "link", folder / "nowhere", folder, Path("/proc/self/environ")):
        files.text(str(path))
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before
    assert Path(folder / "secret").read_text()


def test_programs_are_started_as_before(theirs: int) -> None:
    assert Host().within(theirs).command(["id", "-u"]) == "0\n"


def test_a_user_that_nobody_may_become_is_denied_everything(theirs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_uid: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setegid", refuse)
    answer = Host().within(theirs).text("/etc/hostname")
    monkeypatch.undo()
    assert answer == Gap("denied")
    assert isinstance(answer, Gap)
    assert f"user {SOMEBODY}" in answer.detail


def test_processes_of_one_user_share_a_host_and_roots_own_is_ours(theirs: int) -> None:
    host = Host()
    with running(SLEEP, user=SOMEBODY, group=SOMEBODY, extra_groups=[GROUP]) as other:
        assert host.within(other) == host.within(theirs)
        assert len({host.within(other), host.within(theirs)}) == 1
    for pid in started(["sh", "-c", "echo there; exec sleep 600"]):
        assert host.within(pid) is host


def test_a_recording_answers_alike(folder: Path, theirs: int) -> None:
    recorder = Recorder(Host())
    told = recorder.within(theirs).text(str(folder / "link"))
    replay = Replay(recorder.answers)
    assert replay.within(theirs).text(str(folder / "link")) == told == Gap("denied")


def test_a_user_is_told_by_the_ids_that_the_kernel_asks_for(theirs: int) -> None:
    files = Host().within(theirs)
    assert getattr(files, "_user", None) == User(SOMEBODY, SOMEBODY, (GROUP,))
