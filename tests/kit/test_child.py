import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.kit import child as child_module
from probes.kit.child import OUTPUT_CAP, Script, Told, output_of, reap, told_by
from probes.kit.facts import Gap
from tests.waiting import until

FREEZER = Path("/sys/fs/cgroup/freezer")


def is_gone(pid: int) -> bool:
    """Whether no process of that number is left, or only its zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def gap(seen: object) -> tuple[str, str]:
    assert isinstance(seen, Gap), seen
    return seen.code, seen.detail


def test_the_output_comes_whole_and_undecodable_bytes_stay_visible() -> None:
    assert output_of(["printf", r"a\n\377b\n"]) == "a\n\\xffb\n"


def test_output_and_messages_larger_than_a_pipe_do_not_block_each_other() -> None:
    out = output_of(["sh", "-c", "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero"], budget=10)
    assert isinstance(out, str)
    assert len(out) == 300_000


def test_a_program_sees_a_plain_environment_and_no_input() -> None:
    os.environ["FINGERPRINT_TEST_SECRET"] = "s3cret"
    try:
        assert "s3cret" not in str(output_of(["env"]))
        assert output_of(["cat"]) == ""
    finally:
        del os.environ["FINGERPRINT_TEST_SECRET"]


def test_a_program_runs_where_it_was_asked_to(tmp_path: Path) -> None:
    assert output_of(["pwd", "-P"], cwd=str(tmp_path)) == f"{tmp_path.resolve()}\n"


def test_a_missing_program_is_absent() -> None:
    assert gap(output_of(["no-such-program-of-ours"])) == ("absent", "no-such-program-of-ours is not installed")


def test_a_missing_folder_is_not_taken_for_a_missing_program(tmp_path: Path) -> None:
    assert gap(output_of(["true"], cwd=str(tmp_path / "gone"))) == ("absent", f"no folder {tmp_path}/gone")


def test_a_file_that_is_not_executable_is_denied(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("text")
    assert gap(output_of([str(tmp_path / "data")]))[0] == "denied"


def test_a_file_of_another_format_is_failed(tmp_path: Path) -> None:
    program = tmp_path / "broken"
    program.write_bytes(b"\x7fELF nonsense")
    program.chmod(0o755)
    assert gap(output_of([str(program)])) == ("failed", f"{program}: Exec format error")


def test_a_failure_is_told_by_the_first_line_of_its_message() -> None:
    assert gap(output_of(["sh", "-c", "echo why >&2; echo more >&2; exit 3"])) == ("failed", "sh exited 3: why")
    assert gap(output_of(["false"])) == ("failed", "false exited 1: no message")


def test_what_outlives_its_budget_is_killed() -> None:
    code, detail = gap(output_of(["sh", "-c", "echo $$ >&2; exec sleep 600"], budget=0.2))
    assert (code, detail) == ("timed_out", "sh: no end within 0.2 s")


def test_a_grandchild_that_keeps_the_pipe_is_given_up_and_killed_with_its_session(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    seen = output_of(["sh", "-c", f"sleep 600 & echo $! > {pid_file}; exit 0"], budget=0.3)
    assert gap(seen)[0] == "timed_out"
    until(lambda: is_gone(int(pid_file.read_text())))


def test_a_flood_is_cut_off_and_killed() -> None:
    code, detail = gap(output_of(["yes"], budget=20))
    assert (code, detail) == ("failed", f"yes: more than {OUTPUT_CAP} bytes of output")


@pytest.mark.filterwarnings("ignore:subprocess .* is still running")  # on a busy host one dies after it was given up
def test_nothing_stays_open_after_many_children() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for argv in (["true"], ["false"], ["no-such-program-of-ours"], ["sleep", "600"]):
        output_of(argv, budget=0.05)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def frozen() -> Iterator[Path]:
    """A v1 freezer cgroup: what is frozen there stays in state D, SIGKILL or not."""
    if os.geteuid() != 0 or not (FREEZER / "cgroup.procs").exists():
        pytest.skip("needs root and a mounted cgroup v1 freezer")
    group = FREEZER / f"fingerprint-test-{os.getpid()}"
    group.mkdir()
    yield group
    (group / "freezer.state").write_text("THAWED")
    until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@pytest.mark.root
def test_a_child_that_cannot_be_killed_is_left_behind_and_the_caller_goes_on_and_ends(frozen: Path) -> None:
    freeze = f"echo $$ > {frozen}/cgroup.procs; echo FROZEN > {frozen}/freezer.state; sleep 600"
    caller = f"from probes.kit.child import output_of\nprint(output_of(['sh', '-c', {freeze!r}], budget=0.3).detail)"
    root = Path(child_module.__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", caller], cwd=root, capture_output=True, text=True, timeout=20, check=True
    )
    assert ended.stdout == "sh: no end within 0.3 s\n"
    (left,) = (frozen / "cgroup.procs").read_text().split()
    assert not is_gone(int(left))


def test_reaping_never_waits_longer_than_told() -> None:
    child = subprocess.Popen(["sleep", "600"])
    try:
        assert not reap(child, 0)
        assert not reap(child, -1)
    finally:
        child.kill()
    assert reap(child, 5)


# A script that is given its work.


def test_a_script_reads_its_text_and_each_whole_line_is_kept() -> None:
    told = told_by(Script(("sh", "-s", "x"), b"echo $1 $A\nprintf half", {"A": "1"}), 5)
    assert told == Told((b"x 1",))


def test_what_a_script_told_before_it_failed_stands() -> None:
    told = told_by(Script(("sh",), b"echo one\necho why >&2\nexit 3"), 5)
    assert told.lines == (b"one",)
    assert gap(told.why) == ("failed", "sh: exited 3: why")


def test_a_script_that_goes_on_is_killed_with_what_it_started() -> None:
    told = told_by(Script(("sh",), b"sleep 60 & echo $! $$\nwait"), 0.3)
    assert gap(told.why) == ("timed_out", "sh: no end within 0.3 s")
    pids = [int(pid) for pid in told.lines[0].split()]
    until(lambda: all(map(is_gone, pids)))


def test_a_text_larger_than_a_pipe_that_nobody_reads_holds_up_nobody() -> None:
    assert told_by(Script(("true",), b"x" * 300_000), 5) == Told(())
