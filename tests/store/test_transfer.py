"""Out of one store, into another; and files that are not what they should be."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from fingerprint.runs.record import Distribution, Growth, Held
from fingerprint.store import Store, StoreError, foreign
from tests.store.samples import opened, short_run, snapshot, store_at, whole_run

GROWTH = to_builtins(Growth(3, 9, 6, 60.0))
HELD_NOTHING = to_builtins(Held((), left_out=9))
NO_QUANTILES = to_builtins(Distribution(7, 4.0, ()))


@pytest.fixture
def source(tmp_path: Path) -> Store:
    return store_at(tmp_path / "source")


@pytest.fixture
def target(tmp_path: Path) -> Store:
    return store_at(tmp_path / "target")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.json"


def test_an_imported_series_equals_the_exported_one(source: Store, target: Store, file: Path) -> None:
    ids = [whole_run(source, speed=speed) for speed in (1, 2, 2)]
    source.good(ids[1])
    file.write_bytes(source.export(ids))
    imported = target.import_file(file)
    assert ([row.id for row in imported.runs], imported.snapshots, imported.known) == (ids, 6, ())
    assert target.runs() == source.runs()
    for run_id in ids:
        assert target.records(run_id) == source.records(run_id)
    for row in source.snapshots():
        assert target.snapshot(row.id) == source.snapshot(row.id)
    assert target.snapshots() == source.snapshots()
    assert target.export(ids) == source.export(ids)


def test_the_end_of_a_quiet_time_is_kept(source: Store, target: Store, file: Path) -> None:
    source.save(quiet := snapshot(1000), keep_volatile=False)
    source.save(snapshot(2000), keep_volatile=False)
    file.write_bytes(source.export([], [quiet.id]))
    target.import_file(file)
    assert target.snapshots()[0].seen_until == 2000


def test_the_second_import_of_a_file_adds_nothing(source: Store, target: Store, file: Path) -> None:
    run_id = whole_run(source)
    file.write_bytes(source.export([run_id]))
    target.import_file(file)
    before = target.records(run_id)
    again = target.import_file(file)
    assert (again.runs, again.snapshots, again.known) == ((), 0, (run_id,))
    assert target.records(run_id) == before


def test_a_later_export_brings_the_records_that_were_added_since(source: Store, target: Store, file: Path) -> None:
    run_id = whole_run(source)
    file.write_bytes(source.export([run_id]))
    target.import_file(file)
    source.note(run_id, "the same")
    source.note(run_id, "the same")
    source.good(run_id)
    file.write_bytes(source.export([run_id]))
    assert [row.id for row in target.import_file(file).runs] == [run_id]
    assert target.records(run_id) == source.records(run_id)
    assert target.run(run_id).good


def test_redacted_values_stay_redacted(source: Store) -> None:
    data = source.export([whole_run(source)])
    assert data.count(b'"$":"hmac"') >= 2
    assert b"5ec2e7" in data


def test_a_renamed_series_is_exported_under_its_new_name(source: Store, target: Store, file: Path) -> None:
    run_id = short_run(source, "old")
    source.rename("old", "new")
    file.write_bytes(source.export([run_id]))
    assert str(target.import_file(file).runs[0]) == "new#1"


def test_a_taken_attempt_becomes_the_next_and_a_name_can_be_given(source: Store, target: Store, file: Path) -> None:
    file.write_bytes(source.export([short_run(source, "a"), short_run(source, "a")]))
    short_run(target, "a")
    assert [str(row) for row in target.import_file(file).runs] == ["a#2", "a#3"]
    third = store_at(file.parent / "third")
    assert [str(row) for row in third.import_file(file, "theirs").runs] == ["theirs#1", "theirs#2"]
    with pytest.raises(StoreError, match="letters, digits"):
        store_at(file.parent / "fourth").import_file(file, "not a name")


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_laid_out_anew_is_taken(source: Store, target: Store, file: Path, indent: int | None) -> None:
    run_id = whole_run(source)
    file.write_text("\n" + json.dumps(json.loads(source.export([run_id])), indent=indent))
    target.import_file(file)
    assert target.records(run_id) == source.records(run_id)


def test_a_file_that_is_taken_imports_no_pydantic(source: Store, file: Path) -> None:
    """It costs more than all else that looking at a file does."""
    file.write_bytes(source.export([whole_run(source)]))
    code = (
        "import sys; from pathlib import Path; from fingerprint.store import Store\n"
        "assert Store.of_file(Path(sys.argv[1])).runs(); sys.exit('pydantic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, file], check=True)


def change(document: Any, place: str, value: Any) -> None:
    """Sets what `place` names, or deletes it where the value is `...`."""
    *way, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    for step in way:
        document = document[step]
    if value is ...:
        del document[last]
    else:
        document[last] = value


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("schema", "fingerprint.export/9", "schema: Input should be 'fingerprint.export/1'"),
        ("runs", ..., "runs: Field required"),
        ("runs.0.id", "'; DROP TABLE run", "runs.0.id: String should match"),
        ("runs.0.name", "a b", "runs.0.name"),
        ("runs.0.name", "a\n", "runs.0.name"),
        ("runs.0.attempt", 0, "runs.0.attempt"),
        ("runs.0.attempt", True, "runs.0.attempt"),
        ("runs.0.records", [], "runs.0.records"),
        ("runs.0.records.0", ..., "its first record is not `opened`"),
        ("runs.0.records.0.record", "danced", r"runs\[0\].records\[0\]"),
        ("runs.0.records.1", to_builtins(opened()), "or another one is too"),
        ("runs.0.records.4.facts", {"bus//heat": GROWTH}, "run .*, record 4: 'bus//heat' has an empty segment"),
        ("runs.0.records.4.facts", {"bus/heat": NO_QUANTILES}, "bus/heat has 0 quantiles, not 7"),
        ("runs.0.records.4.facts", {"bus/width": HELD_NOTHING}, "bus/width held values that are not there"),
        ("runs.0.records.0.at", -1, "run .*, record 0: -1 is no time"),
        ("runs.0.records.0.at", 1 << 63, "is no time"),
        ("runs.0.records.0.vary", ["cpu//x"], "run .*, record 0: 'cpu//x' has an empty segment"),
        ("runs.0.records.0.at", "noon", r"runs\[0\].records\[0\].at"),
        ("runs.0.records.0.opener", ..., "opener"),
        ("snapshots.0", ..., "its snapshot .* is missing"),
        ("snapshots.0.taken_at", 1 << 63, "snapshots.0.taken_at"),
        ("snapshots.0.readings.0.reading.outcome", "fine", "outcome"),
        ("snapshots.0.readings.0.area", "", "area"),
        ("blobs.0", ..., "is missing"),
        ("blobs.0.digest", "xyz", "blobs.0.digest"),
        ("blobs.0.seen", -1, "blobs.0.seen"),
        ("blobs.0.gaps", {"mode": 1}, "blobs.0.gaps.mode: Input should be a valid string"),
        ("blobs.0.body", {"speed": 999}, "its body has another digest"),
        ("blobs.0.body", [], "blobs.0.body"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place_and_nothing_is_taken(
    source: Store, target: Store, file: Path, place: str, value: Any, says: str
) -> None:
    document = json.loads(source.export([whole_run(source)]))
    change(document, place, value)
    file.write_text(json.dumps(document))
    with pytest.raises(StoreError, match=says) as refused:
        target.import_file(file)
    assert "\n" not in str(refused.value)
    assert (target.runs(), target.snapshots()) == ((), ())


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"[]", b"null", b"{", b'{"schema":"fingerprint.records/1"}', b"[" * 100_000, b'{"a":1e999}'],
)
def test_a_file_of_another_kind_is_refused_in_one_sentence(target: Store, file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StoreError, match=str(file)) as refused:
        target.import_file(file)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "says"), [("", "Is a directory"), ("gone.json", "No such file"), ("pipe", "no regular file")]
)
def test_what_is_no_file_is_refused(target: Store, tmp_path: Path, path: str, says: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match=f"^{tmp_path / path} .*{says}"):
        target.import_file(tmp_path / path)


def test_more_than_anybody_exports_is_refused_unread(target: Store, file: Path) -> None:
    with file.open("wb") as sparse:
        sparse.truncate(foreign.SIZE_CAP + 1)
    with pytest.raises(StoreError, match="is larger than 256 MiB: export fewer runs"):
        target.import_file(file)


@given(cut=st.integers(0, 10_000), insert=st.binary(max_size=3), length=st.integers(0, 20))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_damaged_anywhere_is_taken_whole_or_not_at_all(
    source: Store, file: Path, cut: int, insert: bytes, length: int
) -> None:
    rows = source.runs() or (source.run(whole_run(source)),)
    data = source.export([rows[0].id])
    at = cut % len(data)
    file.write_bytes(data[:at] + insert + data[at + length :])
    try:
        store = Store.of_file(file)
    except StoreError as error:
        refusal = str(error)
    else:
        refusal = str(file)
        for row in store.runs():
            store.records(row.id)
        for kept in store.snapshots():
            store.snapshot(kept.id)
    assert str(file) in refusal
