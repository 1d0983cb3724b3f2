"""Which words the Python files below a folder hold."""

import os
from pathlib import Path

import pytest

from probes.kit import mentioned as module
from probes.kit.facts import Gap
from probes.kit.host import Host

WORDS = ("VLLM_ONE", "VLLM_TWO", "VLLM_OTHER")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    (package / "below").mkdir(parents=True)
    (package / "envs.py").write_text('os.getenv("VLLM_ONE")\n')
    (package / "below" / "late.py").write_bytes(b"\xff os.environ['VLLM_TWO'], VLLM_OTHERWISE, MY_VLLM_OTHER")
    (package / "notes.md").write_text("VLLM_OTHER")
    return package


def test_whole_words_in_python_files_and_nowhere_else(tree: Path) -> None:
    assert Host().mentioned(str(tree), WORDS) == ("VLLM_ONE", "VLLM_TWO")


def test_what_only_a_test_names_is_not_read_by_a_server(tree: Path) -> None:
    (tree / "tests").mkdir()
    (tree / "tests" / "test_envs.py").write_text("VLLM_OTHER")
    assert Host().mentioned(str(tree), ["VLLM_OTHER"]) == ()


def test_a_link_leads_nowhere_and_a_fifo_holds_nobody_up(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("VLLM_OTHER")
    (tree / "link.py").symlink_to(tmp_path / "secret.py")
    (tree / "folder").symlink_to(tmp_path)
    os.mkfifo(tree / "fifo.py")
    assert Host().mentioned(str(tree), ["VLLM_OTHER"]) == ()


def test_the_folder_itself_may_be_a_link(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(tree)
    assert Host().mentioned(str(tmp_path / "current"), ["VLLM_ONE"]) == ("VLLM_ONE",)


def test_beneath_a_root_it_is_that_roots_folder(tree: Path, tmp_path: Path) -> None:
    assert Host(str(tmp_path)).mentioned("/package", ["VLLM_ONE"]) == ("VLLM_ONE",)


def test_a_folder_that_is_not_there_is_no_folder_without_the_words(tmp_path: Path) -> None:
    assert Host().mentioned(str(tmp_path / "none"), WORDS) == Gap("absent")


@pytest.mark.parametrize("bound", [("MOST_FILES", 1, "not_observable"), ("SECONDS", -1.0, "timed_out")])
def test_beyond_its_bounds_nothing_is_known(
    tree: Path, bound: tuple[str, float, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value, code = bound
    monkeypatch.setattr(module, name, value)
    answer = Host().mentioned(str(tree), WORDS)
    assert isinstance(answer, Gap)
    assert answer.code == code
