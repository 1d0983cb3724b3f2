"""The reader service answers who may ask, what may be asked, redacted; and nobody who asks can hold it up."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from fingerprint.fork import fork_bare
from fingerprint.reader import Reader
from fingerprint.reader.remote import connect
from fingerprint.reader.wire import LINE_CAP
from fingerprint.service import workers
from fingerprint.service.reading import MOST
from fingerprint.snapshot import Job
from probes.kit.host import Host
from probes.kit.probe import discover
from probes.kit.redact import Redactor
from tests.nvml.drivers import NEWEST
from tests.nvml.fake import FakeNvml
from tests.nvml.profiles import host_of
from tests.nvml.scenario import HANG
from tests.service.listening import Area, Peer, a_probe, ask, by_area, fine, heard, listening, peer, stuck
from tests.waiting import until

PLAIN = 65534


# What can be asked.


def test_an_area_of_a_target_is_read_and_told(tmp_path: Path) -> None:
    of = a_probe("of", lambda target: Area(value=target.pid), of="process")
    with listening(tmp_path, of) as service:
        begin, read = heard(service, ask(["of", "main", 42]), 2)
    assert begin == {"type": "begin", "of": ["of", "main"]}
    assert (read["type"], read["of"], read["section"]) == ("read", ["of", "main"], {"value": 42})


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (["nope", "", 0], "this reader reads no such area: there are one, two"),
        (["", "", 0], "this reader reads no such area"),
        (["../one", "", 0], "this reader reads no such area"),
        (["/etc/shadow", "", 0], "this reader reads no such area"),
        (["one", "/etc/shadow", 1], "a target's name has no slash"),
        (["one", "../../etc/shadow", 1], "a target's name has no slash"),
        (["one", "main\0", 1], "nothing unprintable"),
        (["one", "m" * 513, 1], "at most 512 characters"),
        (["one", "main", -1], "this is no process id"),
        (["one", "main", 1 << 22 | 1], "they go from 1 to 4194304, and the host is 0"),
        (["one", "main", 10**4000], "this is no process id"),
        (["one", "main", 0], "a target has a name and a process id, and the host neither"),
        (["one", "", 1], "a target has a name and a process id, and the host neither"),
    ],
)
def test_what_may_not_be_asked_is_refused_in_words_and_the_rest_is_read(
    tmp_path: Path, job: list[Any], words: str
) -> None:
    with listening(tmp_path, fine("one"), fine("two")) as service:
        failed, _, read = heard(service, ask(job, ["two", "", 0]), 3)
    assert failed["type"] == "failed"
    assert failed["of"] == job[:2]
    assert words in failed["why"]
    assert read["of"] == ["two", ""]


@pytest.mark.parametrize(
    "content",
    [
        b'{"type":"ask","jobs":[["one","main","42"]]}\n',
        b'{"type":"ask","jobs":[["one","main",4.2]]}\n',
        b'{"type":"ask","jobs":[["one","main",true]]}\n',
        b'{"type":"ask","jobs":[["one","main",' + b"9" * 5000 + b"]]}\n",
        b'{"type":"ask","jobs":[["one","main"]]}\n',
        b'{"type":"ask","jobs":[["one","main",1,"/etc/shadow"]]}\n',
        b'{"type":"ask","jobs":"one"}\n',
        b'{"type":"ask tree","name":"main","pid":"1"}\n',
        b'{"type":"ask tree","name":"/etc","pid":1}\n',
        b'{"type":"open","path":"/etc/shadow"}\n',
        b"[]\n",
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\x00" * 1000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"type":"ask","jobs":[' + b'["one","",0],' * 30_000 + b"\n",
    ],
)
def test_what_is_no_question_is_refused_and_the_next_peer_is_answered(tmp_path: Path, content: bytes) -> None:
    with listening(tmp_path, fine("one"), fine("process")) as service:
        with peer(service) as one:
            with suppress(BrokenPipeError, ConnectionResetError):
                one.write(content)
            refused = one.hear()
            assert refused["type"] == "refused"
            assert refused["why"]
            assert one.hear() is None
        assert heard(service, ask(["one", "", 0]), 2)[1]["section"] == {"value": 1}


def test_a_line_without_an_end_is_refused_at_its_cap(tmp_path: Path) -> None:
    with listening(tmp_path, fine("one")) as service, peer(service) as one:
        sent = 0
        with suppress(BrokenPipeError, ConnectionResetError):
            while sent < 64 << 20:
                one.write(b"x" * (1 << 16))
                sent += 1 << 16
        assert sent < 4 << 20
        assert one.hear() == {
            "type": "refused",
            "why": f"this is no question: the line is longer than {LINE_CAP >> 10} KiB",
        }


# What is told.


@contextmanager
def with_secrets() -> Iterator[int]:
    """A process that was given the same secret in three ways."""
    code = "import sys; print(flush=True); sys.stdin.read()"
    env = {"MY_PASSWORD": SECRET, "HF_TOKEN": SECRET, "NCCL_DEBUG": "INFO"}
    argv = [sys.executable, "-c", code, f"--api-key={SECRET}", "--token", SECRET, f"https://me:{SECRET}@host/"]
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        process.kill()


SECRET = "hunter2-and-more"


def test_no_secret_of_a_process_is_in_the_bytes_on_the_socket(tmp_path: Path) -> None:
    of_process = [probe for probe in discover().values() if probe.of != "host"]
    with with_secrets() as pid, listening(tmp_path, *of_process) as service, peer(service) as one:
        one.send(ask(*([probe.area, "main", pid] for probe in of_process)))
        one.send({"type": "ask tree", "name": "main", "pid": pid})
        told = b""
        while b'"type":"tree"' not in told:
            told += one.socket.recv(1 << 16)
    assert b"NCCL_DEBUG" in told
    assert b"MY_PASSWORD" in told
    assert SECRET.encode() not in told


def test_what_a_probe_stumbled_over_is_told_by_its_place_and_not_in_its_words(tmp_path: Path) -> None:
    with listening(tmp_path, a_probe("one", lambda _: int(SECRET))) as service:
        _, failed = heard(service, ask(["one", "", 0]), 2)
    assert failed["type"] == "failed"
    assert failed["why"].startswith("ValueError in test_reading.py, line ")


def test_whose_key_digests_is_told_and_the_key_is_not(tmp_path: Path) -> None:
    host = Host(redactor=Redactor(SECRET.encode()))
    with listening(tmp_path, fine("one"), host=host) as service:
        one = Peer(service.path)
        hello = one.hear()
        one.close()
    assert hello["provenance"]["redaction_key"] == host.redactor.key_id
    assert SECRET not in str(hello)


# Who may ask.


def as_plain_user(act: Callable[[], Any]) -> None:
    """What it asserts holds of a user without any right."""

    def body() -> None:
        os.setgroups([])
        os.setgid(PLAIN)
        os.setuid(PLAIN)
        try:
            act()
        except BaseException:  # noqa: BLE001  # pytest's own handlers must not run in the fork
            os._exit(1)

    pid = fork_bare([], body)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("allowed", [[], [PLAIN]])
def test_another_user_is_refused_by_the_kernels_word_unless_he_is_the_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: list[int]
) -> None:
    def try_it() -> None:
        one = Peer(Path("reader.sock"))
        told = one.hear()
        assert told["type"] == ("hello" if allowed else "refused"), told
        if allowed:
            one.send(ask(["one", "", 0]))
            assert one.hear()["type"] == "begin"
        else:
            assert f"user {PLAIN} may not ask this reader" in told["why"]
            assert one.hear() is None

    with listening(tmp_path, fine("one"), allowed=allowed) as service:
        monkeypatch.chdir(tmp_path)
        tmp_path.chmod(0o755)
        assert stat.S_IMODE(service.path.stat().st_mode) == 0o660
        service.path.chmod(0o666)  # else the file system refuses him before it is asked
        as_plain_user(try_it)
        told = f"refused a connection: user {PLAIN} may not ask this reader"
        assert (told in service.journal) is not bool(allowed)


# Nobody holds it up.


def test_of_a_hundred_connections_as_many_as_may_be_are_served_and_the_others_refused_in_words(tmp_path: Path) -> None:
    with listening(tmp_path, fine("one")) as service:
        folder = Path(f"/proc/{service.pid}/fd")
        before = len(list(folder.iterdir()))
        peers = [Peer(service.path) for _ in range(100)]
        greetings = [one.hear() for one in peers]
        assert [told["type"] for told in greetings].count("hello") == MOST
        assert {told["why"] for told in greetings if told["type"] == "refused"} == {
            f"all of its {MOST} connections are in use"
        }
        assert len(service.workers()) == MOST
        assert len(service.journal.splitlines()) == 1
        for one in peers:
            one.close()
        until(lambda: len(list(folder.iterdir())) == before)
        assert heard(service, ask(["one", "", 0]), 2)[1]["section"] == {"value": 1}


@pytest.mark.long
def test_a_thousand_peers_that_come_and_go_leave_nothing(tmp_path: Path) -> None:
    with listening(tmp_path, fine("one"), stuck("stuck")) as service:
        folder = Path(f"/proc/{service.pid}/fd")
        before = len(list(folder.iterdir()))
        for turn in range(1000):
            one = Peer(service.path)
            if turn % 3:
                with suppress(OSError):  # it was refused
                    one.send(ask([("one", "stuck")[turn % 2], "", 0]))
            one.close()
        until(lambda: len(list(folder.iterdir())) == before)
        until(lambda: not service.workers())


def test_whoever_hangs_up_ends_what_was_read_for_him_alone(tmp_path: Path) -> None:
    with listening(tmp_path, stuck("stuck"), fine("one")) as service, peer(service) as other:
        with peer(service) as one:
            one.send(ask(["stuck", "", 0]))
            assert one.hear()["type"] == "begin"
            assert len(service.workers()) == 2
        until(lambda: len(service.workers()) == 1)
        other.send(ask(["one", "", 0]))
        assert [other.hear()["type"] for _ in range(2)] == ["begin", "read"]


def test_whoever_never_reads_is_left_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "UNREAD_SECONDS", 1)
    with listening(tmp_path, fine("one")) as service, peer(service) as one:
        one.send(ask(*[["one", "", 0]] * 15_000))
        [worker] = service.workers()
        held = until(lambda: _blocked(worker) and _resident(worker))
        assert held < _resident(service.pid) + (32 << 20)
        until(lambda: not service.workers())
        assert b"refused" not in one.hear_out()


def _blocked(pid: int) -> bool:
    return Path(f"/proc/{pid}/wchan").read_text().startswith("sock_alloc_send")


def _resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.root
def test_more_that_are_stuck_than_it_serves_at_once_are_not_made(tmp_path: Path, freezer: Callable[[], None]) -> None:
    with listening(tmp_path, a_probe("stuck", lambda _: freezer()), fine("one"), most=1) as service:
        with peer(service) as one:
            one.send(ask(["stuck", "", 0]))
            assert one.hear()["type"] == "begin"
            [worker] = service.workers()
            until(lambda: "refrigerator" in Path(f"/proc/{worker}/wchan").read_text())
        until(lambda: f"reader process {worker} cannot be killed: left behind in state D" in service.journal)
        last = Peer(service.path)
        assert last.hear()["why"] == "1 of its processes are stuck in the kernel, and more would be"
        last.close()


def test_a_worker_holds_nothing_of_the_service_but_its_own_socket(tmp_path: Path) -> None:
    with listening(tmp_path, fine("one")) as service, peer(service), peer(service):
        for worker in service.workers():
            held = [os.readlink(link).partition(":")[0] for link in Path(f"/proc/{worker}/fd").iterdir()]
            assert sorted(held) == ["/dev/null"] * 3 + ["socket"]
            assert os.getsid(worker) == worker


def test_a_call_of_nvml_that_hangs_holds_up_neither_service_nor_asker(tmp_path: Path, fake_nvml: FakeNvml) -> None:
    fake = fake_nvml(host_of("H100 SXM", 2, NEWEST))
    fake.put(fake.devices[1], "nvmlDeviceGetUUID", HANG)
    gpu = discover(["gpu"])["gpu"]
    host = fake.host(budget_s=0.8, gpu_budget_s=0.4)
    with listening(tmp_path, gpu, fine("one"), host=host) as service:
        reader = Reader(Host(), by_area(gpu, fine("one")), connect(str(service.path)))
        found = {key.area: reading for key, reading in reader.read([Job("gpu"), Job("one")], 15)}
        reader.close()
        until(lambda: not service.workers())
    section: Any = found["gpu"].section(gpu.section)
    assert found["one"].outcome == "ok"
    assert found["gpu"].outcome == "ok"
    assert "in nvmlDeviceGetUUID" in str(section)
