"""What happened on the host: what is kept of it, and as it happens."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Annotated, get_args

import msgspec
from fastapi import APIRouter, Header, HTTPException, Query
from starlette.responses import Response, StreamingResponse

from fingerprint.service.api.answers import Asked, Moment, listed_as, written
from fingerprint.service.api.asked import Service
from fingerprint.service.api.lines import Light, Line
from fingerprint.store.events import Event, EventKind
from fingerprint.store.schema import ALWAYS

router = APIRouter(prefix="/v1/events", tags=["events"])
ALIVE_SECONDS = 15.0
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
    if service.events.is_full:
        raise HTTPException(503, "as many listen as may: ask GET /v1/events instead")
    chunks = _chunks(service, line, kinds, last_event_id)
    return StreamingResponse(chunks, media_type="text/event-stream", headers={"cache-control": "no-store"})


async def _chunks(service: Service, line: Line, kinds: Sequence[str], last: str | None) -> AsyncIterator[bytes]:
    """It listens once it is asked for the first: of whoever went before that nothing is left."""
    woken, loop = asyncio.Event(), asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended, and whoever publishes goes on
            loop.call_soon_threadsafe(woken.set)

    listener = service.events.subscribe(wake)
    if listener is None:
        return
    try:
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
    finally:
        listener.close()


async def _within(woken: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(woken.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


def _missed(service: Service, kinds: Sequence[str], last: str) -> tuple[Event, ...]:
    """Those that were noticed later: an id begins with the ms in which it was made, and what is noticed lies some time
    back."""
    since = max(0, made_at(last) - HOUR)
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
