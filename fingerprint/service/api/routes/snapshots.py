"""The host: as it was read last, or now."""

import time
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from msgspec.structs import replace
from starlette.responses import Response

from fingerprint.documents import of_snapshot
from fingerprint.service.api.answers import Asked, Moment, document_as, object_as, written
from fingerprint.service.api.asked import Service
from fingerprint.service.api.lines import Light, Snapshots
from fingerprint.snapshot import Snapshot
from fingerprint.store.schema import ALWAYS
from fingerprint.store.transfer import of_snapshot as exported
from probes.kit.probe import areas as all_areas

router = APIRouter(prefix="/v1", tags=["host"])
DOCUMENTS = document_as("fingerprint.snapshot/1", "fingerprint.export/1")
Areas = Annotated[tuple[str, ...], Query(max_length=100, description="Of these areas alone.")]
Form = Annotated[
    Literal["document", "export"], Query(description="As `snapshot --format json` prints it, or for another store.")
]


@router.get("/snapshot", response_class=Response, responses=DOCUMENTS)
async def newest(service: Asked, line: Light, areas: Areas = (), form: Form = "document") -> Response:
    """The newest snapshot. Each section tells its outcome."""
    _check(areas)
    snapshot = service.newest()
    if snapshot is None:
        raise HTTPException(503, "the host has not been read yet: ask again in some seconds")
    return await line.run(lambda: _answer(snapshot, areas, form))


@router.get("/snapshots", response_class=Response, responses=object_as("Each with the time in which it was current"))
async def listed(
    service: Asked,
    line: Light,
    host: Annotated[str, Query(max_length=200)] = "",
    since: Moment = 0,
    until: Moment = ALWAYS,
    limit: Annotated[int, Query(ge=1, le=1000, description="The newest this many.")] = 100,
) -> Response:
    """Which snapshots are kept, the newest last; GET /v1/runs/ID has one of them."""

    def found() -> Response:
        return written({"snapshots": service.store().snapshots(host=host, since=since, until=until, limit=limit)})

    return await line.run(found)


@router.post("/snapshot", response_class=Response, responses=DOCUMENTS)
async def taken(service: Asked, line: Snapshots, areas: Areas = (), form: Form = "document") -> Response:
    """A snapshot of now. Who asks while one is taken for somebody else is given one that began later."""
    _check(areas)
    asked_at = time.time_ns()
    return await line.run(lambda: _answer(_taken(service, areas, asked_at), areas, form))


def _taken(service: Service, areas: Sequence[str], asked_at: int) -> Snapshot:
    newest = service.newest()
    if newest and asked_at <= newest.taken_at <= time.time_ns() and not areas:  # it may be set back meanwhile
        return newest
    return service.take(areas)


def _check(areas: Sequence[str]) -> None:
    for area in areas:
        if area not in all_areas():
            raise HTTPException(404, f"there is no area '{area[:100]}': there are {', '.join(all_areas())}")


def _answer(snapshot: Snapshot, areas: Sequence[str], form: str) -> Response:
    if areas:
        kept = {key: reading for key, reading in snapshot.readings.items() if key.area in areas}
        snapshot = replace(snapshot, readings=kept)
    return written(of_snapshot(snapshot) if form == "document" else exported(snapshot))
