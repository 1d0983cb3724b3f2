"""What happened on the host: what is kept of it, and as it happens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Annotated, get_args

import msgspec
from fastapi import APIRouter, Header, HTTPException, Query
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from fingerprint.service.api.answers import Asked, Moment, listed_as, written
from fingerprint.service.api.asked import Service
from fingerprint.service.api.lines import Light, Line
from fingerprint.service.broadcast import Broadcast, Listener
from fingerprint.store.events import Event, EventKind
from fingerprint.store.schema import ALWAYS

router = APIRouter(prefix="/v1/events", tags=["events"])
ALIVE_SECONDS = 15.0
FULL = {"retry-after": "60"}
MOST, MOST_MISSED = 1000, 10_000
HOUR = 3_600_000_000_000
KINDS = frozenset(get_args(EventKind))
Kinds = Annotated[tuple[EventKind, ...], Query(max_length=len(KINDS), description="Of these kinds alone.")]
LastId = Annotated[str | None, Header(pattern=r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]


@router.get("", response_class=Response, responses=listed_as("Event"))
async def listed(
    service: Asked,
    line: Light,
    since: Moment = 0,
    until: Moment = ALWAYS,
    kinds: Kinds = (),
    what: Annotated[str, Query(max_length=400, description="Of this fact or target alone.")] = "",
    limit: Annotated[int, Query(ge=1, le=MOST, description="The newest this many.")] = 100,
) -> Response:
    """Events of a time, oldest first."""

    def found() -> Response:
        return written(service.store().events(since=since, until=until, kinds=kinds, what=what, limit=limit))

    return await line.run(found)


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events; `data` is an Event.", "content": {"text/event-stream": {}}}},
)
async def streamed(service: Asked, line: Light, kinds: Kinds = (), last_event_id: LastId = None) -> StreamingResponse:
    """Events as they happen; with Last-Event-ID first those that were missed since."""
    return _Stream(service.events, lambda *ears: _chunks(service, line, kinds, last_event_id, *ears))


class _Stream(StreamingResponse):
    """It listens from just before its status is sent, which tells whether there was room, until it is given up."""

    def __init__(self, events: Broadcast, chunks: Callable[[Listener, asyncio.Event], AsyncIterator[bytes]]) -> None:
        """chunks: made of a listener and what wakes it."""
        super().__init__((), media_type="text/event-stream", headers={"cache-control": "no-store"})
        self._events, self._chunks = events, chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        woken, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended, and whoever publishes goes on
                loop.call_soon_threadsafe(woken.set)

        listener = self._events.subscribe(wake)
        if listener is None:
            raise HTTPException(503, "as many listen as may: ask GET /v1/events instead", FULL)
        self.body_iterator = self._chunks(listener, woken)
        try:
            await super().__call__(scope, receive, send)
        finally:
            listener.close()


async def _chunks(
    service: Service, line: Line, kinds: Sequence[str], last: str | None, listener: Listener, woken: asyncio.Event
) -> AsyncIterator[bytes]:
    yield b": here is what happens\n\n"
    missed = await line.run(lambda: _missed(service, kinds, last)) if last else ()
    for event in missed:
        yield _chunk(event)
    told = {event.id for event in missed}
    while not listener.over:
        if not await _within(woken, ALIVE_SECONDS):
            yield b": still here\n\n"
        woken.clear()
        for event in listener.take():
            if event.id not in told and (not kinds or event.kind in kinds):
                yield _chunk(event)


async def _within(woken: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(woken.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


def _missed(service: Service, kinds: Sequence[str], last: str) -> tuple[Event, ...]:
    """Those that were noticed later: an id begins with the ms in which it was made, and what is noticed lies some time
    back."""
    since = min(max(0, made_at(last) - HOUR), ALWAYS)
    kept = service.store().events(since=since, kinds=kinds, limit=MOST_MISSED)
    return tuple(sorted((event for event in kept if event.id > last), key=lambda event: event.id))


def made_at(ulid: str) -> int:
    """ns since 1970."""
    number = 0
    for letter in ulid[:10]:
        number = number << 5 | "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(letter)
    return number * 1_000_000


def _chunk(event: Event) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event.id.encode(), event.kind.encode(), msgspec.json.encode(event))
