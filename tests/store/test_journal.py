"""Trouble with the store never reaches the run, and the run is whole after `import`."""

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fingerprint.ids import new_id
from fingerprint.metrics import Metric
from fingerprint.runs.record import AnyRecord, Measured, Noted, Opened, Snapped, Trouble
from fingerprint.store import Journal, Patience, Store, StoreError
from fingerprint.store.errors import explained
from tests.store.samples import opened, records, short_run, snapshot, store_at

Break = Callable[[Path], None]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "state" / "store.db", {"TMPDIR": str(tmp_path / "tmp")})
    (tmp_path / "tmp").mkdir()
    yield journal
    journal.close()


def open_run(journal: Journal, name: str = "run-A") -> str:
    return journal.open_run(name, lambda attempt: opened(name, attempt, at=1))


def write(journal: Journal, break_at: int = -1, breaking: Break = lambda path: None) -> list[AnyRecord]:
    """A whole run, the store broken before the record `break_at`; what was written."""
    before, after = snapshot(), snapshot()
    journal.save(before)
    written = records(before.id, after.id)
    for number, record in enumerate(written):
        if number == break_at:
            breaking(journal._path)
        if isinstance(record, Snapped) and record.moment == "after":
            journal.save(after)
        journal.append(record)
    return written


def spilled(folder: Path) -> Path:
    (file,) = folder.rglob("fingerprint-*.jsonl")
    return file


def assert_restored(store: Store, journal: Journal, written: list[AnyRecord]) -> None:
    """Each record once, in order, beside the word on what went wrong; both snapshots; the list knows the end."""
    found = store.records(journal.run_id)
    assert isinstance(found[0], Opened)
    ours = [record for record in found[1:] if record in written]
    assert ours == written
    assert [type(record) for record in found[1:] if record not in written] == [Trouble]
    assert store.run(journal.run_id).closed == written[-1]
    for record in written:
        if isinstance(record, Snapped):
            assert len(store.snapshot(record.snapshot).readings) == 3


def test_a_run_goes_into_the_store_and_nowhere_else(journal: Journal, tmp_path: Path) -> None:
    open_run(journal)
    written = write(journal)
    assert journal.trouble == ""
    assert Store.open(journal._path).records(journal.run_id)[1:] == tuple(written)
    assert list(tmp_path.rglob("*.jsonl")) == []


def replace_by_newer(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.execute("PRAGMA application_id = 0x46505254")
    connection.close()


def replace_by_text(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("not a database, and long enough to be looked at" * 99)


def replace_by_folder(path: Path) -> None:
    path.mkdir(parents=True)


@pytest.mark.parametrize("breaking", [replace_by_newer, replace_by_text, replace_by_folder])
def test_a_store_that_never_worked_is_replaced_by_a_file_that_import_takes(
    journal: Journal, tmp_path: Path, breaking: Break
) -> None:
    breaking(journal._path)
    run_id = open_run(journal)
    written = write(journal)
    file = spilled(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(journal._path) in journal.trouble
    assert f"`fingerprint import {file}`" in journal.trouble
    fresh = Store.open(tmp_path / "fresh.db")
    assert [run.id for run in fresh.import_file(file).runs] == [run_id]
    assert_restored(fresh, journal, written)


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def remove_file(path: Path) -> None:
    path.unlink()


def remove_run(path: Path) -> None:
    with Store.open(path) as store:
        store.remove([store.runs()[-1].id])


@pytest.mark.parametrize("breaking", [remove_folder, remove_file])
@pytest.mark.parametrize("break_at", [0, 1, 5, 9])
def test_a_store_lost_during_the_run_costs_no_record(
    journal: Journal, tmp_path: Path, breaking: Break, break_at: int
) -> None:
    open_run(journal)
    written = write(journal, break_at, breaking)
    assert "moved or removed" in journal.trouble
    fresh = Store.open(tmp_path / "fresh.db")
    fresh.import_file(spilled(tmp_path))
    assert_restored(fresh, journal, written)


@pytest.mark.parametrize("break_at", range(10))
def test_a_store_that_fills_up_takes_the_whole_run_from_the_file_later(
    journal: Journal, tmp_path: Path, break_at: int
) -> None:
    def fill(path: Path) -> None:
        assert journal._store is not None

        def refuse(*_: object) -> None:
            raise explained(sqlite3.OperationalError("database or disk is full"), path)

        journal._store._database._still_there = refuse  # type: ignore[method-assign]

    open_run(journal)
    written = write(journal, break_at, fill)
    assert "no space is left" in journal.trouble
    again = Store.open(journal._path)
    assert len(again.records(journal.run_id)) == 1 + break_at
    again.note(journal.run_id, "looked at before the import")
    again.import_file(spilled(tmp_path))
    found = again.records(journal.run_id)
    assert [record for record in found if record in written] == written
    assert [record.text for record in found if isinstance(record, Noted) and record not in written] == [
        "looked at before the import"
    ]
    assert again.import_file(spilled(tmp_path)).known == (journal.run_id,)
    assert again.records(journal.run_id) == found


def test_journals_with_one_patience_wait_once_for_a_lock_and_again_when_it_is_gone(tmp_path: Path) -> None:
    patience = Patience(0.5)
    journals = [Journal(tmp_path / "store.db", {}, patience) for _ in range(6)]
    for journal in journals:
        open_run(journal)
    with Store.open(tmp_path / "store.db") as store:
        with store._database.writing():
            began = time.monotonic()
            for journal in journals[1:]:
                journal.append(Noted(1, "waits"))
            assert 0.5 <= time.monotonic() - began < 1.5
            assert patience.left < 0.1
        journals[0].append(Noted(2, "is taken"))
        assert patience.left == 0.5
        assert [type(record) for record in store.records(journals[0].run_id)] == [Opened, Noted]
    assert len([*tmp_path.glob("*.jsonl")]) == 5
    for journal in journals:
        journal.close()


def test_a_run_that_was_removed_makes_nobody_impatient(tmp_path: Path) -> None:
    patience = Patience(0.5)
    journal = Journal(tmp_path / "store.db", {}, patience)
    open_run(journal)
    remove_run(journal._path)
    journal.append(Noted(1, "of nothing"))
    journal.close()
    assert patience.left == 0.5


def test_a_lock_held_for_long_sends_the_run_elsewhere(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "store.db", {}, Patience(0.05))
    with Store.open(journal._path) as store:
        short_run(store, "run-A")
        with store._database.writing():
            open_run(journal)
            written = write(journal)
        assert "locked by another process" in journal.trouble
        (imported,) = store.import_file(spilled(tmp_path)).runs
        assert str(imported) == "run-A#2"
        assert_restored(store, journal, written)


def test_a_run_removed_while_it_ran_does_not_stop_it(journal: Journal, tmp_path: Path) -> None:
    open_run(journal)
    write(journal, 5, remove_run)
    assert "no run" in journal.trouble
    assert spilled(tmp_path).stat().st_size > 0


def test_a_name_taken_meanwhile_gets_the_next_attempt_on_import(journal: Journal, tmp_path: Path) -> None:
    replace_by_text(journal._path)
    open_run(journal)
    written = write(journal)
    fresh = Store.open(tmp_path / "fresh.db")
    short_run(fresh, "run-A")
    fresh.import_file(spilled(tmp_path))
    assert str(fresh.run(journal.run_id)) == "run-A#2"
    assert_restored(fresh, journal, written)


@pytest.mark.parametrize(
    "record", [Measured(1, Metric("speed", samples=(float("nan"),))), Noted(1, "\udcff"), Snapped(1, "after", new_id())]
)
@pytest.mark.parametrize("breaking", [lambda path: None, replace_by_text])
def test_a_record_that_cannot_be_written_becomes_a_trouble_record(
    journal: Journal, tmp_path: Path, record: AnyRecord, breaking: Break
) -> None:
    breaking(journal._path)
    open_run(journal)
    journal.append(record)
    journal.append(Noted(2, "the run went on"))
    journal.close()
    if breaking is replace_by_text:
        fresh = Store.open(tmp_path / "fresh.db")
        fresh.import_file(spilled(tmp_path))
    else:
        fresh = Store.open(journal._path)
        assert type(record).__name__.lower() in journal.trouble
    *_, trouble, note = fresh.records(journal.run_id)
    assert isinstance(trouble, Trouble)
    assert type(record).__name__.lower() in trouble.what
    assert note == Noted(2, "the run went on")


def test_a_working_directory_that_is_no_unicode_is_written_readably(journal: Journal) -> None:
    def make(attempt: int) -> Opened:
        return Opened(1, "run-A", attempt, "b", "h", opened().opener, ("cat", "\udcff"), "/srv/\udcfe")

    journal.open_run("run-A", make)
    (first,) = Store.open(journal._path).records(journal.run_id)
    assert isinstance(first, Opened)
    assert (first.cwd, first.argv, journal.trouble) == (r"/srv/\udcfe", ("cat", r"\udcff"), "")


def test_without_any_writable_folder_the_run_goes_on_and_says_that_it_is_lost(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_by_text(journal._path)
    monkeypatch.setattr("fingerprint.store.spill.os.open", lambda *_: (_ for _ in ()).throw(OSError(30, "read-only")))
    open_run(journal)
    write(journal)
    assert "lost" in journal.trouble
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_spill_file_whose_writer_was_killed_in_the_middle_of_a_line_is_taken(
    journal: Journal, tmp_path: Path
) -> None:
    replace_by_text(journal._path)
    open_run(journal)
    write(journal)
    file = spilled(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rstrip(b"\n").rfind(b"\n") + 20])
    fresh = Store.open(tmp_path / "fresh.db")
    fresh.import_file(file)
    assert fresh.run(journal.run_id).closed is None
    file.write_bytes(whole)
    fresh.import_file(file)
    assert fresh.run(journal.run_id).closed is not None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "fingerprint-test", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this root may not mount a tmpfs")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.root
@pytest.mark.parametrize("room", [0, 4096, 40_000, 150_000, 300_000, 400_000, 450_000])
def test_a_full_disk_costs_no_record(small_disk: Path, tmp_path: Path, room: int) -> None:
    """The store and its first choice for the spill file lie on a disk with less and less room."""
    (tmp_path / "tmp").mkdir()
    journal = Journal(small_disk / "state" / "store.db", {"TMPDIR": str(tmp_path / "tmp")})
    store_at(small_disk).close()
    fill(small_disk / "ballast", room)
    open_run(journal)
    before, after = snapshot(), snapshot()
    journal.save(before)
    written: list[AnyRecord] = [Noted(number, os.urandom(4000).hex()) for number in range(60)]
    written += records(before.id, after.id)
    for record in written:
        if isinstance(record, Snapped) and record.moment == "after":
            journal.save(after)
        journal.append(record)
    journal.close()
    assert "no space is left" in journal.trouble
    fresh = Store.open(tmp_path / "fresh.db")
    fresh.import_file(spilled(tmp_path))
    assert_restored(fresh, journal, written)
    (small_disk / "ballast").unlink()
    with Store.open(journal._path) as store:  # what it has is sound, and it works again
        short_run(store)
        assert store._database.connection().execute("PRAGMA integrity_check").fetchone() == ("ok",)


def fill(path: Path, room: int) -> None:
    """Leaves `room` bytes free."""
    free = os.statvfs(path.parent).f_bavail * os.statvfs(path.parent).f_frsize
    path.write_bytes(b"\0" * max(free - room, 0))


def test_store_errors_are_the_only_ones_a_store_raises_for_its_file(tmp_path: Path) -> None:
    replace_by_folder(tmp_path / "store.db")
    with pytest.raises(StoreError, match="is no regular file"):
        Store.open(tmp_path / "store.db")
