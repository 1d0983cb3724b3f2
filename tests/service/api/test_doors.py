"""Who may not, may not."""

import os
import pwd
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fingerprint.fork import fork_bare
from fingerprint.service.api.listening import serve, token, unix_socket
from fingerprint.settings import Service as ServiceSettings
from fingerprint.settings import Settings
from fingerprint.trouble import Trouble
from tests.service.api.conftest import TOKEN, Api


def test_the_socket_is_for_its_owner_and_group(api: Api) -> None:
    assert stat.S_IMODE(api.path.stat().st_mode) == 0o660


@pytest.mark.root
def test_another_user_cannot_connect(api: Api, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        os.chmod(folder, 0o755)
    nobody = pwd.getpwnam("nobody").pw_uid

    def connect() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(nobody)
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(api.path))
            except PermissionError:
                os._exit(77)

    assert os.waitstatus_to_exitcode(os.waitpid(fork_bare([], connect), 0)[1]) == 77


@pytest.mark.parametrize(
    "given", ["", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer", "Bearer é", f"bearer{TOKEN}"]
)
def test_on_tcp_nothing_is_answered_without_the_token(api: Api, given: str) -> None:
    headers = {"authorization": given} if given else {}
    for path in ("/v1/version", "/metrics", "/openapi.json", "/no-such-page"):
        answer = api("GET", path, tcp=True, **headers)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.content.decode()
    assert api("POST", "/v1/snapshot", tcp=True, **headers).status == 401
    assert api.service.taken == 0
    assert api.servers.counts.refused["token"] == 5


def test_on_tcp_the_token_opens(api: Api) -> None:
    assert api("GET", "/v1/version", tcp=True, authorization=f"Bearer {TOKEN}").status == 200
    assert api("GET", "/v1/version", tcp=True, authorization=f"bearer  {TOKEN} ").status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io", "[::2]"])
def test_a_foreign_host_header_is_refused_even_with_the_token(api: Api, host: str) -> None:
    answer = api("GET", "/v1/version", tcp=True, authorization=f"Bearer {TOKEN}", host=host)
    assert answer.status == 421
    assert "access-control-allow-origin" not in answer.headers


def test_no_page_of_another_origin_may_read_an_answer(api: Api) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "origin": "https://evil.example"}
    answer = api("GET", "/v1/version", tcp=True, **headers)
    assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = api("OPTIONS", "/v1/snapshot", tcp=True, **headers)
    assert preflight.status == 405


OUTSIDE = [
    "/etc/passwd",
    "../../etc/passwd",
    "..",
    ".",
    "a/b",
    "store.db",
    "%00",
    "run-A\x00",
    "~root",
    "file:///etc/passwd",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_never_means_a_file(api: Api, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.parse import quote

    monkeypatch.chdir(api.service.path.parent)  # where store.db is
    quoted = quote(name, safe="")
    for path in (f"/v1/runs/{quoted}", f"/v1/runs/{quoted}/export", f"/v1/diff?a={quoted}&b={quoted}"):
        answer = api("GET", path)
        assert answer.status == 404, (path, answer)
        assert answer.json.keys() == {"error"}
    assert api("POST", "/v1/gate", {"baseline": name}).status == 404


def test_an_export_of_a_run_that_lies_in_the_working_folder_is_not_read(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api.post("/v1/runs", {"name": "run-A", "pid": os.getpid()}, status=201)
    (tmp_path / "stolen").write_bytes(api("GET", "/v1/runs/run-A/export").content)
    monkeypatch.chdir(tmp_path)
    assert api("GET", "/v1/runs/stolen").status == 404


def refused(path: Path, **asked: object) -> str:
    settings = Settings(service=ServiceSettings(socket=str(path / "api.sock"), **asked))  # type: ignore[arg-type]
    with pytest.raises(Trouble) as trouble:
        serve(None, settings)  # type: ignore[arg-type]  # it comes to no answer
    return str(trouble.value)


def a_token(path: Path, text: str = TOKEN, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_tcp_is_of_this_host_alone_unless_something_encrypts(tmp_path: Path) -> None:
    file = a_token(tmp_path / "token")
    assert "no address of this host itself" in refused(tmp_path, tcp="0.0.0.0:0", token_file=file)
    assert "no address of this host itself" in refused(tmp_path, tcp="[::]:0", token_file=file)
    assert "needs a token" in refused(tmp_path, tcp="127.0.0.1:0")
    assert "must be an address and a port" in refused(tmp_path, tcp="localhost:http", token_file=file)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: a_token(path, mode=0o640), "can be read by others: chmod 600"),
        (lambda path: a_token(path, "short"), "holds no token of 16 printable characters"),
        (lambda path: a_token(path, "a token of several words"), "holds no token of 16 printable characters"),
        (lambda path: path.mkdir(mode=0o700), "Is a directory"),
        (lambda path: os.mkfifo(path, 0o600), "holds no token"),
        (lambda path: None, "No such file or directory"),
    ],
)
def test_a_token_that_is_no_secret_is_refused(tmp_path: Path, make: Callable[[Path], object], says: str) -> None:
    make(tmp_path / "token")
    with pytest.raises(Trouble, match=says):
        token(tmp_path / "token")


def test_the_place_of_a_dead_service_is_taken_and_that_of_a_living_one_is_not(tmp_path: Path, api: Api) -> None:
    path = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    unix_socket(path, "no-such-group").close()
    with pytest.raises(Trouble, match="is listened on by another process"):
        unix_socket(api.path, "no-such-group")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(Trouble, match="is no socket"):
        unix_socket(tmp_path / "file", "no-such-group")
    assert (tmp_path / "file").read_text() == "precious"
