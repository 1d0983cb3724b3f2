"""A Reader whose workers are a service's says what its own would say, and outlives the service."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread, Timer

import pytest

from fingerprint.reader import Reader, take_snapshot
from fingerprint.reader.remote import Connections, connect
from fingerprint.snapshot import Job, Key, Reading
from fingerprint.version import __version__
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Probe, Target
from probes.kit.redact import Redactor
from tests.service.listening import Area, Listening, a_probe, by_area, fine, listening, stuck
from tests.waiting import until


@contextmanager
def asking(path: Path, *probes: Probe[Section], sample: bool = False) -> Iterator[Reader]:
    reader = Reader(Host(), by_area(*probes), connect(str(path), sample=sample))
    try:
        yield reader
    finally:
        reader.close()


def read(reader: Reader, *areas: str, budget: float = 15) -> Mapping[str, Reading]:
    return {key.area: reading for key, reading in reader.read([Job(area) for area in areas], budget)}


def outcomes(readings: Mapping[str, Reading]) -> list[str]:
    return [reading.outcome for reading in readings.values()]


def test_every_section_arrives_as_from_a_worker_of_its_own(tmp_path: Path) -> None:
    probes = fine("one"), fine("two", 2)
    own = Reader(Host(), by_area(*probes))
    with listening(tmp_path, *probes) as service, asking(service.path, *probes) as reader:
        remote, local = read(reader, "one", "two"), read(own, "one", "two")
    own.close()
    assert {area: reading.section(Area) for area, reading in remote.items()} == {
        area: reading.section(Area) for area, reading in local.items()
    }
    assert outcomes(remote) == ["ok", "ok"]


def test_the_asker_forks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = fine("one"), a_probe("deadly", lambda _: os._exit(3))
    with listening(tmp_path, *probes) as service:
        monkeypatch.setattr(os, "fork", lambda: pytest.fail("it forked"))
        with asking(service.path, *probes) as reader:
            found = read(reader, "deadly", "one")
        monkeypatch.undo()
    assert outcomes(found) == ["failed", "ok"]


def test_a_process_reads_for_it_only_from_a_question_until_it_is_released(tmp_path: Path) -> None:
    with listening(tmp_path, fine("one")) as service, asking(service.path, fine("one")) as reader:
        assert not service.workers()
        assert outcomes(read(reader, "one")) == ["ok"]
        [first] = service.workers()
        assert not reader.release(60)
        assert service.workers() == [first]
        assert reader.release(0)
        until(lambda: not service.workers())
        assert outcomes(read(reader, "one")) == ["ok"]


def test_what_it_reads_now_is_not_released(tmp_path: Path) -> None:
    with listening(tmp_path, stuck("slow")) as service, asking(service.path, stuck("slow")) as reader:
        reader.begin([Job("slow")], 5)
        assert not reader.release(0)
        assert outcomes({"slow": dict(reader.rest())[Key("slow")]}) == ["timed_out"]


def test_several_threads_ask_at_once_each_by_a_reader_of_its_own(tmp_path: Path) -> None:
    told: list[str] = []

    def ask() -> None:
        with asking(service.path, fine("one")) as reader:
            told.extend(outcomes(read(reader, "one")))

    with listening(tmp_path, fine("one")) as service:
        threads = [Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert told == ["ok"] * 8


def test_a_snapshot_tells_whose_rights_and_key_it_was_read_with(tmp_path: Path) -> None:
    theirs = Host(redactor=Redactor(b"the key of the service"))
    with listening(tmp_path, fine("one"), host=theirs) as service, asking(service.path, fine("one")) as reader:
        taken = take_snapshot(reader, [Job("one")], "another key", 15)
    assert taken.provenance.redaction_key == theirs.redactor.key_id
    assert (taken.provenance.uid, taken.provenance.fingerprint) == (os.geteuid(), __version__)


def test_of_samples_only_what_moves_is_read(tmp_path: Path) -> None:
    both: Probe[Section] = Probe("both", "host", Area, lambda *_: Area(value=1), 5, "border", lambda *_: Area(value=2))
    with listening(tmp_path, both) as service:
        for sample in (False, True):
            with asking(service.path, both, sample=sample) as reader:
                assert read(reader, "both")["both"].section(Area) == Area(value=1 + sample)


def test_it_tells_a_tree(tmp_path: Path) -> None:
    with listening(tmp_path, fine("process")) as service, asking(service.path) as reader:
        assert Target("main", os.getpid()) in reader.tree(Target("main", os.getpid()), 15)


# What hangs.


def test_what_hangs_is_timed_out_and_killed_and_the_rest_is_read(tmp_path: Path) -> None:
    probes = fine("first"), stuck("stuck"), fine("rest")
    with listening(tmp_path, *probes) as service, asking(service.path, *probes) as reader:
        found = read(reader, "first", "stuck", "rest")
        until(lambda: len(service.workers()) == 1)
    assert outcomes(found) == ["ok", "timed_out", "ok"]
    assert "its reader was killed" in found["stuck"].detail


@pytest.mark.root
def test_what_cannot_be_killed_is_left_behind_and_named_on_both_sides(
    tmp_path: Path, freezer: Callable[[], None]
) -> None:
    probes = fine("first"), a_probe("stuck", lambda _: freezer(), budget=0.3), fine("rest")
    with listening(tmp_path, *probes) as service, asking(service.path, *probes) as reader:
        found = read(reader, "first", "stuck", "rest")
        until(lambda: "cannot be killed: left behind in state" in service.journal)
    assert outcomes(found) == ["ok", "timed_out", "ok"]
    assert "cannot be killed and was left behind in state" in found["stuck"].detail


def test_of_a_stopped_service_nothing_is_said_to_hang_and_it_is_asked_again(tmp_path: Path) -> None:
    probes = fine("one"), fine("two")
    with listening(tmp_path, *probes) as service, asking(service.path, *probes) as reader:
        assert outcomes(read(reader, "one")) == ["ok"]
        for pid in (*service.workers(), service.pid):
            os.kill(pid, signal.SIGSTOP)
        found = read(reader, "one", "two", budget=0.2)
        os.kill(service.pid, signal.SIGCONT)
        assert outcomes(found) == ["skipped", "skipped"]
        assert "did not answer in time" in found["one"].detail
        assert not reader.hung
        assert outcomes(read(reader, "one", "two")) == ["ok", "ok"]


# The service goes, and comes back.


def test_whoever_waits_goes_on_when_the_connections_are_given_up_and_later_questions_fail_at_once(
    tmp_path: Path,
) -> None:
    probes = fine("one"), stuck("stuck", budget=60)
    with listening(tmp_path, *probes) as service:
        connections = Connections(str(service.path))
        reader = Reader(Host(), by_area(*probes), connections.workers())
        Timer(0.3, lambda: connections.give_up("it ends")).start()
        began = time.monotonic()
        told = read(reader, "stuck", "one", budget=60)
        assert {reading.detail for reading in (*told.values(), *read(reader, "one").values())} == {"it ends"}
        assert time.monotonic() - began < 5
        reader.close()


def test_without_a_service_all_has_failed_in_words_until_there_is_one(tmp_path: Path) -> None:
    service = Listening(tmp_path, by_area(fine("one"), fine("two")))
    with asking(service.path, fine("one"), fine("two")) as reader:
        found = read(reader, "one", "two")
        assert outcomes(found) == ["failed", "failed"]
        assert f"does not answer at {service.path} (No such file or directory)" in found["two"].detail
        assert "systemctl status fingerprint-reader" in found["two"].detail
        assert reader.tree(Target("main", os.getpid())) == ()
        service.start()
        assert outcomes(read(reader, "one", "two")) == ["ok", "ok"]
    service.end()


def test_a_service_that_dies_fails_what_it_read_and_is_found_again_when_it_is_back(tmp_path: Path) -> None:
    probes = fine("first"), stuck("slow", budget=60), fine("rest")
    service = Listening(tmp_path, by_area(*probes))
    service.start()
    with asking(service.path, *probes) as reader:
        reader.begin([Job("first"), Job("slow"), Job("rest")], 60)
        finished = dict(until(reader.step))
        workers = service.workers()
        service.end(signal.SIGKILL)
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        finished.update(reader.rest())
        assert finished[Key("first")].outcome == "ok"
        assert finished[Key("slow")].detail == "the reader process ended while it read this"
        assert "(Connection refused)" in finished[Key("rest")].detail
        service.start()
        assert outcomes(read(reader, "first", "rest")) == ["ok", "ok"]
    service.end()


def test_one_that_was_restarted_meanwhile_is_asked_as_if_nothing_had_been(tmp_path: Path) -> None:
    service = Listening(tmp_path, by_area(fine("one")))
    service.start()
    with asking(service.path, fine("one")) as reader:
        assert outcomes(read(reader, "one")) == ["ok"]
        service.end()
        service.start()
        assert outcomes(read(reader, "one")) == ["ok"]
    service.end()


def test_a_refusal_is_told_of_all_that_was_asked(tmp_path: Path) -> None:
    probes = fine("one"), fine("two")
    with (
        listening(tmp_path, *probes, most=1) as service,
        asking(service.path, *probes) as first,
        asking(service.path, *probes) as second,
    ):
        assert outcomes(read(first, "one")) == ["ok"]
        found = read(second, "one", "two")
        assert outcomes(found) == ["failed", "failed"]
        assert "refused: all of its 1 connections are in use" in found["two"].detail
        first.close()
        until(lambda: outcomes(read(second, "one", "two")) == ["ok", "ok"])


@contextmanager
def stand_in(path: Path, line: bytes) -> Iterator[None]:
    """Some other program at the socket, which greets everybody with that line."""
    with ExitStack() as held:
        listener = held.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen()

        def greet() -> None:
            with suppress(OSError):  # it was shut down
                while True:
                    held.enter_context(listener.accept()[0]).sendall(line)

        thread = Thread(target=greet)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            json.dumps(
                {
                    "type": "hello",
                    "pid": 7,
                    "provenance": {"fingerprint": "0.0.1", "python": "3.12.1", "uid": 0, "redaction_key": "k"},
                }
            ).encode()
            + b"\n",
            f"is fingerprint 0.0.1, and this is {__version__}: systemctl restart fingerprint-reader",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "speaks another language"),
        (b'{"type":"read","of":["one",""],"ms":1,"section":{}}\n', "speaks another language"),
    ],
)
def test_whoever_is_no_reader_of_this_release_is_not_listened_to(tmp_path: Path, line: bytes, words: str) -> None:
    path = tmp_path / "reader.sock"
    with stand_in(path, line), asking(path, fine("one")) as reader:
        found = read(reader, "one")
    assert found["one"].outcome == "failed"
    assert words in found["one"].detail


def test_a_service_that_accepts_and_says_nothing_costs_the_budget_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "reader.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        began = time.monotonic()
        with asking(path, fine("one")) as reader:
            for _ in range(3):  # its queue is full by then
                assert outcomes(read(reader, "one", budget=0.1)) in (["skipped"], ["failed"])
        assert time.monotonic() - began < 15
