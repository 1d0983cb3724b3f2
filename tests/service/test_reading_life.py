"""The reader service starts, tells its manager, reads its settings anew, and ends with all that it started."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fingerprint.reader import Reader
from fingerprint.reader.remote import connect
from fingerprint.service import seldom
from fingerprint.service.reading import Means, serve
from fingerprint.service.seldom import Seldom
from fingerprint.snapshot import Job
from fingerprint.trouble import Trouble
from probes.kit.host import Host
from probes.kit.probe import Target, discover
from tests.service.listening import Listening, ask, by_area, fine, heard, listening, peer, stuck
from tests.waiting import until


@contextmanager
def manager(folder: Path) -> Iterator[socket.socket]:
    """A service manager's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(folder / "notify"))
        listener.settimeout(15)
        yield listener


def told_until(listener: socket.socket, words: str) -> str:
    told = ""
    while words not in told:
        told += listener.recv(4096).decode() + "\n"
    return told


def test_the_service_manager_is_told_what_it_does(tmp_path: Path) -> None:
    with manager(tmp_path) as listener:
        with listening(tmp_path, fine("one"), told=str(tmp_path / "notify")) as service:
            assert "STATUS=0 connected" in told_until(listener, "READY=1")
            with peer(service):
                assert "WATCHDOG=1" in told_until(listener, "STATUS=1 connected, 2 since the start, 0 refused")
            service.end()
        told_until(listener, "STOPPING=1")


def test_it_ends_with_all_that_it_started_and_leaves_no_socket(tmp_path: Path) -> None:
    with listening(tmp_path, stuck("stuck")) as service, peer(service) as one:
        one.send(ask(["stuck", "", 0]))
        assert one.hear()["type"] == "begin"
        [worker] = service.workers()
        began = time.monotonic()
        service.end(signal.SIGTERM)
        assert time.monotonic() - began < 4
        assert not Path(f"/proc/{worker}").exists()
        assert not service.path.exists()
        assert one.hear() is None


def test_it_ends_with_whoever_holds_it(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    with listening(tmp_path, fine("one"), held_by=ours) as service:
        os.close(ours)
        with peer(service) as one:
            os.close(theirs)
            assert one.hear() is None
        until(service.ended)
    assert not service.path.exists()


def test_sighup_has_it_read_by_what_is_in_force_now(tmp_path: Path) -> None:
    def again() -> Means:
        if (tmp_path / "bad").exists():
            raise Trouble("config.toml is not TOML: mend it")
        return Host(), by_area(fine("one", 2))

    with listening(tmp_path, fine("one"), again=again) as service:
        with peer(service) as one:
            os.kill(service.pid, signal.SIGHUP)
            assert one.hear() is None
        assert heard(service, ask(["one", "", 0]), 2)[1]["section"] == {"value": 2}
        (tmp_path / "bad").touch()
        with peer(service) as one:
            os.kill(service.pid, signal.SIGHUP)
            until(lambda: "config.toml is not TOML: mend it; what was in force stays so" in service.journal)
            one.send(ask(["one", "", 0]))
            assert [one.hear()["type"] for _ in range(2)] == ["begin", "read"]


def test_what_a_killed_one_left_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    service = Listening(tmp_path, by_area(fine("one")))
    service.start()
    with pytest.raises(Trouble, match="another reader listens at .*: stop it first"):
        serve(str(service.path), Host(), {}, allowed_uids=())
    service.end(signal.SIGKILL)
    assert service.path.exists()
    service.start()
    service.end()


@pytest.mark.parametrize(("place", "why"), [("nowhere/reader.sock", "No such file"), ("x" * 200, "too long")])
def test_where_it_cannot_listen_it_says_so(tmp_path: Path, place: str, why: str) -> None:
    with pytest.raises(Trouble, match=f"cannot listen at .* \\(.*{why}.*set service.reader to"):
        serve(str(tmp_path / place), Host(), {}, allowed_uids=())


def test_by_its_settings_it_reads_this_host_and_a_process(tmp_path: Path) -> None:
    path = tmp_path / "reader.sock"
    code = (
        "import os\n"
        "from fingerprint.service.reading import run\n"
        "from fingerprint.settings import load\n"
        "run(lambda: load(os.environ), os.environ, user='nobody-of-this-name')\n"
    )
    env = {
        "PATH": os.environ["PATH"],
        "XDG_STATE_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "FINGERPRINT_SERVICE_READER": str(path),
        "FINGERPRINT_AREAS_SKIP": "gpu",
    }
    with subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE) as process:
        until(path.exists)
        probes = discover(["cpu", "kernel", "process", "gpu"])
        reader = Reader(Host(), probes, connect(str(path)))
        jobs = [Job("cpu"), Job("kernel"), Job("process", Target("main", os.getpid())), Job("gpu")]
        found = {key.area: reading for key, reading in reader.read(jobs, 60)}
        reader.close()
        process.terminate()
        assert process.stderr
        assert (process.stderr.read(), process.wait()) == (b"", 0)
    assert [reading.outcome for reading in found.values()] == ["ok", "ok", "ok", "failed"]
    assert "this reader reads no such area" in found["gpu"].detail


def test_what_is_redacted_stays_so_until_a_restart_and_that_is_said(tmp_path: Path) -> None:
    config, path = tmp_path / "fingerprint/config.toml", tmp_path / "reader.sock"
    config.parent.mkdir()
    config.write_text("")
    code = (
        "import os\nfrom fingerprint.service.reading import run\nfrom fingerprint.settings import load\n"
        "run(lambda: load(os.environ), os.environ, user='nobody-of-this-name')\n"
    )
    env = {
        "PATH": os.environ["PATH"],
        "MY_ENGINE_FLAG": "on",
        "XDG_STATE_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "FINGERPRINT_SERVICE_READER": str(path),
    }
    with subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE, text=True) as process:
        until(path.exists)
        reader = Reader(Host(), discover(["process"]), connect(str(path)))

        def flag() -> object:
            [(_, reading)] = reader.read([Job("process", Target("main", process.pid))], 60)
            if reading.lasting is None:  # it hung up on whoever asked before
                return None
            return json.loads(bytes(reading.lasting.body))["env"]["items"]["MY_ENGINE_FLAG"]

        try:
            before = until(flag)
            config.write_text('[redaction]\nallow = ["MY_ENGINE_FLAG"]\n')
            process.send_signal(signal.SIGHUP)
            assert process.stderr
            assert "systemctl restart fingerprint-reader fingerprint" in process.stderr.readline()
            assert until(flag) == before != "on"
        finally:
            reader.close()
            process.terminate()


# The journal.


def test_of_what_happens_all_the_time_the_journal_has_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    journal = Seldom(lambda: now)
    for second in range(0, 180, 2):
        now = float(second)
        journal.say("one", f"at {second}")
    journal.say("two", "another")
    assert capsys.readouterr().err.splitlines() == [
        "at 0",
        "at 60 (and 29 more before)",
        "at 120 (and 29 more before)",
        "another",
    ]
    assert seldom.SECONDS == 60


def test_what_is_no_socket_is_not_taken_for_the_one_of_a_dead_reader(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("of somebody")
    with pytest.raises(Trouble, match="is there, and is no socket"):
        serve(str(precious), Host(), {}, allowed_uids=())
    assert precious.read_text() == "of somebody"
