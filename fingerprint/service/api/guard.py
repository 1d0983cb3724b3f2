"""Who may ask, how much and how long: around the application, for each place where it listens."""

import asyncio
import hmac
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

MOST_BODY_BYTES, BODY_SECONDS = 1 << 20, 10.0
LOG_SECONDS = 60.0
CLOSE = {"connection": "close"}
_log = logging.getLogger(__name__)


class Door(NamedTuple):
    """token: that whoever comes in this way must have; None on a socket that the kernel guards. hosts: names under
    which it may be asked for, so that no page of a browser gets here by a name of its own; None: any."""

    token: bytes | None = None
    hosts: frozenset[str] | None = None


class Counts:
    """What the API did. Written by its one thread alone."""

    def __init__(self) -> None:
        self.answers: Counter[int] = Counter()
        self.refused: Counter[str] = Counter()
        self.failures = 0
        self._logged = -LOG_SECONDS

    def failed(self, path: str, error: BaseException) -> None:
        """Told in the journal, once a minute at most."""
        self.failures += 1
        if time.monotonic() - self._logged >= LOG_SECONDS:
            self._logged = time.monotonic()
            _log.error("the API failed on %a, %d times so far", path[:200], self.failures, exc_info=error)


class Refusal(NamedTuple):
    status: int
    why: str
    says: str
    headers: Mapping[str, str] = {}


class Guard:
    """The application behind one door."""

    def __init__(self, app: App, door: Door, counts: Counts) -> None:
        self._app, self._door, self._counts = app, door, counts

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(send, self._counts)
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refused = self._refused(headers)
        if refused:
            self._counts.refused[refused.why] += 1
            told = JSONResponse({"error": refused.says}, refused.status, {**refused.headers, **CLOSE})
            await told(scope, receive, answer.send)
            return
        try:
            await self._app(scope, _Body(receive).receive, answer.send)
        except Exception as error:  # whatever it is, whoever asked is told, and others are served on
            self._counts.failed(scope["path"], error)
            if not answer.over:
                raise

    def _refused(self, headers: Mapping[bytes, bytes]) -> Refusal | None:
        if self._door.hosts is not None and _host(headers) not in self._door.hosts:
            return Refusal(421, "host", "this service does not go by that name: ask for localhost")
        if self._door.token is not None and not _has(headers, self._door.token):
            said = "Authorization: Bearer TOKEN, with the one in service.token_file"
            return Refusal(401, "token", f"this needs {said}", {"www-authenticate": "Bearer"})
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > MOST_BODY_BYTES:
            return Refusal(413, "size", f"what is sent may hold {MOST_BODY_BYTES >> 20} MiB")
        return None


class _Answer:
    """over: whether all of it was sent."""

    def __init__(self, send: Send, counts: Counts) -> None:
        self._send, self._counts, self.over = send, counts, False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._counts.answers[message["status"]] += 1
        await self._send(message)
        self.over = message["type"] == "http.response.body" and not message.get("more_body", False)


class _Body:
    """What is sent, up to a size and a time. Raises HTTPException beyond."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0
        self._ends = time.monotonic() + BODY_SECONDS
        self._whole = False

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._ends - time.monotonic())
        except asyncio.TimeoutError:
            raise HTTPException(408, f"the request did not arrive within {BODY_SECONDS:g} s", CLOSE) from None
        self._bytes += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._bytes > MOST_BODY_BYTES:
            raise HTTPException(413, f"what is sent may hold {MOST_BODY_BYTES >> 20} MiB", CLOSE)
        return message


def _host(headers: Mapping[bytes, bytes]) -> str:
    """Without its port."""
    name = headers.get(b"host", b"").decode("latin-1").lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _has(headers: Mapping[bytes, bytes], token: bytes) -> bool:
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    return hmac.compare_digest(given.strip(), token) and scheme.lower() == b"bearer"
