"""What differs, and whether a benchmark may start."""

import datetime as dt
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from fingerprint.comparing import baseline, compared
from fingerprint.gate.policy import PolicyError, policy_of
from fingerprint.gate.verdict import Asked as AskedOfGate
from fingerprint.gate.verdict import decide
from fingerprint.noise import Learned, learned_of
from fingerprint.service.api.answers import Asked, Kept, Unprocessable, found, told_as, written
from fingerprint.service.api.lines import Comparisons
from fingerprint.service.api.models import MOST, Gate, Glob
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.explain.contract import Diff
    from fingerprint.gate.contract import Verdict
    from fingerprint.service.api.asked import Service
    from fingerprint.snapshot import Snapshot

router = APIRouter(prefix="/v1", tags=["comparing"])
HISTORY = 20
OWN = Gate()
"""Against the host's own defaults and maxima."""
Side = Annotated[
    str,
    Query(
        min_length=1,
        max_length=200,
        description="A run, a series, a window or a snapshot's id.",
        examples=["@", "run-A"],
    ),
]
Metric = Annotated[str | None, Query(min_length=1, max_length=100, description="Look at this metric alone.")]
Vary = Annotated[tuple[Glob, ...], Query(max_length=MOST, description="Changes that are intended.")]


@router.get("/diff", response_class=Response, responses=told_as("Diff"))
async def diff(service: Asked, line: Comparisons, a: Side, b: Side, metric: Metric = None, vary: Vary = ()) -> Response:
    """What changed from A to B: suspects first, then what is ruled out, and what is not known."""
    return await line.run(lambda: written(_diff(service, (a, b), metric, vary)))


def _diff(service: "Service", sides: tuple[str, str], metric: str | None, vary: Sequence[str]) -> "Diff":
    one, other = (found(service, side) for side in sides)
    try:
        return compared(Kept([service.store()]), one, other, _noise_of, metric=metric, vary=vary)
    except Trouble as trouble:
        if "--metric" in str(trouble):
            raise Unprocessable(str(trouble).removeprefix("--")) from None
        raise


def _noise_of(host: str) -> Learned | None:
    try:
        return learned_of(host, os.environ)
    except Trouble:
        return None


@router.post("/gate", response_class=Response, responses=told_as("Verdict"))
async def gate(service: Asked, line: Comparisons, asked: Gate = OWN) -> Response:
    """Whether a benchmark may start: the host as it is now. Of what a command would be given nothing is known here."""
    return await line.run(lambda: written(_verdict(service, asked)))


def _verdict(service: "Service", asked: Gate) -> "Verdict":
    policies = tuple(policy_of(it.name or "policy", it.text.encode()) for it in asked.policies)
    needing = next(filter(None, (policy.needs_baseline for policy in policies)), "")
    if needing and asked.baseline is None:
        raise PolicyError(f"{needing}: same_as_baseline needs a baseline: name one")
    against = baseline(found(service, asked.baseline), asked.baseline) if asked.baseline else None
    now = service.take()
    given = AskedOfGate(policies=policies, baseline=against, earlier=lambda: _earlier(service, now.host))
    return decide(given, now, {}, dt.datetime.now(dt.timezone.utc).date())


def _earlier(service: "Service", host: str) -> "Iterator[Snapshot]":
    store = service.store()
    for row in store.snapshots(host=host, limit=HISTORY):
        yield store.snapshot(row.id)
