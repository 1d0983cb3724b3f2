"""What a reader that is not root, and has some of root's rights, reads for a process of another user."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.kit import capabilities
from tests.kit.test_user import SLEEP, open_to_all
from tests.probes.children import running

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may give rights away"),
    pytest.mark.skipif(not shutil.which("setpriv"), reason="needs util-linux"),
]
READER, THEM, OTHERS = 65531, 65533, 65530
READ = """
import os, sys
from probes.kit import capabilities
from probes.kit.host import Host
before = capabilities.effective(), os.getresuid(), os.getresgid(), os.getgroups()
files = Host().within(int(sys.argv[1]))
for path in sys.argv[2:]:
    print(getattr(files.text(path), "code", "read"), getattr(files.text(path), "detail", ""), sep="; ")
assert before == (capabilities.effective(), os.getresuid(), os.getresgid(), os.getgroups())
print(Host().text(sys.argv[2]) == "secret")
"""
TO_LOOK = "+sys_ptrace"  # else a process of another user shows nothing of where its files are
ALL_FILES, TO_SWITCH = f"{TO_LOOK},+dac_read_search", ",+setuid,+setgid"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """What only root may read, and what is the reader's, the process's and everybody's; with links to them."""
    open_to_all(tmp_path)
    for name, owner, mode in (("root", 0, 0o600), ("reader", READER, 0o600), ("them", THEM, 0o600), ("all", 0, 0o644)):
        (tmp_path / name).write_text("secret")
        (tmp_path / name).chmod(mode)
        os.chown(tmp_path / name, owner, owner)
        (tmp_path / f"{name}.link").symlink_to(name)
    return tmp_path


@pytest.fixture
def theirs() -> Iterator[int]:
    with running(SLEEP, user=THEM, group=THEM, extra_groups=[]) as pid:
        yield pid


def read(pid: int, folder: Path, rights: str) -> list[str]:
    """What a reader with these rights alone says of the four links, and whether it reads root's file for itself."""
    caps = [f"--inh-caps={rights}", f"--ambient-caps={rights}", f"--bounding-set=-all,{rights}"]
    ids = [f"--reuid={READER}", f"--regid={READER}", "--clear-groups"]
    links = [str(folder / f"{name}.link") for name in ("root", "reader", "them", "all")]
    argv = ["setpriv", *ids, *caps, sys.executable, "-c", READ, str(pid), *links]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_with_the_right_to_read_all_it_is_put_aside_and_our_own_ids_read(secret: Path, theirs: int) -> None:
    nobody = f"denied; nobody may read as user {THEM} here, whose process names it"
    assert read(theirs, secret, ALL_FILES) == [nobody, "read; ", nobody, "read; ", "True"]


def test_with_the_right_to_become_the_user_too_he_reads(secret: Path, theirs: int) -> None:
    may_not = f"denied; user {THEM} may not read it, whose process names it"
    assert read(theirs, secret, ALL_FILES + TO_SWITCH) == [may_not, may_not, "read; ", "read; ", "True"]


def test_with_neither_we_read_as_ourselves(secret: Path, theirs: int) -> None:
    assert read(theirs, secret, TO_LOOK)[1::2] == ["read; ", "read; "]
    assert read(theirs, secret, TO_LOOK)[::2] == ["denied; Permission denied", "denied; Permission denied", "False"]


def test_with_the_right_to_become_the_user_alone_it_is_he_who_reads(secret: Path, theirs: int) -> None:
    assert [line[:4] for line in read(theirs, secret, TO_LOOK + TO_SWITCH)] == ["deni", "deni", "read", "read", "Fals"]


def test_a_process_of_ones_own_user_gets_no_more_by_a_link_than_he_may(secret: Path) -> None:
    with running(SLEEP, user=READER, group=READER, extra_groups=[]) as pid:
        assert read(pid, secret, ALL_FILES)[0].startswith("denied; ")


def test_rights_come_back_after_an_error() -> None:
    held, less = capabilities.effective(), 0
    try:
        with capabilities.without(capabilities.OF_FILES):
            less = capabilities.effective()
            raise ZeroDivisionError
    except ZeroDivisionError:
        assert less == held & ~capabilities.OF_FILES
    assert capabilities.effective() == held
