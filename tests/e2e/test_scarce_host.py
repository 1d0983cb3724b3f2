"""Where something that fingerprint needs is missing or used up, the command runs all the same."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli

COMMAND = ("sh", "-c", "echo out; exit 3")
UNRECORDED = "nothing can be recorded"
EXEC_WITHOUT_NAME = """
import ctypes, sys
path, home, *words = map(str.encode, sys.argv[1:])
env = (ctypes.c_char_p * 4)(b"=nameless", b"PYTHONPATH=" + path, b"XDG_STATE_HOME=" + home, None)
ctypes.CDLL(None).execve(words[0], (ctypes.c_char_p * (len(words) + 1))(*words, None), env)
"""


def limited(limit: str) -> tuple[str, ...]:
    return ("bash", "-c", f'ulimit {limit}; exec "$@"', "bash")


def test_without_descriptors_it_runs_unrecorded(fingerprint: Cli) -> None:
    done = fingerprint("run", "--", *COMMAND, before=limited("-n 8"), status=3)
    assert (done.stdout, UNRECORDED in done.stderr) == ("out\n", True)


@pytest.mark.parametrize("descriptors", range(9, 24, 2))
def test_with_few_descriptors_it_runs_once(fingerprint: Cli, descriptors: int) -> None:
    assert fingerprint("run", "--", *COMMAND, before=limited(f"-n {descriptors}"), status=3).stdout == "out\n"


def test_where_no_file_may_grow_it_runs_and_says_what_is_lost(fingerprint: Cli) -> None:
    done = fingerprint("run", "--", *COMMAND, before=limited("-f 0"), status=3)
    assert (done.stdout, "they are lost" in done.stderr) == ("out\n", True)


def test_in_a_removed_folder_it_runs_and_is_recorded(fingerprint: Cli) -> None:
    gone = fingerprint.home / "gone"
    gone.mkdir()
    leave = ("sh", "-c", 'rmdir ../gone; exec "$@"', "sh")
    fingerprint("run", "--name", "a", "--", "true", before=leave, cwd=gone, env={"PYTHONPATH": os.getcwd()})
    assert json.loads(fingerprint("show", "a", "--format", "json").stdout)["cwd"] == f"{gone} (deleted)"


def test_in_a_removed_folder_without_a_store_its_records_go_elsewhere(fingerprint: Cli) -> None:
    gone = fingerprint.home / "gone"
    gone.mkdir()
    leave = ("sh", "-c", 'rmdir ../gone; exec "$@"', "sh")
    env = {"PYTHONPATH": os.getcwd(), "FINGERPRINT_STORE": "/proc/none/store.db", "TMPDIR": str(fingerprint.home)}
    done = fingerprint("run", "--", *COMMAND, before=leave, cwd=gone, env=env, status=3)
    assert done.stdout == "out\n"
    [kept] = fingerprint.home.glob("fingerprint-*.jsonl")
    fingerprint("import", str(kept))


def test_an_environment_entry_without_a_name_is_no_obstacle(fingerprint: Cli) -> None:
    nameless = ("python3", "-c", EXEC_WITHOUT_NAME, os.getcwd(), str(fingerprint.home))
    assert fingerprint("run", "--", *COMMAND, before=nameless, status=3).stdout == "out\n"


def test_an_empty_name_is_no_program(fingerprint: Cli) -> None:
    assert "No such file or directory" in fingerprint("run", "--", "", status=127).stderr


def test_a_program_whose_name_is_no_utf8_is_told_as_not_found(fingerprint: Cli) -> None:
    done = fingerprint("run", "--name", "a", "--", os.fsdecode(b"\xff\xfe"), status=127)
    assert "\\xff\\xfe: No such file or directory" in done.stderr
    assert "not found" in fingerprint("show", "a").stdout


def test_python_variables_of_the_command_do_not_change_the_status(fingerprint: Cli) -> None:
    done = fingerprint("run", "-q", "--", *COMMAND, env={"PYTHONINSPECT": "1", "PYTHONWARNINGS": "error"}, status=3)
    assert (done.stdout, done.stderr) == ("out\n", "")


@pytest.fixture
def pids() -> Iterator[Path]:
    """A cgroup that limits how many processes there may be."""
    group = Path(f"/sys/fs/cgroup/pids/fingerprint-test-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no cgroup with a v1 pids controller can be made here")
    yield group
    group.rmdir()


@pytest.mark.root
@pytest.mark.parametrize("most", range(1, 7))
def test_where_no_more_processes_may_be_made_it_runs_once(fingerprint: Cli, pids: Path, most: int) -> None:
    (pids / "pids.max").write_text(str(most))
    inside = ("sh", "-c", f'echo $$ > {pids}/cgroup.procs; exec "$@"', "sh")
    done = fingerprint("run", "--", "sh", "-c", "echo out; exit 3", before=inside, status=3)
    assert done.stdout == "out\n"
