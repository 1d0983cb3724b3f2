"""What a server answers, however it answers: a value or a gap, in time, and nothing goes anywhere else."""

import gzip
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from probes.kit.facts import Document, Gap, Seen
from probes.kit.host import Host
from tests.kit.test_host import plain_user

Answer = Callable[[socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\n"
SECONDS = 2.5  # of a busy machine; the question itself takes 1.2 at most


@contextmanager
def answering(
    answer: Answer, family: int = socket.AF_INET, address: str = "127.0.0.1"
) -> Iterator[tuple[str, list[bytes]]]:
    """Where it listens, and what was sent there."""
    sent: list[bytes] = []
    with socket.create_server((address, 0), family=family) as listening:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                with peer:
                    sent.append(peer.recv(1 << 16))
                    try:
                        answer(peer)
                    except OSError:
                        continue  # it was hung up

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"{address}:{listening.getsockname()[1]}", sent
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def saying(data: bytes) -> Answer:
    return lambda peer: peer.sendall(data)


def whole(body: bytes, status: bytes = OK, headers: bytes = b"") -> Answer:
    return saying(status + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def asked(answer: Answer, path: str = "/props", pattern: str = "") -> Seen[Document]:
    with answering(answer) as (at, _):
        return Host().http(os.getpid(), at, path, pattern)


def without_end(start: bytes, each: bytes, pause: float = 0.0) -> Answer:
    def answer(peer: socket.socket) -> None:
        peer.sendall(start)
        while True:
            peer.sendall(each)
            time.sleep(pause)

    return answer


def test_json_is_told_and_nothing_but_the_path_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with answering(whole(b'{"n_ctx": 512}')) as (at, sent):
        assert Host().http(os.getpid(), at, "/props") == Document({"n_ctx": 512})
    assert sent == [b"GET /props HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n"]


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    assert asked(saying(OK + b"\r\n[1]")) == Document([1])


def test_chunks_that_were_not_asked_for_are_put_together() -> None:
    assert asked(saying(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n")) == Document([1])


def test_over_ipv6_as_well() -> None:
    try:
        with answering(whole(b"[6]"), socket.AF_INET6, "::1") as (at, _):
            assert Host().http(os.getpid(), at, "/") == Document([6])
    except OSError:
        pytest.skip("no IPv6 here")


def test_secrets_are_digests_by_their_name_and_by_their_shape() -> None:
    told = asked(whole(b'{"api_key": "hunter2", "states": [{"hf_token": "hunter2"}], "url": "http://me:hunter2@x/"}'))
    assert isinstance(told, Document)
    assert "hunter2" not in repr(told)
    assert told.value["api_key"]["$"] == "hmac"


def test_a_secret_behind_its_flag_in_a_list_is_a_digest_and_the_other_words_are_not() -> None:
    told = asked(whole(b'{"args": ["--tp", "2", "--api-key", "hunter2", "hunter3"], "sizes": [1, "--api-key", "x"]}'))
    assert isinstance(told, Document)
    assert "hunter" not in repr(told)
    assert told.value["args"][:3] == ["--tp", "2", "--api-key"]
    assert told.value["sizes"] == [1, "--api-key", "x"]


def test_of_a_text_the_lines_that_are_wanted_are_told() -> None:
    body = b'vllm:a_total{x="1"} 3\n# HELP vllm:a_total\nother 1\nvllm:b{api_key="hunter2"} 4\n'
    assert asked(whole(body), pattern="vllm:") == Document(['vllm:a_total{x="1"} 3'])


@pytest.mark.parametrize(
    ("answer", "gap", "words"),
    [
        (whole(b"{}", b"HTTP/1.1 401 Unauthorized\r\n"), "denied", "wants a key"),
        (whole(b"{}", b"HTTP/1.1 403 Forbidden\r\n"), "denied", "403"),
        (whole(b"{}", b"HTTP/1.1 404 Not Found\r\n"), "unsupported", "404"),
        (whole(b"{}", b"HTTP/1.1 501 Not Implemented\r\n"), "unsupported", "501"),
        (whole(b"{}", b"HTTP/1.1 503 Service Unavailable\r\n"), "settling", "not serve yet"),
        (whole(b"{}", b"HTTP/1.1 500 Internal Server Error\r\n"), "failed", "500"),
        (whole(b"no json"), "failed", "JSON"),
        (whole(b"[" * 100 + b"]" * 100), "failed", "deeper"),
        (whole(b"[" * 200_000), "failed", ""),
        (whole(b"\xff\xfe{"), "failed", ""),
        (saying(OK + b"Content-Length: 9\r\n\r\n[1]"), "failed", "breaks off"),
        (saying(OK + b"Content-Length: -9\r\n\r\n[1"), "failed", ""),
        (saying(os.urandom(4096)), "failed", "no answer of HTTP"),
        (saying(b"\x16\x03\x01\x02\x00\x01\x00\x01"), "failed", "no answer of HTTP"),
        (saying(b""), "failed", "no answer of HTTP"),
        (whole(gzip.compress(bytes(50 << 20), 1), headers=b"Content-Encoding: gzip\r\n"), "failed", "packed"),
        (saying(OK + b"Content-Length: 100000000\r\n\r\n" + b"[" * (2 << 20)), "failed", "more than 1 MiB"),
        (without_end(OK + b"\r\n", b"x" * 65536), "failed", "more than 1 MiB"),
        (without_end(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b"x" * 32768 + b"\r\n"), "failed", ""),
        (without_end(OK, b"X-More: and more\r\n"), "failed", "headers"),
        (without_end(OK, b"x" * 65536), "failed", "no answer of HTTP"),
        (without_end(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000), "failed", "more than 1 MiB"),
    ],
)
def test_whatever_else_it_answers_is_a_gap_in_time(answer: Answer, gap: str, words: str) -> None:
    began = time.monotonic()
    told = asked(answer)
    assert time.monotonic() - began < SECONDS
    assert isinstance(told, Gap)
    assert (told.code, words in told.detail) == (gap, True), told


@pytest.mark.parametrize(
    "answer",
    [b"my-own-words\r\n", b"HTTP/my-own-words\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\nmy-own-words\r\n"],
    ids=["status", "version", "chunk"],
)
def test_a_gap_does_not_quote_what_was_answered(answer: bytes) -> None:
    told = asked(saying(answer))
    assert isinstance(told, Gap)
    assert "own" not in told.detail


@pytest.mark.parametrize(
    "answer",
    [
        without_end(OK + b"\r\n", b" ", 0.05),
        without_end(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.05),
        without_end(b"", b"H", 0.05),
        lambda _peer: time.sleep(1.3),
    ],
    ids=["body", "chunks", "status", "silence"],
)
def test_one_that_is_slow_is_given_up_after_a_second(answer: Answer) -> None:
    began = time.monotonic()
    told = asked(answer)
    assert 0.9 < time.monotonic() - began < SECONDS
    assert told == Gap("timed_out")


def test_one_that_accepts_nobody_is_given_up_sooner() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        began = time.monotonic()
        assert Host().http(os.getpid(), f"127.0.0.1:{full.getsockname()[1]}", "/") == Gap("timed_out")
        assert time.monotonic() - began < 0.9


def test_nobody_there_is_a_gap() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert Host().http(os.getpid(), f"127.0.0.1:{port}", "/") == Gap("failed")


@pytest.mark.parametrize("status", [b"301 Moved", b"302 Found", b"307 Temporary Redirect", b"308 Permanent Redirect"])
def test_a_redirect_is_not_followed_and_its_target_sees_nothing(status: bytes) -> None:
    with answering(whole(b"{}")) as (target, sent):
        told = asked(whole(b"{}", b"HTTP/1.1 " + status + b"\r\n", f"Location: http://{target}/\r\n".encode()))
        assert told == Gap("failed")
        assert isinstance(told, Gap)
        assert "names another address" in told.detail
        assert sent == []


def test_a_plain_user_asks_as_well() -> None:
    import_module("probes.kit.http")  # it may lie, as the interpreter may, where root alone reads
    with answering(whole(b"[1]")) as (at, _), plain_user():
        assert Host().http(os.getpid(), at, "/") == Document([1])


APART = """
import socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    while True:
        peer, _ = listening.accept()
        peer.recv(4096)
        peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\n[7]")
        peer.close()
"""


@contextmanager
def apart() -> Iterator[tuple[int, str]]:
    """A server in a network namespace of its own: its pid, and where it listens."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("needs unshare(1) and ip(8)")
    argv = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-n", sys.executable, "-c", APART]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        port = process.stdout.readline().decode().strip()
        try:
            if not port:
                pytest.skip("no network namespace may be made here")
            yield process.pid, f"127.0.0.1:{port}"
        finally:
            process.kill()


def test_a_server_in_another_network_namespace_is_asked_there_or_is_a_gap_with_its_reason() -> None:
    with apart() as (pid, at):
        told = Host().http(pid, at, "/")
    if isinstance(told, Gap):
        assert told == Gap("denied")
        assert "network namespace" in told.detail
    else:
        assert told == Document([7])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may enter it")
def test_root_enters_and_is_where_it_was_afterwards() -> None:
    ours = os.readlink("/proc/self/ns/net")
    with apart() as (pid, at):
        assert Host().http(pid, at, "/") == Document([7])
        with plain_user():
            refused: Any = Host().http(pid, at, "/")
            assert refused == Gap("denied")
    assert os.readlink("/proc/self/ns/net") == ours
