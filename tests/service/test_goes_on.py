"""What passes is waited out, and told for as long as it lasts."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fingerprint.areas import probes_of
from fingerprint.reader import Reader
from fingerprint.service import main
from fingerprint.service.api.listening import serve
from fingerprint.service.daemon import Service
from fingerprint.service.pulse import Pulse
from fingerprint.service.seldom import Seldom
from fingerprint.settings import Areas, Settings
from fingerprint.settings import Service as ServiceSettings
from fingerprint.store import Store
from fingerprint.store.errors import UnusableNow
from fingerprint.trouble import Trouble
from probes.kit.host import Host
from probes.kit.probe import areas
from tests.waiting import until

AREAS = ("cpu", "memory")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = of_two_areas(Service, tmp_path)
    yield found
    found.close()


def of_two_areas(kind: type[Service], folder: Path, host: Host | None = None) -> Service:
    settings = Settings(areas=Areas(skip=tuple(area for area in areas() if area not in AREAS)))
    probes = probes_of(AREAS, settings)
    return kind(settings, host or Host(), lambda _sample: Reader(Host(), probes), folder / "store.db")


@pytest.mark.root
def test_a_full_disk_at_the_start_is_told_as_what_may_pass(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("mounting a small tmpfs needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this root may not mount a tmpfs")
    environ = {**os.environ, "FINGERPRINT_STORE": str(tmp_path / "store.db")}
    environ |= {"FINGERPRINT_SERVICE_READER": "/nonexistent", "FINGERPRINT_SERVICE_SOCKET": str(tmp_path / "socket")}
    try:
        begun = subprocess.run(
            [sys.executable, "-m", "fingerprint.service"], env=environ, capture_output=True, text=True, timeout=60
        )
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
    assert (begun.returncode, begun.stderr.count("\n")) == (1, 1), begun.stderr
    assert "no space is left" in begun.stderr


def test_what_is_asked_of_some_areas_makes_no_other_newer(service: Service) -> None:
    whole = service.take()
    part = service.take(["cpu"])
    assert [key.area for key in part.readings] == ["cpu"]
    assert service.newest() is whole
    told = service.health().areas
    of_cpu, of_memory = told["cpu"].age_s, told["memory"].age_s
    assert of_cpu is not None
    assert of_memory is not None
    assert of_memory - of_cpu == pytest.approx((part.taken_at - whole.taken_at) / 1e9)


def test_a_store_that_was_locked_when_house_was_kept_is_well_after_the_next_round(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object, **__: object) -> None:
        raise UnusableNow("it is locked")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "retain", locked)
        service.keep_house()
    assert service.health().store == "it is locked"
    service.round(keep=False)
    assert service.health().ok


def test_runs_that_end_with_the_service_wait_together_for_a_store_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.delenv(variable, raising=False)
    service = of_two_areas(Service, tmp_path)
    service.round(keep=True)
    runs = [service.begin(f"run-{number}", pid=os.getpid()) for number in range(8)]
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        service.close()
        took = time.monotonic() - began
    assert took < 2.5  # each by itself: 16 s
    with Store.open(tmp_path / "store.db") as store:
        for file in tmp_path.glob("*.jsonl"):
            store.import_file(file)
        assert {row.id for row in store.runs() if row.closed} == {run.id for run in runs}


def test_a_store_that_was_removed_is_made_anew_and_has_what_comes_and_what_went_on(service: Service) -> None:
    service.round(keep=True)
    service.begin("before", pid=os.getpid())
    for file in service.store().path.parent.glob("store.db*"):
        file.unlink()
    service.round(keep=True)
    assert service.health().ok
    service.begin("after", pid=os.getpid())
    for name in ("before", "after"):
        service.end(name)
    service.round(keep=True)
    assert {(run.name, run.closed is not None) for run in service.store().runs()} == {("before", True), ("after", True)}
    assert service.store().snapshots()


def test_who_begins_ever_more_runs_is_stopped_at_a_number(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fingerprint.service.served.MOST_BEGUN", 2)
    for name in ("run-1", "run-2"):
        service.begin(name, pid=os.getpid())
    with pytest.raises(Trouble, match="2 runs that were begun go on, and more may not at a time: end one first"):
        service.begin("run-3", pid=os.getpid())
    service.end("run-1")
    service.begin("run-3", pid=os.getpid())


def test_servers_that_a_hidden_proc_keeps_from_it_are_told(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    service = of_two_areas(Service, tmp_path, Host(str(tmp_path)))
    try:
        assert "(hidepid), whose servers are not noticed" in service.health().says
    finally:
        service.close()


class Failing(Service):
    def look(self) -> None:
        raise ValueError("it fails")


@pytest.mark.long
def test_a_job_that_failed_is_told_for_an_hour_and_in_the_journal_once_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = of_two_areas(Failing, tmp_path)
    servers = serve(service, Settings(service=ServiceSettings(socket=str(tmp_path / "api.sock"))))
    journal = Seldom()

    def failed_thrice() -> bool:
        main._watch(service, servers, Pulse(servers.addresses[0], 5), journal)
        return "failures since the start: 3" in service.health().says

    try:
        service.schedule.start()
        until(failed_thrice, 30)
        assert capsys.readouterr().err.count("ValueError: it fails") == 1
        monkeypatch.setattr("fingerprint.service.failures.TOLD_SECONDS", 0)
        assert service.health().ok
    finally:
        servers.stop()
        service.close()
