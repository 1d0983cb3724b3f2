"""Runs that the service keeps, and those that are bracketed against a server that runs."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import Response

from fingerprint.documents import of_found, of_row
from fingerprint.metrics.given import given_metric
from fingerprint.metrics.metric import Metric
from fingerprint.service.api.answers import (
    Asked,
    Ref,
    Unprocessable,
    document_as,
    found,
    found_run,
    object_as,
    written,
)
from fingerprint.service.api.lines import Comparisons, Light
from fingerprint.service.api.models import Added, Begin, Mark, Metrics, Named, Note, SentMetric
from fingerprint.store import FoundRun
from fingerprint.store.errors import StoreError
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.service.api.asked import Service

router = APIRouter(prefix="/v1/runs", tags=["runs"])
RUN = "As `fingerprint runs --all --format json` lists it"
GOOD = Mark()
Word = Annotated[str | None, Query(max_length=200)]
Recorded = Annotated[bool | None, Query(description="Whether the service opened them by itself.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="The newest this many.")]


@router.get("", response_class=Response, responses=object_as(RUN))
async def listed(
    service: Asked,
    line: Light,
    name: Word = None,
    benchmark: Word = None,
    good: bool | None = None,
    recorded: Recorded = None,
    limit: Limit = 100,
) -> Response:
    """Runs, the newest last."""

    def found() -> Response:
        rows = service.store().runs(name=name, benchmark=benchmark, good=good, service=recorded, limit=limit)
        return written({"runs": [of_row(row) for row in rows]})

    return await line.run(found)


@router.post("", status_code=201, response_class=Response, responses=object_as(RUN, 201))
async def begun(service: Asked, line: Comparisons, asked: Begin) -> Response:
    """Begins a run of a server that runs already; it goes on until `end`."""
    if bool(asked.pid) == bool(asked.port):
        raise Unprocessable("say which server is meant: either pid or port")
    said = asked.model_dump(exclude={"name"}, exclude_defaults=True)
    return await line.run(lambda: written(of_row(service.begin(asked.name, **said)), 201))


@router.get("/{ref}", response_class=Response, responses=document_as("fingerprint.run/1", "fingerprint.snapshot/1"))
async def shown(service: Asked, line: Comparisons, ref: Ref) -> Response:
    """The last attempt of a run, or a snapshot by its id (fingerprint.snapshot/1)."""
    return await line.run(lambda: written(of_found(found(service, ref))))


@router.get("/{ref}/export", response_class=Response, responses=document_as("fingerprint.export/1"))
async def exported(service: Asked, line: Comparisons, ref: Ref) -> Response:
    """All attempts, with what they refer to; or a snapshot. `fingerprint import` takes it in elsewhere."""
    return await line.run(lambda: Response(_export(service, ref), media_type="application/json"))


def _export(service: Asked, ref: str) -> bytes:
    it = found(service, ref)
    runs = [row.id for row in it.attempts] if isinstance(it, FoundRun) else []
    return it.store.export(runs, [] if isinstance(it, FoundRun) else [it.id])


@router.post("/{ref}/end", response_class=Response, responses=object_as(RUN))
async def ended(service: Asked, line: Comparisons, ref: Ref) -> Response:
    """Ends a run that was begun."""
    return await line.run(lambda: written(of_row(service.end(found_run(service, ref).latest.id))))


@router.post("/{ref}/metrics", response_model=Added)
async def measured(service: Asked, line: Light, ref: Ref, sent: Metrics) -> Added:
    """Adds metrics to a run, while it goes on or later. One that is given again replaces the former values."""
    metrics = [_metric(one) for one in sent.metrics]
    await line.run(lambda: service.metric(found_run(service, ref).latest.id, *metrics))
    return Added(added=len(metrics))


@router.post("/{ref}/good", response_class=Response, responses=object_as(RUN))
async def marked(service: Asked, line: Light, ref: Ref, asked: Mark = GOOD) -> Response:
    """Marks a run as a good one, to compare others with, or takes the mark away."""

    def done() -> Response:
        row = found_run(service, ref).latest
        service.store().good(row.id, asked.good)
        return written(of_row(service.store().run(row.id)))

    return await line.run(done)


@router.post("/{ref}/notes", response_model=Added)
async def noted(service: Asked, line: Light, ref: Ref, sent: Note) -> Added:
    """Writes a remark beside a run."""
    await line.run(lambda: service.store().note(found_run(service, ref).latest.id, sent.text))
    return Added(added=1)


@router.post("/{ref}/name", response_class=Response, responses=object_as(RUN))
async def renamed(service: Asked, line: Light, ref: Ref, asked: Named) -> Response:
    """Gives a whole series another name, which no run may have yet; its last attempt is told."""

    def done() -> Response:
        row, store = found_run(service, ref).latest, service.store()
        store.rename(row.name, asked.name)
        return written(of_row(store.run(row.id)))

    return await line.run(done)


@router.delete("/{ref}", response_class=Response, responses=object_as("The runs that are gone, and how many snapshots"))
async def removed(service: Asked, line: Comparisons, ref: Ref) -> Response:
    """Removes a run, a series or an attempt, with the snapshots that nothing else needs; none that goes on."""
    return await line.run(lambda: written(_removed(service, found_run(service, ref))))


def _removed(service: "Service", found: FoundRun) -> dict[str, Any]:
    """Raises HTTPException 409 where one goes on: what it records would find no run."""
    rows = [of_row(row) for row in found.attempts]
    going = next((row for row in rows if row["state"] == "open"), None)
    if going:
        raise HTTPException(409, f"{going['name']}#{going['attempt']} goes on: remove it when it has ended")
    gone = service.store().remove(row.id for row in found.attempts)
    return {"runs": rows, "snapshots": gone.snapshots}


def _metric(sent: SentMetric) -> Metric:
    try:
        return given_metric(sent.name, sent.values, sent.unit, sent.better, "series" if sent.series else "repeats")
    except StoreError:
        raise
    except Trouble as trouble:
        raise Unprocessable(str(trouble)) from None
