"""What the command line asks of a service that runs on this host.

The standard library alone. Nobody waits for a service that hangs: whether it answers at all is found out within
`ALIVE_SECONDS`, and one that once did not is asked no more.
"""

import json
import os
import stat
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from http.client import HTTPResponse

SOCKET = "/run/fingerprint/api.sock"
VARIABLE = "FINGERPRINT_SOCKET"
ALIVE_SECONDS, ANSWER_SECONDS = 1.0, 60.0
MOST_BYTES = 1 << 28


def samples_beside(api: str) -> str:
    """The socket that a service has beside its API's."""
    return f"{api.removesuffix('.sock')}.samples"


class NoAnswer(Trouble):
    """The service is there and does not answer: it hangs, or is none."""


class Refused(Trouble):
    """It answered that it will not, or cannot. status: as in HTTP."""

    def __init__(self, status: int, says: str) -> None:
        super().__init__(says)
        self.status = status


class Client:
    """One service. Raises Refused, and NoAnswer from then on when it did not answer once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._alive: bool | None = None
        self._why = ""

    @classmethod
    def if_there(cls, environ: Mapping[str, str] = os.environ, path: str = SOCKET) -> "Client | None":
        """None where there is no socket, or not for this user: one stat(2), and access(2) where there is.

        FINGERPRINT_SOCKET names another than `path`; empty, there is none.
        """
        path = environ.get(VARIABLE, path)
        try:
            usable = bool(path) and stat.S_ISSOCK(os.stat(path).st_mode) and os.access(path, os.W_OK)
        except (OSError, ValueError):
            return None
        return cls(path) if usable else None

    @property
    def samples(self) -> str:
        """Where it tells what moves of the host (`service.samples`)."""
        return samples_beside(self.path)

    def greet(self) -> None:
        """Whether it answers at all. Raises NoAnswer."""
        if self._alive is None:
            self._answered("GET", "/v1/version", None, ALIVE_SECONDS)
        if self._why:
            raise NoAnswer(self._why)

    def get(self, path: str, seconds: float = ANSWER_SECONDS, **asked: Any) -> bytes:
        return self._asked("GET", _url(path, asked), None, seconds)

    def post(self, path: str, sent: Any = None, seconds: float = ANSWER_SECONDS, **asked: Any) -> bytes:
        return self._asked("POST", _url(path, asked), None if sent is None else json.dumps(sent).encode(), seconds)

    def delete(self, path: str, seconds: float = ANSWER_SECONDS) -> bytes:
        return self._asked("DELETE", path, None, seconds)

    def _asked(self, method: str, url: str, body: bytes | None, seconds: float) -> bytes:
        self.greet()
        return self._answered(method, url, body, seconds)

    def _answered(self, method: str, url: str, body: bytes | None, seconds: float) -> bytes:
        from http.client import HTTPConnection, HTTPException

        from fingerprint.service.within import connected

        connection = HTTPConnection("localhost")
        try:
            connection.sock = connected(self.path, time.monotonic() + seconds)
            headers = {"content-type": "application/json"} if body is not None else {}
            connection.request(method, url, body, headers)
            response = connection.getresponse()
            self._alive = True
            return _content(response)
        except (OSError, HTTPException) as error:
            why = "in time" if isinstance(error, (TimeoutError, BlockingIOError)) else f"({_words(error)})"
            self._alive = False
            self._why = f"the service at {self.path} did not answer {why}: see `systemctl status fingerprint`"
            raise NoAnswer(self._why) from None
        finally:
            connection.close()


def _url(path: str, asked: Mapping[str, Any]) -> str:
    """What is None is not asked for; of several values each."""
    from urllib.parse import urlencode

    given = {name: value for name, value in asked.items() if value is not None}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def named(*parts: str) -> str:
    """A path below /v1; what stands in it may hold anything."""
    from urllib.parse import quote

    return "/".join(("/v1", *(quote(part, safe="") for part in parts)))


def _content(response: "HTTPResponse") -> bytes:
    content = response.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(None, f"more than {MOST_BYTES >> 20} MiB")
    if response.status >= 400:
        raise Refused(response.status, f"the service refused: {_error(content)}")
    return content


def _error(content: bytes) -> str:
    try:
        says = json.loads(content)["error"]
    except (ValueError, TypeError, KeyError):
        says = content[:200].decode("utf-8", "backslashreplace")
    return str(says)


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
