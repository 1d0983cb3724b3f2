"""What the store did not take is taken in when it is well again, once; what is broken or another's is left."""

import json
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fingerprint.runs.opener import opener
from fingerprint.runs.record import Closed, Opened, Opener
from fingerprint.service.client import Client
from fingerprint.service.spills import WRITER, Spills
from fingerprint.store import Journal, Patience, Store
from probes.kit.host import Host
from tests.service.test_daemon import Daemon, daemon, name_of
from tests.service.test_faults import health
from tests.standin import StandIn
from tests.waiting import until

__all__ = ["daemon"]
GONE = Opener(1, 1, "another boot")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Store.open(tmp_path / "store.db").close()
    return tmp_path / "store.db"


@pytest.fixture
def spills(path: Path) -> Spills:
    return Spills(path, Host(), {})


@contextmanager
def locked(path: Path) -> Iterator[None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.close()


def spilled(path: Path, name: str = "run-A", who: Opener = GONE, *, writer: str = WRITER) -> str:
    """The id of a run that ended while the store was locked."""

    def opened(attempt: int) -> Opened:
        return Opened(1, name, attempt, "b", "h", who)

    journal = Journal(path, {}, Patience(0.1), writer)
    with locked(path):
        run_id = journal.open_run(name, opened)
        journal.append(Closed(2, "server ended"))
    journal.close()
    return run_id


def taker(path: Path) -> Callable[[], Store]:
    return lambda: Store.open(path, patience=0.1)


def names(path: Path) -> list[str]:
    with Store.open(path, readonly=True) as store:
        return [run.name for run in store.runs()]


def test_a_run_that_ended_in_a_file_is_taken_in_once_and_the_journal_says_so(
    path: Path, spills: Spills, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = spilled(path)
    file = path.parent / f"fingerprintd-{run_id}.jsonl"
    spills.ended(run_id)
    with locked(path):
        spills.take_in(taker(path))
    assert file.exists()
    spills.take_in(taker(path))
    spills.take_in(taker(path))
    assert names(path) == ["run-A"]
    assert not file.exists()
    assert capsys.readouterr().err == f"fingerprintd: took run-A#1 in from {file}, which is gone\n"


def test_what_an_earlier_service_left_is_found_and_what_others_write_is_not(path: Path, spills: Spills) -> None:
    spilled(path)
    lives, of_a_user = spilled(path, "lives", opener(Host())), spilled(path, "of-a-user", writer="fingerprint")
    spills.find()
    spills.take_in(taker(path))
    assert names(path) == ["run-A"]
    left = {f"fingerprintd-{lives}.jsonl", f"fingerprint-{of_a_user}.jsonl"}
    assert {file.name for file in path.parent.glob("*.jsonl")} == left


def test_a_file_that_was_taken_in_but_not_removed_adds_nothing(path: Path, spills: Spills) -> None:
    run_id = spilled(path)
    with Store.open(path) as store:
        store.import_file(path.parent / f"fingerprintd-{run_id}.jsonl")
    spills.find()
    spills.take_in(taker(path))
    with Store.open(path) as store:
        assert len(store.records(run_id)) == 3  # opened, why it is in a file, closed
    assert not list(path.parent.glob("*.jsonl"))


def test_a_broken_file_is_set_aside_and_told_for_an_hour_or_until_it_is_gone(
    path: Path, spills: Spills, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = path.parent / "fingerprintd-01JD5X2M7QK9.jsonl"
    broken.write_text('{"schema":"fingerprint.records/1","run":"x"}\n{"record":\n')
    aside = path.parent / "fingerprintd-01JD5X2M7QK9.jsonl.broken"
    for _ in range(2):
        spills.find()
        spills.take_in(taker(path))
    assert (broken.exists(), aside.exists()) == (False, True)
    assert capsys.readouterr().err.count(f"is left in {aside} ({broken}") == 1
    assert [str(aside) in trouble for trouble in spills.troubles] == [True]
    with monkeypatch.context() as later:
        later.setattr("fingerprint.service.spills.TOLD_SECONDS", 0.0)
        assert spills.troubles == []
    aside.unlink()
    assert spills.troubles == []


def test_what_a_user_could_not_store_is_his_however_broken_it_is(path: Path, spills: Spills) -> None:
    broken = path.parent / "fingerprint-01JD5X2M7QK9.jsonl"
    broken.write_text("{")
    spills.find()
    assert broken.exists()
    assert spills.troubles == []


def test_a_file_that_cannot_be_read_now_is_tried_again_and_keeps_no_other_waiting(
    path: Path, spills: Spills, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = spilled(path, "run-A"), spilled(path, "run-B")
    unreadable = path.parent / f"fingerprintd-{min(first, second)}.jsonl"

    def failing(name: object, *args: object, **more: object) -> object:
        if name == unreadable:
            raise OSError(5, "Input/output error")
        return open(name, *args, **more)  # type: ignore[call-overload]

    with monkeypatch.context() as bad_disk:
        bad_disk.setattr("fingerprint.store.foreign.open", failing, raising=False)
        spills.find()
        spills.take_in(taker(path))
        assert len(names(path)) == 1
        assert unreadable.exists()
    spills.take_in(taker(path))
    assert sorted(names(path)) == ["run-A", "run-B"]


def test_a_run_that_was_refused_is_nowhere(path: Path, spills: Spills) -> None:
    run_id = spilled(path)
    spills.ended(run_id)
    spills.remove(run_id)
    spills.find()
    spills.take_in(taker(path))
    assert names(path) == []
    assert not list(path.parent.glob("*.jsonl"))


@pytest.mark.long
def test_a_server_that_came_and_went_while_the_store_was_locked_is_in_it_afterwards(
    daemon: Daemon, tmp_path: Path
) -> None:
    until((daemon.folder / "store.db").exists, 30)
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with locked(daemon.folder / "store.db"):
        with stand_in.serving():
            until(lambda: name_of(stand_in) in str(health(daemon)["serving"]), 60)
        until(lambda: name_of(stand_in) not in str(health(daemon)["serving"]), 60)
        assert list(daemon.folder.glob("fingerprintd-*.jsonl"))
    until(lambda: daemon.runs(stand_in), 90)
    [run] = daemon.runs(stand_in)
    assert run.closed
    until(lambda: f"took {name_of(stand_in)}#1 in from" in daemon.log.read_text())
    assert not list(daemon.folder.glob(f"fingerprintd-{run.id}.jsonl"))


@pytest.mark.long
def test_a_run_that_was_begun_and_went_on_in_a_file_outlives_a_kill(daemon: Daemon, tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with stand_in.serving():
        run = Client(str(daemon.folder / "api.sock")).post("/v1/runs", {"name": "run-A", "port": stand_in.port})
        run_id = json.loads(run)["id"]
        file = daemon.folder / f"fingerprintd-{run_id}.jsonl"
        with locked(daemon.folder / "store.db"):
            until(file.exists, 90)
            daemon.stop(signal.SIGKILL)
        daemon.start()
        until(lambda: not file.exists(), 60)
    with daemon.store as store:
        assert "Trouble" in [type(record).__name__ for record in store.records(run_id)]
