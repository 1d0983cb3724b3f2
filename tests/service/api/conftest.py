"""The API as whoever asks meets it: uvicorn on a real socket."""

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from fingerprint.service.api.listening import Servers, serve
from fingerprint.settings import Service as ServiceSettings
from fingerprint.settings import Settings
from tests.service.api.small import Small

TOKEN = "0123456789abcdef-a-secret"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class Api:
    """One service that answers on a Unix socket and on TCP."""

    def __init__(self, service: Small, servers: Servers, socket_path: Path) -> None:
        self.service, self.servers, self.path = service, servers, socket_path

    @property
    def tcp(self) -> tuple[str, int]:
        host, port = self.servers.addresses[1][:2]
        return host, port

    def connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(str(self.path))
        return connection

    def __call__(self, method: str, path: str, sent: Any = None, tcp: bool = False, **headers: str) -> Answer:
        connection = HTTPConnection(*self.tcp, timeout=60) if tcp else HTTPConnection("localhost")
        if not tcp:
            connection.sock = self.connected()
        body = sent if isinstance(sent, bytes) or sent is None else json.dumps(sent)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named.setdefault("content-type", "application/json")
        connection.request(method, path, body, named)
        response = connection.getresponse()
        answer = Answer(response.status, dict(response.getheaders()), response.read())
        connection.close()
        return answer

    def get(self, path: str, **more: Any) -> Any:
        answer = self("GET", path, **more)
        assert answer.status == 200, answer
        return answer.json

    def post(self, path: str, sent: Any = None, status: int = 200) -> Any:
        answer = self("POST", path, sent)
        assert answer.status == status, answer
        return answer.json


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    path = tmp_path / "run" / "api.sock"
    asked = ServiceSettings(socket=str(path), group="no-such-group", tcp="127.0.0.1:0", token_file=str(token))
    service = Small(tmp_path / "store.db")
    servers = serve(service, msgspec.structs.replace(Settings(), service=asked))
    yield Api(service, servers, path)
    servers.stop()
    service.close()
