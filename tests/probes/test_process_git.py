"""What is told of a git tree, and that nothing which the tree brings along is run for it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.kit.facts import Gap
from probes.kit.git import State
from probes.kit.git import git as read_git
from probes.kit.host import Host
from tests.probes.tree import Forbidding

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(tree: Path, *args: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *who, *args], cwd=tree, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository of two files and one commit."""
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "trunk")
    (tree / "a.py").write_text("a = 1\n")
    (tree / "b.py").write_text("b = 1\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    return tree


def told(*places: Path) -> State:
    return read_git(Host(), [str(place) for place in places])


def test_a_clean_tree_is_told_from_any_folder_below_its_root(tree: Path) -> None:
    below = tree / "deep/er"
    below.mkdir(parents=True)
    assert told(below) == State(root=str(tree), commit=git(tree, "rev-parse", "HEAD"), branch="trunk", dirty="clean")


def test_the_first_place_that_lies_in_a_tree_counts(tree: Path, tmp_path: Path) -> None:
    assert told(tmp_path, tree).root == str(tree)


def test_outside_of_any_tree_all_is_absent(tmp_path: Path) -> None:
    seen = told(tmp_path)
    assert {seen.root, seen.commit, seen.branch, seen.dirty} == {Gap("absent")}


def test_a_packed_reference_and_a_detached_head_are_followed(tree: Path) -> None:
    commit = git(tree, "rev-parse", "HEAD")
    git(tree, "pack-refs", "--all")
    assert told(tree).commit == commit
    git(tree, "checkout", "-q", "--detach")
    assert told(tree).commit == commit
    assert told(tree).branch == Gap("absent")


def test_a_linked_worktree_has_its_own_head_and_the_shared_references(tree: Path, tmp_path: Path) -> None:
    git(tree, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    (tmp_path / "linked/a.py").write_text("a = 2\n")
    git(tmp_path / "linked", "commit", "-q", "-a", "-m", "second")
    seen = told(tmp_path / "linked")
    assert (seen.commit, seen.branch, seen.dirty) == (git(tmp_path / "linked", "rev-parse", "HEAD"), "other", "clean")
    git(tree, "pack-refs", "--all")
    assert told(tmp_path / "linked").commit == seen.commit


def test_nothing_committed_yet(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert told(tmp_path).commit == told(tmp_path).dirty == Gap("absent")


def test_of_a_sha256_repository_the_commit_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    assert told(tmp_path).commit == git(tmp_path, "rev-parse", "HEAD")
    assert told(tmp_path).dirty == Gap("unsupported")


def test_untracked_files_are_no_difference(tree: Path) -> None:
    (tree / "notes").write_text("x")
    assert told(tree).dirty == "clean"


def test_a_touched_or_copied_tree_is_clean_by_its_content(tree: Path, tmp_path: Path) -> None:
    os.utime(tree / "a.py", (1, 1))
    assert told(tree).dirty == "clean"
    shutil.copytree(tree, tmp_path / "copy")
    assert told(tmp_path / "copy").dirty == "clean"


def edited(tree: Path) -> None:
    (tree / "a.py").write_text("a = 2\n")


def edited_again(tree: Path) -> None:
    (tree / "a.py").write_text("a = 3\n")


def staged(tree: Path) -> None:
    edited(tree)
    git(tree, "add", "a.py")


def deleted(tree: Path) -> None:
    (tree / "a.py").unlink()


def executable(tree: Path) -> None:
    (tree / "a.py").chmod(0o755)


def linked(tree: Path) -> None:
    (tree / "a.py").unlink()
    (tree / "a.py").symlink_to("b.py")


@pytest.mark.parametrize("change", [edited, staged, deleted, executable, linked], ids=lambda change: change.__name__)
def test_a_difference_has_a_digest_and_putting_it_back_is_clean(tree: Path, change: Callable[[Path], None]) -> None:
    change(tree)
    dirty = told(tree).dirty
    assert isinstance(dirty, str)
    assert dirty != "clean"
    assert told(tree).dirty == dirty
    git(tree, "reset", "-q", "--hard")
    assert told(tree).dirty == "clean"


def test_different_differences_have_different_digests(tree: Path) -> None:
    digests = set()
    for change in (edited, edited_again, deleted, executable, linked):
        change(tree)
        digests.add(told(tree).dirty)
        git(tree, "reset", "-q", "--hard")
    assert len(digests) == 5


def test_a_tracked_symbolic_link_that_was_touched_is_clean_and_one_that_moved_is_not(tree: Path) -> None:
    (tree / "link").symlink_to("a.py")
    git(tree, "add", "link")
    git(tree, "commit", "-q", "-m", "link")
    (tree / "link").unlink()
    (tree / "link").symlink_to("a.py")
    assert told(tree).dirty == "clean"
    (tree / "link").unlink()
    (tree / "link").symlink_to("b.py")
    assert told(tree).dirty != "clean"


def test_reading_writes_nothing_into_the_tree(tree: Path) -> None:
    os.utime(tree / "a.py", (1, 1))
    before = {path: path.lstat().st_mtime_ns for path in tree.rglob("*")}
    told(tree)
    assert {path: path.lstat().st_mtime_ns for path in tree.rglob("*")} == before


def test_a_lock_that_somebody_holds_is_no_hindrance(tree: Path) -> None:
    (tree / ".git/index.lock").touch()
    edited(tree)
    assert isinstance(told(tree).dirty, str)


@pytest.mark.parametrize("head", ["ref: refs/../../../../secret", "ref: ../../secret", "nonsense", ""])
def test_a_head_that_points_elsewhere_discloses_nothing(tree: Path, head: str) -> None:
    (tree.parent / "secret").write_text("a private line")
    (tree / ".git/HEAD").write_text(head)
    assert isinstance(told(tree).commit, Gap)
    assert "private" not in repr(told(tree))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can read for another user")
@pytest.mark.root
def test_root_reads_the_tree_of_another_user(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        os.chown(path, 65534, 65534)
    edited(tree)
    dirty = told(tree).dirty
    assert isinstance(dirty, str)
    assert dirty != "clean"


def test_an_index_that_may_not_be_read_is_not_given_to_git(tree: Path) -> None:
    """It would say in an error what the file begins with, where root runs it and the index is a link of the user's."""
    index = tree / ".git/index"
    assert read_git(Forbidding(f"4 {index}"), [str(tree)]).dirty == Gap("denied")
    index.unlink()
    os.mkfifo(index)
    assert told(tree).dirty == Gap("unsupported"), "nor does git wait for a FIFO"


def git_alone(tree: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=tree, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=10)


@pytest.fixture
def hostile(tree: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A tree that wires a program to whatever git offers, and the file that the program would make."""
    mark, bomb, hooks = tmp_path / "was-run", tmp_path / "bomb", tmp_path / "hooks"
    bomb.write_text(f"#!/bin/sh\necho $0 $* >> {mark}\n")
    bomb.chmod(0o755)
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        (hooks / name).symlink_to(bomb)
        shutil.copy(bomb, tree / ".git/hooks" / name)
    (tree / ".gitattributes").write_text("* filter=bomb diff=bomb merge=bomb\n")
    git(tree, "add", ".gitattributes")
    git(tree, "commit", "-q", "-m", "attributes")
    settings = {
        "core.fsmonitor": str(bomb), "core.hooksPath": str(hooks), "core.sshCommand": str(bomb),
        "core.pager": str(bomb),
        "core.editor": str(bomb), "core.askPass": str(bomb), "core.gitProxy": str(bomb), "credential.helper": str(bomb),
        "filter.bomb.clean": str(bomb), "filter.bomb.smudge": str(bomb), "filter.bomb.process": str(bomb),
        "filter.bomb.required": "true", "diff.bomb.textconv": str(bomb), "diff.bomb.command": str(bomb),
        "diff.external": str(bomb), "gpg.program": str(bomb), "alias.diff-index": f"!{bomb}",
        "alias.hash-object": f"!{bomb}",
        "pager.diff-index": str(bomb), "uploadpack.packObjectsHook": str(bomb), "protocol.allow": "always",
        "protocol.ext.allow": "always", "diff.submodule": "diff", "submodule.recurse": "true",
    }  # fmt: skip
    for name, value in settings.items():
        git(tree, "config", name, value)
    mark.unlink(missing_ok=True)
    return tree, mark


def untouched(tree: Path) -> None:
    """Every file is as new as the index, so that git has to look into it to know."""
    os.utime(tree / ".git/index", (1, 1))


@pytest.mark.parametrize("change", [untouched, edited, executable, linked, deleted], ids=lambda change: change.__name__)
def test_nothing_of_a_hostile_tree_is_run(hostile: tuple[Path, Path], change: Callable[[Path], None]) -> None:
    tree, mark = hostile
    change(tree)
    assert isinstance(told(tree).dirty, str)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("command", ["status", "diff", "diff-index --raw HEAD"])
def test_plain_git_runs_what_a_hostile_tree_names(hostile: tuple[Path, Path], command: str) -> None:
    """Else the tests around would prove nothing."""
    tree, mark = hostile
    untouched(tree)
    git_alone(tree, *command.split())
    assert mark.exists()


def test_a_hostile_submodule_is_not_entered(tree: Path, hostile: tuple[Path, Path], tmp_path: Path) -> None:
    outer, mark = tmp_path / "outer", hostile[1]
    outer.mkdir()
    git(outer, "init", "-q")
    shutil.copytree(tree, outer / "sub")
    git(outer, "add", "sub")
    git(outer, "commit", "-q", "-m", "with a submodule")
    edited(outer / "sub")
    mark.unlink(missing_ok=True)
    assert told(outer).dirty == "clean"
    assert not mark.exists(), mark.read_text()


def test_a_missing_object_of_a_partial_clone_is_not_fetched(hostile: tuple[Path, Path], tmp_path: Path) -> None:
    tree, mark = hostile
    for name, value in {
        "remote.origin.url": f"ext::{tmp_path}/bomb %S", "remote.origin.promisor": "true",
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin",
    }.items():  # fmt: skip
        git(tree, "config", name, value)
    top = git(tree, "rev-parse", "HEAD^{tree}")
    (tree / ".git/objects" / top[:2] / top[2:]).unlink()
    mark.unlink(missing_ok=True)
    assert isinstance(told(tree).dirty, Gap)
    assert not mark.exists(), mark.read_text()
    git_alone(tree, "diff-index", "HEAD")
    assert mark.exists(), "a plain diff-index fetches it: else this test would prove nothing"


def test_without_git_the_commit_is_told_all_the_same(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Gap("absent", "git is not installed")
    monkeypatch.setattr(Host, "command", lambda *args, **more: missing)
    assert told(tree).dirty == missing
    assert told(tree).commit == git(tree, "rev-parse", "HEAD")
