"""The service itself: which release, how it does, and all of it for Prometheus."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from fingerprint.service.api.answers import Asked, told_as, written
from fingerprint.service.api.lines import Light
from fingerprint.service.api.models import Version
from fingerprint.service.api.prometheus import CONTENT_TYPE, page
from fingerprint.version import __version__

router = APIRouter(tags=["the service"])


@router.get("/v1/version")
async def version() -> Version:
    """Answered at once, by whatever else is done."""
    return Version(fingerprint=__version__, api=1)


@router.get("/v1/health", response_class=Response, responses=told_as("Health"))
async def health(service: Asked, line: Light) -> Response:
    """How the service does; what is wrong with it is in `says`, and the status is 200 all the same."""
    return await line.run(lambda: written(service.health()))


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Text format 0.0.4", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(service: Asked, line: Light, request: Request) -> Response:
    """For Prometheus."""
    state = request.app.state
    text = await line.run(lambda: page(service, state.counts, state.kept))
    return Response(text, media_type=CONTENT_TYPE)
