"""What routes share: the service that is asked, what a reference means, and how an answer is written."""

from typing import Annotated, Any

import msgspec
from fastapi import Depends, HTTPException, Request
from fastapi import Path as InPath
from fastapi import Query as InQuery
from starlette.responses import Response

from fingerprint.service.api.asked import Service
from fingerprint.store import Found, FoundRun, FoundSnapshot, Stores
from fingerprint.store.errors import StoreError, Unusable
from fingerprint.store.schema import ALWAYS
from fingerprint.trouble import Trouble


class Unprocessable(Trouble):
    """What was sent is well formed and means nothing."""


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Asked = Annotated[Service, Depends(_service)]
Ref = Annotated[
    str, InPath(min_length=1, max_length=200, description="A run, a series, an attempt, a window or an id.")
]
Moment = Annotated[int, InQuery(ge=0, le=ALWAYS, description="Nanoseconds since 1970.")]


class Kept(Stores):
    """What the service keeps; a reference never means a file."""

    def _file(self, text: str) -> Found:
        raise StoreError(f"there is no run '{text[:200]}'{self._nearest(text)}: GET /v1/runs lists what there is")


def found(service: Service, ref: str) -> Found:
    """Raises HTTPException 404 for what means nothing, or two things; StoreError where the store cannot be used."""
    try:
        return Kept([service.store()]).resolve(ref)
    except Unusable:
        raise
    except StoreError as error:
        raise HTTPException(404, str(error)) from None


def found_run(service: Service, ref: str) -> FoundRun:
    it = found(service, ref)
    if isinstance(it, FoundSnapshot):
        raise HTTPException(404, f"'{ref}' is a snapshot, and this is for runs")
    return it


def written(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def told_as(name: str) -> dict[int | str, dict[str, Any]]:
    """In OpenAPI: the answer is this contract."""
    return {200: _json({"$ref": f"#/components/schemas/{name}"}, name)}


def listed_as(name: str) -> dict[int | str, dict[str, Any]]:
    return {200: _json({"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}, f"{name}s, oldest first")}


def document_as(*schemas: str) -> dict[int | str, dict[str, Any]]:
    """A document that names its schema, one of these."""
    properties = {"schema": {"enum": schemas}}
    return {200: _json({"type": "object", "required": ["schema"], "properties": properties}, " or ".join(schemas))}


def object_as(says: str, status: int = 200) -> dict[int | str, dict[str, Any]]:
    return {status: _json({"type": "object"}, says)}


def _json(schema: dict[str, Any], says: str) -> dict[str, Any]:
    return {"description": says, "content": {"application/json": {"schema": schema}}}
