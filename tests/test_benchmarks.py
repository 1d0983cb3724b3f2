"""The benchmarks' own arithmetic and verdicts; what they measure is not timed here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import processes, server_log
from benchmarks.budgets import BUDGETS, Budget
from benchmarks.place import Place
from benchmarks.timing import FailedError, Program, UnfitError, amount_of, output, ratio_of
from fingerprint.metrics.logs import recognise
from fingerprint.metrics.source import load

ROOT = Path(__file__).parents[1]


def test_the_ratio_is_the_median_of_the_pairs_and_not_the_ratio_of_the_medians() -> None:
    measured = ratio_of([(10, 1), (2, 2), (3, 1)], "ms")
    assert (measured.median, measured.low, measured.high) == (3, 1, 10)
    assert (measured.ours, measured.yardstick) == (3, 1)


def test_an_amount_has_no_yardstick() -> None:
    assert amount_of([3, 1, 2], "MB")[:5] == (2, 1, 3, 2, None)


def test_a_budget_holds_up_to_its_limit_or_from_it() -> None:
    most = Budget("b", "w", "y", 2, lambda place: amount_of([1], ""))
    assert most.holds(amount_of([2], ""))
    assert not most.holds(amount_of([2.1], ""))
    least = most._replace(at_least=True)
    assert least.holds(amount_of([2], ""))
    assert not least.holds(amount_of([1.9], ""))


def test_a_missing_program_is_no_failure_and_a_failing_one_is() -> None:
    with pytest.raises(UnfitError, match="is not installed"):
        output(Program(["no-such-program-of-ours"]))
    with pytest.raises(FailedError, match="exited 3: why"):
        output(Program(["sh", "-c", "echo why >&2; exit 3"]))


def test_the_memory_of_descendants_counts() -> None:
    python = [sys.executable, "-c", "x = b'x' * (50 << 20); import time; time.sleep(0.5)"]
    alone = processes.peak_pss_mb(Program(python))
    two = processes.peak_pss_mb(Program(["sh", "-c", '"$@" & "$@"; wait', "sh", *python]))
    assert alone > 50
    assert two > 1.5 * alone


def test_programs_are_counted_with_those_that_they_start() -> None:
    try:
        count = processes.execs(Program(["sh", "-c", "/bin/true; /bin/true; exit 0"]))
    except (UnfitError, FailedError) as error:
        pytest.skip(str(error))
    assert count == 3


def test_every_budget_has_a_name_of_its_own_and_an_unknown_one_is_refused() -> None:
    assert len({budget.name for budget in BUDGETS}) == len(BUDGETS)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nonsense"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "there is no budget 'nonsense'" in done.stderr


def test_what_is_not_measured_is_said_and_written(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "benchmarks", "--json", str(tmp_path / "figures"), "snapshot-torch"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "not measured: no Python with torch was named" in done.stdout
    (row,) = json.loads((tmp_path / "figures").read_text())
    assert row["verdict"] == "not measured"


def test_our_store_of_a_measurement_is_no_other(tmp_path: Path) -> None:
    program = Place(tmp_path, "ceteris", "", 1).fingerprint("runs")
    assert program.env["FINGERPRINT_STORE"].startswith(str(tmp_path))
    assert program.cwd == str(tmp_path)


@pytest.mark.parametrize("name", server_log.LOGS)
def test_a_generated_log_is_recognised_and_most_of_its_turns_count(name: str, tmp_path: Path) -> None:
    log = server_log.LOGS[name]
    server_log.write(tmp_path / "log", log, 1)
    source = load(str(tmp_path / "log"))
    chosen = recognise(source.head)
    assert chosen is not None
    assert log.reader == chosen.CLIENT
    first = chosen.read(source).metrics[0]
    assert len(first.samples) > 100


@pytest.mark.long
@pytest.mark.parametrize("name", server_log.LOGS)
def test_a_log_of_a_gigabyte_is_read_in_constant_memory(name: str) -> None:
    argv = [sys.executable, "-m", "benchmarks.server_log", name, "1000"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["memory"] < 32
