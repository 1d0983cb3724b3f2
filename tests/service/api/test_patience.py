"""Whatever one asker does, the others are answered."""

import os
import socket
import threading
import time
from contextlib import ExitStack

import msgspec
import pytest

from fingerprint.service import broadcast
from fingerprint.service.api import guard, listening
from fingerprint.store import Store
from tests.service.api.conftest import Api
from tests.service.api.test_answers import an_event
from tests.waiting import until

STREAM = b"GET /v1/events/stream HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


def ended(connection: socket.socket) -> bytes:
    """All that came until the other side closed."""
    found = b""
    try:
        while data := connection.recv(1 << 16):
            found += data
    except ConnectionError:
        pass
    return found


def test_a_hundred_ask_at_once(api: Api) -> None:
    statuses: list[int] = []
    paths = ("/v1/version", "/v1/health", "/v1/runs", "/metrics", "/v1/events")
    api.post("/v1/snapshot")

    def ask(number: int) -> None:
        statuses.append(api("GET", paths[number % len(paths)]).status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 100


@pytest.mark.long
def test_a_hundred_silent_connections_hold_up_nobody_and_are_ended(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "REQUEST_SECONDS", 1.0)
    with ExitStack() as held:
        silent = [held.enter_context(api.connected()) for _ in range(100)]
        silent[0].sendall(b"GET /v1/version HTTP/1.1\r\nhost:")
        assert api("GET", "/v1/version").status == 200
        assert [ended(connection) for connection in silent] == [b""] * 100


def test_connections_above_a_number_are_closed_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_OPEN", 20)
    with ExitStack() as held:
        silent = [held.enter_context(api.connected()) for _ in range(40)]
        assert [ended(connection) for connection in silent[20:]] == [b""] * 20
        silent[0].sendall(b"GET /v1/version HTTP/1.1\r\nhost: x\r\n\r\n")
        assert silent[0].recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: -1\r\nhost: x\r\n\r\n",
        b"POST /v1/gate HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        os.urandom(1 << 16) + b"\r\n\r\n",
        b"GET /" + b"a" * (1 << 20),
        b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 100_000,
    ],
)
def test_garbage_is_refused_and_hurts_nobody(api: Api, garbage: bytes) -> None:
    with api.connected() as connection:
        try:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answered = ended(connection)
    assert not answered or answered.split(b" ")[1] in (b"400", b"404", b"413"), answered[:200]
    assert api("GET", "/v1/version").status == 200
    assert api.servers.counts.failures == 0


def test_what_is_too_large_is_refused_before_it_is_read(api: Api) -> None:
    with api.connected() as connection:
        connection.sendall(b"POST /v1/gate HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n")
        assert ended(connection).startswith(b"HTTP/1.1 413 ")
    with api.connected() as connection:
        connection.sendall(
            b"POST /v1/gate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        try:
            for _ in range(20):
                connection.sendall(b"20000\r\n" + b" " * 0x20000 + b"\r\n")
        except OSError:
            pass
        assert ended(connection).startswith(b"HTTP/1.1 413 ")


def test_json_that_is_nested_without_end_is_refused(api: Api) -> None:
    assert api("POST", "/v1/gate", b"[" * 500_000).status in (400, 422)
    assert api("POST", "/v1/gate", b'{"baseline": "' + b"\\ud800" + b'"}').status in (404, 422)


def test_a_body_that_never_ends_is_given_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.5)
    with api.connected() as connection:
        connection.sendall(b"POST /v1/gate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n")
        connection.sendall(b"content-length: 100\r\n\r\n{")
        assert ended(connection).startswith(b"HTTP/1.1 408 ")


def test_an_answer_that_nobody_reads_is_given_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "UNREAD_SECONDS", 0.5)
    api.post("/v1/snapshot")
    with api.connected() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"GET /v1/snapshot HTTP/1.1\r\nhost: x\r\n\r\n" * 30)
        until(lambda: _gone(connection))
    assert api("GET", "/v1/version").status == 200


def test_a_large_answer_that_is_taken_slowly_arrives_whole(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("REQUEST_SECONDS", "UNREAD_SECONDS"):
        monkeypatch.setattr(listening, limit, 0.5)
    with Store.open(api.service.path) as store:
        store.add_events(msgspec.structs.replace(an_event(number), says="x" * 4000) for number in range(300))
    whole = len(api("GET", "/v1/events?limit=1000").content)
    with api.connected() as connection:
        connection.sendall(b"GET /v1/events?limit=1000 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        taken, began = b"", time.monotonic()
        while data := connection.recv(1 << 15):
            taken += data
            time.sleep(0.05)
        assert time.monotonic() - began > 1
    assert len(taken.partition(b"\r\n\r\n")[2]) == whole > 1_000_000


def _gone(connection: socket.socket) -> bool:
    try:
        connection.send(b"x")
    except OSError:
        return True
    return False


def test_events_come_as_they_happen_and_after_a_break_those_that_were_missed(api: Api) -> None:
    first, second, third = an_event(1), an_event(2), an_event(3)
    with api.connected() as connection:
        connection.sendall(STREAM)
        until(lambda: api.service.events.listeners == 1)
        api.service.events.publish(first)
        assert _read_until(connection, first.id.encode()).count(b"event: state") == 1
    until(lambda: api.service.events.listeners == 0)
    with Store.open(api.service.path) as store:
        store.add_events([first, second])
    with api.connected() as connection:
        connection.sendall(STREAM[:-2] + f"Last-Event-ID: {first.id}\r\n\r\n".encode())
        told = _read_until(connection, second.id.encode())
        assert first.id.encode() not in told
        api.service.events.publish(second)
        api.service.events.publish(third)
        assert second.id.encode() not in _read_until(connection, third.id.encode())


def test_an_event_of_a_far_future_was_not_missed_by_anybody(api: Api) -> None:
    with api.connected() as connection:
        connection.sendall(STREAM[:-2] + b"Last-Event-ID: 7ZZZZZZZZZZZZZZZZZZZZZZZZZ\r\n\r\n")
        until(lambda: api.service.events.listeners == 1)
        api.service.events.publish(event := an_event(1))
        assert _read_until(connection, event.id.encode())
    assert api.servers.counts.failures == 0


def _read_until(connection: socket.socket, text: bytes) -> bytes:
    found = b""
    while text not in found:
        data = connection.recv(1 << 16)
        assert data, found
        found += data
    return found


def test_who_never_reads_events_is_dropped_and_counted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "MOST_WAITING", 50)
    with api.connected() as deaf, api.connected() as other:
        for connection in (deaf, other):
            connection.sendall(STREAM)
        until(lambda: api.service.events.listeners == 2)
        reading = threading.Thread(target=ended, args=(other,))
        reading.start()
        numbers = iter(range(1_000_000))
        until(lambda: _published(api, next(numbers)) or api.service.events.dropped == 1, 60)
        assert api.service.events.listeners == 1
        assert "fingerprint_api_listeners_dropped_total 1" in api("GET", "/metrics").content.decode()
        api.service.events.close()
        reading.join()


def _published(api: Api, number: int) -> None:
    api.service.events.publish(msgspec.structs.replace(an_event(number % 1000), says="x" * 4000))
    time.sleep(0.0005)


def test_of_those_who_listen_at_once_as_many_as_may_are_served_and_the_others_told_when_to_ask_again(api: Api) -> None:
    more = 6
    with ExitStack() as held:
        all_of_them = [held.enter_context(api.connected()) for _ in range(broadcast.MOST_LISTENERS + more)]
        for connection in all_of_them:
            connection.sendall(STREAM)
        answers = [_read_until(connection, b"\r\n\r\n") for connection in all_of_them]
        served = [answer for answer in answers if answer.startswith(b"HTTP/1.1 200 ")]
        refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503 ")]
        assert (len(served), len(refused)) == (broadcast.MOST_LISTENERS, more)
        assert all(b"retry-after: 60\r\n" in answer for answer in refused)
        assert api("GET", "/v1/version").status == 200
    until(lambda: api.service.events.listeners == 0)
    assert api.service.events.dropped == 0


def test_a_failure_of_ours_is_told_counted_and_logged_once_a_minute(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(api.service, "health", broken)
    for _ in range(3):
        answer = api("GET", "/v1/health")
        assert answer.status == 500
        assert "secret" not in answer.content.decode()
    until(lambda: api.servers.counts.failures == 3)
    assert [record.name for record in caplog.records] == ["fingerprint.service.api.guard"]
