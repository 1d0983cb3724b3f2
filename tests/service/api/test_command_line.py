"""The command line where a service runs on the host, and where one hangs."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from fingerprint.areas import names_of_host
from fingerprint.cli import main
from fingerprint.store import Store
from tests.e2e.conftest import Cli
from tests.service.api.conftest import Api
from tests.service.api.small import AREAS
from tests.store.samples import short_run

PID = str(os.getpid())


@pytest.fixture
def cli(tmp_path: Path, api: Api) -> Cli:
    """A user with a store of his own, who has that of the service through its socket alone."""
    there = Cli(tmp_path / "home")
    there.home.mkdir()
    del there.env["FINGERPRINT_STORE"]
    skipped = [area for area in names_of_host() if area not in AREAS]
    there.env |= {"FINGERPRINT_SOCKET": str(api.path), "FINGERPRINT_AREAS_SKIP": ",".join(skipped)}
    return there


def test_a_snapshot_is_what_the_service_read_last_and_says_so(cli: Cli, api: Api) -> None:
    taken = api.post("/v1/snapshot")
    told = cli("snapshot", "--format", "json")
    assert json.loads(told.stdout)["taken_at"] == taken["taken_at"]
    assert "as the service read it" in told.stderr
    assert "(--fresh: read it now)" in told.stderr
    fresh = json.loads(cli("snapshot", "--fresh", "--format", "json").stdout)
    assert (api.service.taken, fresh["taken_at"]) == (2, api.get("/v1/snapshot")["taken_at"])
    cli("snapshot", "--area", "cpu", "--quiet")
    assert len(api.get("/v1/snapshots")["snapshots"]) == 2


def test_what_the_service_read_long_ago_is_read_anew(cli: Cli, api: Api) -> None:
    import msgspec

    old = api.service.take()
    api.service._newest = msgspec.structs.replace(old, taken_at=old.taken_at - 600_000_000_000)
    assert json.loads(cli("snapshot", "--format", "json").stdout)["taken_at"] > old.taken_at


def test_runs_of_the_service_are_listed_shown_compared_and_exported(cli: Cli, api: Api) -> None:
    for name, value in (("run-A", "19.2"), ("run-B", "29.6")):
        cli("begin", "--pid", PID, "--name", name, "--workload", "concurrency=8")
        cli("metric", name, "verify_ms", value, value)
        assert "recorded" in cli("end", name).stderr
    assert [row["origin"] for row in json.loads(cli("runs", "--format", "json").stdout)] == ["service"] * 2
    diff = cli.diff("run-A", "run-B")
    assert [it["name"] for it in diff["metrics"]] == ["verify_ms"]
    assert cli.diff("@-1", "@")["b"]["name"] == "run-B"
    run_id = api.get("/v1/runs/run-A")["id"]
    assert json.loads(cli("show", run_id[:-2], "--format", "json").stdout)["workload"] == {"concurrency": 8}
    assert {run["name"] for run in json.loads(cli("timeline", "--format", "json").stdout)["runs"]} == {"run-A", "run-B"}
    assert json.loads(cli("export", "run-A").stdout)["runs"][0]["id"] == run_id
    assert cli("gate", "--baseline", "run-A", "--format", "json", status=None).returncode in (0, 1, 3)
    assert "there is no run 'run-C'" in cli("show", "run-C", status=2).stderr


def test_runs_of_the_service_are_marked_remarked_on_renamed_and_removed_by_it(cli: Cli, api: Api) -> None:
    for name in ("run-A", "run-B"):
        cli("begin", "--pid", PID, "--name", name)
    cli("end", "run-A")
    assert "marked good" in cli("good", "run-A").stdout
    cli("note", "run-A", "after the BIOS update")
    assert api.get("/v1/runs/@good")["notes"] == ["after the BIOS update"]
    assert "no longer marked good" in cli("good", "run-A", "--not").stdout
    cli("rename", "run-A", "thursday")
    assert "cannot name a run" in cli("rename", "thursday", "a/b", status=2).stderr
    assert "the service refused: runs named run-B exist already" in cli("rename", "thursday", "run-B", status=2).stderr
    assert "the service refused: run-B#1 goes on" in cli("rm", "run-B", status=2).stderr
    assert cli("rm", "thursday").stdout == "removed thursday#1; with it 2 snapshots that no other run needs\n"
    assert [row["name"] for row in api.get("/v1/runs")["runs"]] == ["run-B"]


def test_what_the_service_refuses_is_told(cli: Cli) -> None:
    refused = cli("begin", "--port", "1", "--name", "run-A", status=2)
    assert "the service refused: no such server runs here" in refused.stderr
    cli("begin", "--pid", PID, "--name", "run-A")
    cli("end", "run-A")
    assert "the service refused: run-A#1 is over" in cli("end", "run-A", status=2).stderr
    assert "choose another name" in cli("metric", "run-A", "wall_time", "1", status=2).stderr


def test_a_run_of_a_command_has_the_borders_of_the_service_and_lies_in_the_own_store(cli: Cli, api: Api) -> None:
    cli("run", "--name", "run-A", "--", "true")
    assert api.service.taken == 2
    assert json.loads(cli("runs", "--format", "json").stdout)[0]["origin"] == "user"
    assert api.get("/v1/runs") == {"runs": []}
    shown = json.loads(cli("show", "run-A", "--format", "json").stdout)
    assert [shown["sections"][area]["outcome"] for area in AREAS] == ["ok"] * 3
    assert shown["sections"]["process/main"]["outcome"] == "ok"


def test_one_store_alone_is_the_users_word(cli: Cli, tmp_path: Path) -> None:
    cli.env["FINGERPRINT_STORE"] = str(tmp_path / "alone.db")
    assert cli("runs", "--format", "json").stdout == "[]\n"


# A service that hangs, or is none.


def _silent(listener: socket.socket) -> None:
    """Takes whoever comes and says nothing."""
    with ExitStack() as held, suppress(OSError):
        while True:
            held.enter_context(listener.accept()[0])


def _slow(listener: socket.socket) -> None:
    """A byte now and then, for ever."""
    with suppress(OSError), listener.accept()[0] as connection:
        for byte in b"HTTP/1.1 200 OK\r\na: " + b"a" * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)


def _garbage(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            with listener.accept()[0] as connection:
                connection.sendall(os.urandom(1000))


def _full(listener: socket.socket) -> None:
    """Nobody accepts, and no more may wait."""


@contextmanager
def a_socket(path: Path, act: Callable[[socket.socket], None]) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as held:
        listener.bind(str(path))
        listener.listen(0)
        thread = threading.Thread(target=act, args=(listener,))
        thread.start()
        if act is _full:
            for _ in range(2):
                waiting = held.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                with suppress(BlockingIOError):
                    waiting.connect(str(path))
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.long
@pytest.mark.parametrize("act", [_silent, _slow, _garbage, _full])
@pytest.mark.parametrize(
    "verb", [("snapshot", "--area", "cpu"), ("run", "--name", "run-A", "--", "true"), ("runs",), ("status",)]
)
def test_a_service_that_hangs_costs_a_second_and_the_verb_goes_on_by_itself(
    tmp_path: Path, act: Callable[[socket.socket], None], verb: tuple[str, ...]
) -> None:
    cli = Cli(tmp_path)
    del cli.env["FINGERPRINT_STORE"]
    path = tmp_path / "api.sock"
    alone = _seconds(cli, verb, "")
    with a_socket(path, act):
        began = time.monotonic()
        done = cli(*verb, env={"FINGERPRINT_SOCKET": str(path)})
        took = time.monotonic() - began
    assert done.stderr.count("goes on without it") == 1, done.stderr
    assert took < alone + 2.5, (took, alone)


def test_a_verb_that_changes_a_run_says_that_the_service_which_keeps_it_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FINGERPRINT_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("FINGERPRINT_SOCKET", str(tmp_path / "api.sock"))
    monkeypatch.setattr("fingerprint.store.store.service_path", lambda: tmp_path / "store.db")  # as root reads it
    with Store.open(tmp_path / "store.db") as store:
        short_run(store, "run-A")
        with a_socket(tmp_path / "api.sock", _silent), pytest.raises(SystemExit) as ended:
            main(["good", "run-A"])
        assert not store.runs()[0].good
    said = capfd.readouterr().err
    assert (ended.value.code, said.count("\n")) == (2, 1)
    assert "did not answer in time: see `systemctl status fingerprint`" in said


def _seconds(cli: Cli, verb: tuple[str, ...], path: str) -> float:
    began = time.monotonic()
    cli(*verb, env={"FINGERPRINT_SOCKET": path})
    return time.monotonic() - began


def test_without_a_service_one_stat_is_all_that_is_done_and_nothing_of_it_is_imported(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    code = (
        "import sys\nfrom fingerprint.cli import main\ntry:\n    main(['runs'])\nfinally:\n"
        "    print([name for name in sys.modules if name in ('http.client', 'ssl', 'fastapi', 'asyncio', 'pydantic')])"
    )
    env = {**cli.env, "FINGERPRINT_SOCKET": str(tmp_path / "none.sock")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]"


def test_what_is_no_socket_is_no_service(api: Api, cli: Cli) -> None:
    from fingerprint.service.client import Client

    assert Client.if_there({"FINGERPRINT_SOCKET": str(api.path)}) is not None
    assert Client.if_there({"FINGERPRINT_SOCKET": ""}) is None
    assert Client.if_there({"FINGERPRINT_SOCKET": str(cli.home)}) is None
    assert Client.if_there({}, str(cli.home / "none")) is None
    assert Client.if_there({"FINGERPRINT_SOCKET": "a\0b"}) is None
