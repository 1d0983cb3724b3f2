"""Writers are killed at any moment: the store opens, is sound, and no finished run is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fingerprint.runs.record import Closed
from fingerprint.snapshot import Key
from fingerprint.store import Store

WRITERS = 4


def start(path: Path, number: int) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "tests.store.writer", str(path), f"writer-{number}"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])


def first_of(writer: "subprocess.Popen[bytes]") -> str:
    """The first run that it acknowledged: it writes by now."""
    assert writer.stdout is not None
    return os.read(writer.stdout.fileno(), 27).decode().strip()


def killed(writer: "subprocess.Popen[bytes]") -> list[str]:
    """The runs that it had acknowledged."""
    os.kill(writer.pid, signal.SIGKILL)
    out, _ = writer.communicate()
    assert writer.returncode == -signal.SIGKILL, "the writer had ended by itself"
    return out[: out.rfind(b"\n") + 1].decode().split()


def check(path: Path, acknowledged: set[str]) -> None:
    with Store.open(path) as store:
        assert store._database.connection().execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert store._database.connection().execute("PRAGMA foreign_key_check").fetchall() == []
        rows = {row.id: row for row in store.runs()}
        assert acknowledged <= rows.keys()
        assert all(rows[run_id].closed for run_id in acknowledged)


def check_whole(path: Path) -> None:
    with Store.open(path) as store:
        for row in store.runs():
            records = store.records(row.id)
            assert (len(records) == 11) == isinstance(records[-1], Closed) == (row.closed is not None)
        for snapshot in store.snapshots():
            assert Key("bus") in store.snapshot(snapshot.id).readings


def rounds(path: Path, count: int) -> None:
    """Each round kills one of four writers at a random moment and starts another in its place."""
    chance = random.Random(count)
    writers = [start(path, number) for number in range(WRITERS)]
    acknowledged: set[str] = set()
    for number in range(count):
        victim = number % WRITERS
        acknowledged.add(first_of(writers[victim]))
        time.sleep(chance.uniform(0, 0.05))
        acknowledged.update(killed(writers[victim]))
        check(path, acknowledged)
        writers[victim] = start(path, number)
    for writer in writers:
        acknowledged.update(killed(writer))
    check(path, acknowledged)
    assert len(acknowledged) > count


@pytest.mark.long
def test_a_dozen_kills_under_four_writers_cost_no_finished_run(tmp_path: Path) -> None:
    rounds(tmp_path / "store.db", 12)
    check_whole(tmp_path / "store.db")


@pytest.mark.long
def test_a_thousand_kills_under_four_writers_cost_no_finished_run(tmp_path: Path) -> None:
    for batch in range(25):  # a store that grows for the whole thousand would only make the checks slow
        rounds(tmp_path / f"{batch}.db", 40)
        check_whole(tmp_path / f"{batch}.db")
