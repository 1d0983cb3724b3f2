"""What a run argument means, and what is said where it means nothing or two things."""

import time
from pathlib import Path

import pytest

from fingerprint.store import FoundRun, FoundSnapshot, Store, StoreError, Stores, refs
from tests.store.samples import MINUTE, segment, short_run, snapshot, store_at, whole_run


@pytest.fixture
def user(tmp_path: Path) -> Store:
    return store_at(tmp_path / "user")


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    path = tmp_path / "service.db"
    monkeypatch.setattr("fingerprint.store.refs.service_path", lambda: path)
    monkeypatch.setattr("fingerprint.store.store.service_path", lambda: path)
    return Store.open(path)


@pytest.fixture
def stores(user: Store, service: Store, monkeypatch: pytest.MonkeyPatch) -> Stores:
    monkeypatch.setattr("fingerprint.store.refs.default_path", lambda environ: user.path)
    return Stores.open({})


def run_of(stores: Stores, text: str, benchmark: str | None = None) -> FoundRun:
    found = stores.resolve(text, benchmark)
    assert isinstance(found, FoundRun)
    return found


def test_at_counts_back_over_both_stores_in_the_order_of_opening(stores: Stores, user: Store, service: Store) -> None:
    first, second, third = short_run(user, "a"), short_run(service, "b"), short_run(user, "c")
    assert [run_of(stores, text).latest.id for text in ("@", "@-0", "@-1", "@-2")] == [third, third, second, first]
    assert run_of(stores, "@-1").store.path == service.path
    assert run_of(stores, "@-1").latest.origin == "service"
    with pytest.raises(StoreError, match="'@-3' means nothing yet, the stores hold 3 runs"):
        stores.resolve("@-3")


def test_what_the_service_recorded_by_itself_is_never_the_last_run_and_can_be_the_last_good_one(
    stores: Stores, user: Store, service: Store
) -> None:
    segment(service, MINUTE, 2 * MINUTE)
    with pytest.raises(StoreError, match="'@' means nothing yet"):
        stores.resolve("@")
    first = short_run(user, "a")
    noticed = segment(service, time.time_ns() - MINUTE, time.time_ns())
    asked = short_run(service, "b", at=time.time_ns())
    assert [run_of(stores, text).latest.id for text in ("@", "@-1")] == [asked, first]
    service.good(noticed)
    assert run_of(stores, "@good").latest.id == noticed


def test_at_good_is_the_last_good_run_of_the_benchmark_when_one_is_given(stores: Stores, user: Store) -> None:
    with pytest.raises(StoreError, match="no good runs: mark one with `fingerprint good RUN`"):
        stores.resolve("@good")
    ids = [short_run(user, "a", benchmark) for benchmark in ("x", "x", "y", "x")]
    user.good(ids[0])
    user.good(ids[2])
    assert run_of(stores, "@good").latest.id == ids[2]
    assert run_of(stores, "@good", "x").latest.id == ids[0]
    assert run_of(stores, "@", "y").latest.id == ids[2]
    with pytest.raises(StoreError, match="no good runs of benchmark z"):
        stores.resolve("@good", "z")


def test_a_name_is_the_whole_series_and_a_number_one_attempt(stores: Stores, user: Store) -> None:
    ids = [short_run(user, "run-A") for _ in range(3)]
    short_run(user, "run-B")
    found = run_of(stores, "run-A")
    assert [row.id for row in found.attempts] == ids
    assert found.latest.id == ids[2]
    assert [row.id for row in run_of(stores, "run-A#2").attempts] == [ids[1]]


def test_a_beginning_of_an_id_means_a_run_or_a_snapshot(stores: Stores, user: Store) -> None:
    run_id = short_run(user)
    user.save(alone := snapshot())
    assert run_of(stores, run_id[:20]).latest.id == run_id
    assert run_of(stores, run_id.lower()).latest.id == run_id
    found = stores.resolve(alone.id[:20])
    assert isinstance(found, FoundSnapshot)
    assert found.store.snapshot(found.id) == alone
    with pytest.raises(StoreError, match=r"2 ids begin with .*: write more of it"):
        stores.resolve(run_id[:4])
    with pytest.raises(StoreError, match="there is no run"):
        stores.resolve(run_id[:3])


def test_a_name_comes_before_an_id_and_an_id_before_a_file(
    stores: Stores, user: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = short_run(user)
    prefix = first[:24]
    Path(prefix).write_text("no export")
    assert run_of(stores, prefix).latest.id == first
    named = short_run(user, prefix)
    assert run_of(stores, prefix).latest.id == named


def test_an_exported_file_is_read_without_being_imported(stores: Stores, user: Store, tmp_path: Path) -> None:
    run_id = whole_run(user, "run-A")
    file = tmp_path / "run.json"
    file.write_bytes(user.export([run_id]))
    records = user.records(run_id)
    user.remove([run_id])
    found = run_of(stores, str(file))
    assert found.latest.origin == "file"
    assert found.store.records(run_id) == records
    with pytest.raises(StoreError, match="take it in with `fingerprint import"):
        found.store.writable()
    assert user.runs() == ()


def test_a_folder_that_has_the_name_of_no_run_is_none(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bench").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="there is no run 'bench'"):
        run_of(stores, "bench")


def test_a_file_with_one_snapshot_is_that_snapshot(stores: Stores, user: Store, tmp_path: Path) -> None:
    user.save(alone := snapshot())
    file = tmp_path / "snapshot.json"
    file.write_bytes(user.export([], [alone.id]))
    found = stores.resolve(str(file))
    assert isinstance(found, FoundSnapshot)
    assert found.store.snapshot(found.id) == alone


def test_a_file_that_means_several_things_is_refused(stores: Stores, user: Store, tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    file.write_bytes(user.export([short_run(user, "a"), short_run(user, "b")]))
    with pytest.raises(StoreError, match=r"several runs \(a, b\): `fingerprint import"):
        stores.resolve(str(file))
    file.write_bytes(user.export([]))
    with pytest.raises(StoreError, match="no run and 0 snapshots"):
        stores.resolve(str(file))


@pytest.mark.parametrize("text", ["run-A", "run-A#1"])
def test_a_name_in_both_stores_is_an_error_that_lists_both(
    stores: Stores, user: Store, service: Store, text: str
) -> None:
    ids = [short_run(user, "run-A"), short_run(service, "run-A")]
    with pytest.raises(StoreError, match=rf"{ids[0]} \(user\) and {ids[1]} \(service\): write one of these ids"):
        stores.resolve(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("run-a", "no run 'run-a', but run-A"),
        ("rnu-B", "but run-B"),
        ("run-B#7", "but run-B#1"),
        ("zzzzzz", "no run 'zzzzzz': `fingerprint runs` lists"),
        ("./gone.json", r"no run './gone.json'"),
        ("@best", "'@best' is no run: write @ for the last one"),
        ("@-x", "write @ for the last one"),
        ("", "no run ''"),
    ],
)
def test_what_means_nothing_is_refused_with_what_is_near(stores: Stores, user: Store, text: str, says: str) -> None:
    short_run(user, "run-A")
    short_run(user, "run-B")
    with pytest.raises(StoreError, match=says):
        stores.resolve(text)


def test_runs_of_both_stores_are_listed_with_their_origin(stores: Stores, user: Store, service: Store) -> None:
    ids = [short_run(user), short_run(service), short_run(user)]
    assert [(row.id, row.origin) for row in stores.runs()] == list(zip(ids, ["user", "service", "user"], strict=True))
    assert [row.id for row in stores.runs(limit=2)] == ids[1:]
    service.save(snapshot(5))
    user.save(snapshot(3))
    assert [(row.taken_at, row.origin) for row in stores.snapshots()] == [(3, "user"), (5, "service")]


def test_without_any_store_there_are_no_runs_and_none_is_made(tmp_path: Path) -> None:
    stores = Stores.open({"FINGERPRINT_STORE": str(tmp_path / "new" / "store.db")})
    assert stores.runs() == ()
    with pytest.raises(StoreError, match="'@' means nothing yet, the stores hold no runs"):
        stores.resolve("@")
    assert list(tmp_path.iterdir()) == []


def test_a_chosen_store_is_the_only_one(user: Store, service: Store) -> None:
    short_run(service)
    assert Stores.open({"FINGERPRINT_STORE": str(user.path)}).runs() == ()


def test_a_service_store_that_cannot_be_read_is_named_and_left_out(
    user: Store, service: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = short_run(user)
    service.close()
    service.path.write_text("not a database" * 99)
    monkeypatch.setattr(refs, "default_path", lambda environ: user.path)
    stores = Stores.open({})
    assert [row.id for row in stores.runs()] == [run_id]
    assert len(stores.unreadable) == 1
    assert str(service.path) in stores.unreadable[0]
