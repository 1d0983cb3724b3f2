"""The application: routes, errors in one form, and the OpenAPI document."""

from typing import TYPE_CHECKING, Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from fingerprint.explain.contract import Diff
from fingerprint.gate.contract import Verdict
from fingerprint.gate.policy import PolicyError
from fingerprint.service.api.answers import Unprocessable
from fingerprint.service.api.asked import Health
from fingerprint.service.api.guard import Counts
from fingerprint.service.api.kept import Computed
from fingerprint.service.api.lines import Lines
from fingerprint.service.api.models import Refused
from fingerprint.service.api.routes import comparing, events, itself, runs, snapshots, timeline
from fingerprint.store.errors import Unusable
from fingerprint.store.events import Event
from fingerprint.timeline.contract import Timeline
from fingerprint.trouble import Trouble
from fingerprint.version import __version__

if TYPE_CHECKING:
    from fingerprint.service.api.asked import Service

PARTS = (snapshots, runs, comparing, timeline, events, itself)
CONTRACTS = (Diff, Verdict, Timeline, Event, Health)
"""Described by their own docstrings, as `fingerprint schema` does."""


def application(service: "Service", counts: Counts) -> FastAPI:
    app = FastAPI(
        title="fingerprint", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False,
        responses={status: {"model": Refused, "description": says} for status, says in REFUSALS.items()},
    )  # fmt: skip
    app.state.service, app.state.counts = service, counts
    app.state.lines, app.state.kept = Lines(), Computed()
    for part in PARTS:
        app.include_router(part.router)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(Trouble, _of_trouble)
    app.add_exception_handler(Exception, _of_failure)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]  # as FastAPI's own pages tell to extend it
    return app


ABOUT = """\
What one host's service reads, keeps and tells. On a Unix socket whoever may open it may ask; on TCP each request has
`Authorization: Bearer TOKEN`. Whatever is refused is told as {"error": a sentence}. Times are nanoseconds since 1970.
"""
REFUSALS = {
    400: "It is no request.",
    401: "On TCP: the token is missing, or another.",
    404: "There is no such thing.",
    408: "It did not arrive in time.",
    409: "It cannot be done as things stand.",
    413: "It is too large.",
    421: "On TCP: the service does not go by that name.",
    422: "It means nothing.",
    503: "The service cannot do it now.",
}


def document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1, with the contracts among its schemas. Made once."""
    if app.openapi_schema is None:
        told = get_openapi(title=app.title, version=app.version, routes=app.routes, description=ABOUT)
        for contract in CONTRACTS:
            told["components"]["schemas"].update(_schemas(contract))
        app.openapi_schema = told
    return app.openapi_schema


def _schemas(contract: type[msgspec.Struct]) -> dict[str, Any]:
    """Of the contract and its parts, which go by its name as well: two contracts may have parts of one name."""
    name, place = contract.__name__, f"#/components/schemas/{contract.__name__}."
    _, parts = msgspec.json.schema_components([contract], ref_template=place + "{name}")
    return {name: {"$ref": place + name}, **{f"{name}.{part}": told for part, told in parts.items()}}


def schema() -> dict[str, Any]:
    """What GET /openapi.json answers."""
    return document(application(None, Counts()))  # type: ignore[arg-type]  # nobody asks it


SAYS = {
    "Not Found": "there is no such page: /openapi.json lists all",
    "Method Not Allowed": "this page is not asked in that way: /openapi.json tells how",
}
"""Instead of the words of the framework."""


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    says = SAYS.get(error.detail, error.detail)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 405:
        headers["allow"] = ", ".join(_allowed(request))  # the router names those of the first route alone
    return JSONResponse({"error": says}, error.status_code, headers)


def _allowed(request: Request) -> list[str]:
    """What may be done with this path."""
    routes = [route for part in PARTS for route in part.router.routes if isinstance(route, APIRoute)]
    matching = [route for route in routes if route.path_regex.fullmatch(request.url.path)]
    return sorted({method for route in matching for method in route.methods or ()})


async def _of_validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first, *more = error.errors()
    where = ".".join(str(step) for step in first["loc"][1:]) or first["loc"][0]
    says = f"{where}: {first['msg']}" + (f" (and {len(more)} more)" if more else "")
    return JSONResponse({"error": says[:1000]}, 422)


async def _of_trouble(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, _status(error))


async def _of_failure(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"error": "the service failed on this: its journal tells why"}, 500)


def _status(error: Exception) -> int:
    if isinstance(error, Unusable):
        return 503
    return 422 if isinstance(error, (PolicyError, Unprocessable)) else 409
