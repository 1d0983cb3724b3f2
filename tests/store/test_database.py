"""How a store opens: modes, broken files, other releases, other file systems."""

import gzip
import os
import pwd
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fingerprint.ids import new_id
from fingerprint.store import Event, NoStore, Store, StoreError, default_path, place, schema
from tests.store.samples import opened, short_run, snapshot, store_at, whole_run


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_and_all_files_are_private(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    whole_run(store)
    assert mode_of(store.path.parent) == 0o700
    files = {file.name: mode_of(file) for file in store.path.parent.iterdir()}
    assert files == {"store.db": 0o600, "store.db-shm": 0o600, "store.db-wal": 0o600}


def test_the_path_follows_the_environment() -> None:
    assert default_path({"FINGERPRINT_STORE": "/x/y.db", "HOME": "/h"}) == Path("/x/y.db")
    assert default_path({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == Path("/s/fingerprint/store.db")
    assert default_path({"XDG_STATE_HOME": "s", "HOME": "/h"}) == Path("/h/.local/state/fingerprint/store.db")


def test_a_tilde_that_met_no_shell_is_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path({"FINGERPRINT_STORE": "~/runs.db"}) == tmp_path / "runs.db"


@pytest.mark.parametrize("path", ["/dev/null", "/"])
@pytest.mark.parametrize("readonly", [False, True])
def test_a_device_or_folder_is_no_store(path: str, readonly: bool) -> None:
    with pytest.raises(StoreError, match=f"^{path} is no regular file"):
        Store.open(Path(path), readonly=readonly)


def test_a_name_that_no_file_system_takes_is_told() -> None:
    with pytest.raises(StoreError, match="xxx cannot be opened"):
        Store.open(Path("x" * 300))
    with pytest.raises(StoreError, match="xxx cannot be opened"):
        Store.open(Path("x" * 300), readonly=True)


def test_a_link_may_be_there_before_its_store(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "disk" / "runs.db")
    short_run(Store.open(tmp_path / "link.db"))
    assert mode_of(tmp_path / "disk" / "runs.db") == 0o600
    assert len(Store.open(tmp_path / "link.db", readonly=True).runs()) == 1


DAMAGES = {
    "UPDATE record SET body = x'78010203'": "is damaged",
    "UPDATE record SET body = '{}'": "holds a record that this release does not know",
    "UPDATE blob SET body = '{\"speed\":999}'": "has other content than its digest says",
    "UPDATE blob SET gaps = '['": "holds what this release cannot read",
    "UPDATE snapshot SET volatile = x'00'": "holds what this release cannot read",
    "UPDATE snapshot SET provenance = '{}'": "holds what this release cannot read",
    "UPDATE run SET opener = '{', closed = x'00'": "holds what this release cannot read .the run",
    "DELETE FROM manifest_entry": "is in no manifest",
    "DELETE FROM run_blob": "the blob .* is missing",
    "DELETE FROM snapshot": "there is no snapshot",
    "DROP TABLE run_blob": "no such table: run_blob",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_told_with_the_file_or_what_it_belongs_to(tmp_path: Path, damage: str) -> None:
    store = store_at(tmp_path)
    whole_run(store)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(damage)
        connection.commit()

    def all_of_it() -> None:
        for row in store.runs():
            store.records(row.id)
        for taken in store.snapshots() or [snapshot()]:  # one that is not stored
            store.snapshot(taken.id)

    with pytest.raises(StoreError, match=DAMAGES[damage]) as told:
        all_of_it()
    assert "\n" not in str(told.value)


def test_pruning_meets_a_damaged_run_and_removes_nothing(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    whole_run(store)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE run SET closed = x'00'")
        connection.commit()
    with pytest.raises(StoreError, match="holds what this release cannot read .the run"):
        store.prune(keep_last=0)
    assert len(store.snapshots()) == 2


def test_without_home_the_user_database_tells_it() -> None:
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert default_path({}) == home / ".local/state/fingerprint/store.db"


def test_a_user_without_any_home_has_no_store(unknown_user: None) -> None:
    assert not default_path({}).parent.parent.exists()


@pytest.mark.parametrize("content", [b"not a database " * 100, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    for readonly in (False, True):
        with pytest.raises(StoreError, match=f"{path} is (no SQLite database|damaged).*move it"):
            Store.open(path, readonly=readonly)
    assert path.read_bytes() == content


def test_a_damaged_store_says_so_where_it_is_read(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    run_id = whole_run(store)
    store.close()
    data = bytearray(store.path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    store.path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(store.path).records(run_id)


def test_a_truncated_store_says_so(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    run_id = whole_run(store)
    store.close()
    os.truncate(store.path, 5000)
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(store.path).records(run_id)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmark (url)")
    connection.close()
    with pytest.raises(StoreError, match="database of another program"):
        Store.open(path)


def test_a_newer_releases_store_is_refused_and_not_touched(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = store.path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(StoreError, match=r"newer release .*schema 7, this one knows 2.*nothing was written"):
            Store.open(store.path, readonly=readonly)
    assert store.path.read_bytes() == before


@pytest.fixture
def older_store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Of one whole run, in `store.db`."""
    with Store.open(tmp_path / "store.db") as store:
        whole_run(store)
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        yield connection


def add_column(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE run ADD COLUMN cluster TEXT NOT NULL DEFAULT ''")


def fill_column(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE run SET cluster = host || '-cluster'")


def test_migrations_run_in_order_from_the_version_found(older_store: sqlite3.Connection, tmp_path: Path) -> None:
    steps = {schema.VERSION: add_column, schema.VERSION + 1: fill_column}
    schema.prepare(older_store, tmp_path, readonly=False, version=schema.VERSION + 2, migrations=steps)
    assert older_store.execute("SELECT cluster FROM run").fetchall() == [("h200x8-cluster",)]
    assert older_store.execute("PRAGMA user_version").fetchone() == (schema.VERSION + 2,)


def test_a_migration_that_fails_changes_nothing(older_store: sqlite3.Connection, tmp_path: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM record")
        raise sqlite3.OperationalError("database or disk is full")

    steps = {schema.VERSION: add_column, schema.VERSION + 1: fail}
    with pytest.raises(sqlite3.OperationalError):
        schema.prepare(older_store, tmp_path, readonly=False, version=schema.VERSION + 2, migrations=steps)
    older_store.close()
    with Store.open(tmp_path / "store.db") as store:
        assert len(store.records(store.runs()[0].id)) == 11


@pytest.fixture
def first_schema(tmp_path: Path) -> Path:
    """A store as the release before events wrote it: two attempts of run-A, one of run-B, a snapshot of no run."""
    path = tmp_path / "first.db"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "schema-1.db.gz").read_bytes()))
    return path


def test_a_store_of_the_first_schema_opens_with_all_that_it_holds_and_takes_events(first_schema: Path) -> None:
    with Store.open(first_schema) as store:
        rows = store.runs()
        assert [str(row) for row in rows] == ["run-A#1", "run-A#2", "run-B#1"]
        assert [(row.good, row.service) for row in rows] == [(False, False), (True, False), (False, False)]
        assert [len(store.records(row.id)) for row in rows] == [11, 13, 2]
        assert len([store.snapshot(row.id) for row in store.snapshots()]) == 5
        store.add_events([event := Event(new_id(), "h200x8", 1, 2, "boot", "host")])
        assert store.events() == (event,)
        whole_run(store)


def test_a_store_brought_up_has_the_tables_of_a_new_one(first_schema: Path, tmp_path: Path) -> None:
    def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
        with Store.open(path) as store:
            connection = store._database.connection()
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
            told = ("table_xinfo", "index_list", "index_xinfo", "foreign_key_list")
            return {
                f"{name} {pragma}": connection.execute(f"PRAGMA {pragma}({name})").fetchall()
                for name in names
                for pragma in told
            }

    assert tables(first_schema) == tables(tmp_path / "new.db")


def test_an_older_store_open_for_reading_only_is_not_migrated(first_schema: Path) -> None:
    before = first_schema.read_bytes()
    with pytest.raises(StoreError, match=r"older release .schema 1, now 2. .*reading only: run any writing command"):
        Store.open(first_schema, readonly=True)
    assert first_schema.read_bytes() == before


def test_reading_needs_a_store_and_makes_none(tmp_path: Path) -> None:
    path = tmp_path / "new" / "store.db"
    with pytest.raises(NoStore, match="does not exist yet"):
        Store.open(path, readonly=True)
    assert not path.parent.exists()
    path.parent.mkdir()
    path.touch()  # its maker was killed before it made the tables
    with pytest.raises(NoStore, match="holds nothing yet"):
        Store.open(path, readonly=True)
    whole_run(Store.open(path))
    assert len(Store.open(path, readonly=True).runs()) == 1


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    short_run(store := store_at(tmp_path))
    reader = Store.open(store.path, readonly=True)
    with pytest.raises(StoreError, match="cannot be written"):
        reader.save(snapshot())
    reader.writable().save(snapshot())
    assert len(reader.snapshots()) == 1


def test_a_store_that_was_moved_away_takes_no_more_writes(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    run_id = short_run(store)
    store.path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(StoreError, match="moved or removed while it was in use"):
        store.note(run_id, "lost")


MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:31 / /home rw - nfs4 server:/home rw,vers=4.2
24 23 8:2 / /home/local\040disk rw - xfs /dev/sdb1 rw
25 22 0:40 / /mnt/ssh rw - fuse.sshfs user@host: rw
26 22 8:3 / /mnt/usb rw - fuseblk /dev/sdc1 rw
27 22 0:41 / /scratch rw - lustre 10.0.0.1@tcp:/s rw
28 22 8:4 / /data rw - nfs server:/d rw
29 28 8:4 / /data rw - ext4 /dev/sdd1 rw
""".strip()


@pytest.mark.parametrize(
    ("path", "network"),
    [
        ("/var/lib/fingerprint/store.db", ""),
        ("/home/a/.local/state/fingerprint/store.db", "nfs4"),
        ("/home/local disk/store.db", ""),
        ("/homework/store.db", ""),
        ("/mnt/ssh/store.db", "fuse.sshfs"),
        ("/mnt/usb/store.db", ""),
        ("/scratch/a/store.db", "lustre"),
        ("/data/store.db", ""),
    ],
)
def test_network_file_systems_are_told_from_the_mounts(path: str, network: str) -> None:
    assert place.network_of(Path(path), MOUNTS) == network


def test_on_a_network_file_system_there_is_no_wal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = store_at(tmp_path)
    short_run(local)
    local.close()  # a local store that was moved to the network
    monkeypatch.setattr(place, "_mountinfo", lambda: f"9 1 0:9 / {tmp_path.resolve()} rw - nfs4 server:/x rw")
    with store_at(tmp_path) as store:
        short_run(store)
        assert store.network == "nfs4"
        assert [file.name for file in store.path.parent.iterdir() if "wal" in file.name] == []
        assert store._database.connection().execute("PRAGMA journal_mode").fetchone() == ("truncate",)
        assert len(Store.open(store.path, readonly=True).runs()) == 2


def test_a_full_store_refuses_and_keeps_what_it_has(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    run_id = whole_run(store)
    pages = store._database.connection().execute("PRAGMA page_count").fetchone()[0]
    store._database.connection().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="no space is left"):
        store.note(run_id, os.urandom(40_000).hex())
    assert len(store.records(run_id)) == 11
    assert not store._database.connection().in_transaction


def test_a_run_whose_opening_fails_leaves_nothing(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with pytest.raises(ZeroDivisionError):
        store.open_run("run-A", lambda attempt: opened("run-A", attempt // 0))
    assert store.runs() == ()
