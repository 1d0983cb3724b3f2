"""What happened, with the runs, in the order of time."""

import time
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.responses import Response

from fingerprint.runs.opener import is_alive
from fingerprint.service.api.answers import Asked, Moment, told_as, written
from fingerprint.service.api.lines import Comparisons
from fingerprint.store.schema import ALWAYS
from fingerprint.timeline import Asked as AskedOfTimeline
from fingerprint.timeline import timeline as composed
from probes.kit.host import Host

if TYPE_CHECKING:
    from fingerprint.service.api.asked import Service
    from fingerprint.timeline.contract import Timeline

router = APIRouter(prefix="/v1", tags=["events"])
DAY = 86_400_000_000_000


@router.get("/timeline", response_class=Response, responses=told_as("Timeline"))
async def timeline(service: Asked, line: Comparisons, since: Moment = 0, until: Moment = ALWAYS) -> Response:
    """What happened on this host, and its runs. Without `since`: of a day."""
    return await line.run(lambda: written(_timeline(service, since, until)))


def _timeline(service: "Service", since: int, until: int) -> "Timeline":
    until, here = min(until, time.time_ns()), Host()
    asked = AskedOfTimeline((service.host_name,), since or max(0, until - DAY), until)
    return composed([service.store()], asked, lambda opener: is_alive(here, opener))
