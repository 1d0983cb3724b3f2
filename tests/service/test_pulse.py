"""Who does not answer is found out within seconds, without being waited for."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fingerprint.service import main, notify
from fingerprint.service.api.listening import serve
from fingerprint.service.daemon import Service
from fingerprint.service.pulse import VERSION, Pulse
from fingerprint.service.seldom import Seldom
from fingerprint.settings import Service as ServiceSettings
from fingerprint.settings import Settings
from tests.service.listening import fine, listening
from tests.service.test_daemon import Daemon, daemon
from tests.service.test_ending import below, stopped
from tests.service.test_faults import health, reader_of
from tests.service.test_goes_on import of_two_areas
from tests.service.test_reading_life import manager, told_until
from tests.waiting import until

__all__ = ["daemon"]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fingerprint.service.pulse.PATIENCE_SECONDS", 0.2)


def stepped(pulse: Pulse) -> str:
    began = time.monotonic()
    pulse.step()
    assert time.monotonic() - began < 0.5
    return pulse.silent_since


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "socket"))
        one.listen(1)
        yield one


@pytest.mark.usefixtures("soon")
def test_a_reader_that_is_stopped_is_silent_until_it_goes_on(tmp_path: Path) -> None:
    with listening(tmp_path, fine("one")) as service, closing(Pulse(str(service.path), 0.05)) as pulse:
        until(lambda: not stepped(pulse) and pulse._asking is None and pulse._asked)
        os.kill(service.pid, signal.SIGSTOP)
        since = until(lambda: stepped(pulse))
        assert until(lambda: stepped(pulse)) == since
        os.kill(service.pid, signal.SIGCONT)
        until(lambda: not stepped(pulse))


@pytest.mark.usefixtures("soon")
def test_who_is_asked_and_hangs_up_lives_and_who_takes_nobody_in_does_not(
    tmp_path: Path, listener: socket.socket
) -> None:
    with closing(Pulse(str(tmp_path / "socket"), 0.05, b"?")) as pulse:
        until(lambda: stepped(pulse))
        listener.accept()[0].close()
        until(lambda: stepped(pulse) and pulse._asking)
        listener.accept()[0].close()
        until(lambda: not stepped(pulse))
    with closing(Pulse(str(tmp_path / "none"), 0.05)) as pulse:
        assert stepped(pulse)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_it_is_asked_by_tcp_where_there_is_no_other_way(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"this host has no {address}")
    with server, closing(Pulse(server.getsockname()[:2], 0.05, b"?")) as pulse:
        pulse.step()
        with server.accept()[0] as asked:
            assert asked.recv(1) == b"?"
            asked.sendall(b"!")
            until(lambda: not stepped(pulse) and pulse._asking is None)


@pytest.mark.usefixtures("soon")
def test_the_service_manager_is_told_that_it_lives_only_while_the_api_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = of_two_areas(Service, tmp_path)
    servers = serve(service, Settings(service=ServiceSettings(socket=str(tmp_path / "api.sock"))))
    service.schedule.start()
    with manager(tmp_path) as told, closing(Pulse(servers.addresses[0], 0.05, VERSION)) as api:
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        until(lambda: not stepped(api) and api._asked and api._asking is None)
        main._watch(service, servers, api, Seldom())
        told_until(told, "WATCHDOG=1")
        servers.stop()
        until(lambda: stepped(api))
        main._watch(service, servers, api, Seldom())
        monkeypatch.setattr(servers, "alive", lambda: True)
        main._watch(service, servers, api, Seldom())
        notify.stopping()
        assert "WATCHDOG=1" not in told_until(told, "STOPPING=1")
    assert "fingerprintd: the API has answered nobody since" in capsys.readouterr().err
    service.close()


@pytest.mark.long
def test_a_service_whose_reader_hangs_says_so_within_seconds_and_takes_it_back(daemon: Daemon) -> None:
    until(lambda: health(daemon)["ok"], 60)
    with stopped(below(reader_of(daemon))):
        began = time.monotonic()
        until(lambda: "the reader has answered nobody since" in str(health(daemon)["reader"]), 40)
        assert time.monotonic() - began < 20
        until(lambda: "the reader has answered nobody since" in daemon.log.read_text())
    until(lambda: health(daemon)["ok"], 120)
