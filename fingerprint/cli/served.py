"""What a service that runs on this host answers in place of our own looking. Where it does not answer it is told, once,
and the verb goes on by itself."""

import os
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from fingerprint.cli.saying import say
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.metrics import Metric
    from fingerprint.service.client import Client
    from fingerprint.snapshot import Snapshot
    from fingerprint.store import Stores

OLD_SECONDS = 90.0
"""The service reads the host each minute."""
BESIDE_SECONDS = 2.0


def newest(invocation: "Invocation", areas: Collection[str]) -> "Snapshot | None":
    """What the service read last, if that is not long ago."""
    snapshot = _snapshot(invocation, areas, fresh=False)
    if snapshot is None or time.time_ns() - snapshot.taken_at < OLD_SECONDS * 1e9:
        return snapshot
    return now(invocation, areas)


def now(invocation: "Invocation", areas: Collection[str]) -> "Snapshot | None":
    """What it reads now, with its rights. None where nobody answers, or not for all of these areas of this host."""
    return _snapshot(invocation, areas, fresh=True)


def _snapshot(invocation: "Invocation", areas: Collection[str], *, fresh: bool) -> "Snapshot | None":
    if invocation.service is None or not areas:
        return None
    from msgspec.structs import replace

    from fingerprint.ids import new_id
    from fingerprint.service.client import NoAnswer, Refused
    from fingerprint.store.foreign import parsed

    ask = invocation.service.post if fresh else invocation.service.get
    try:
        content = ask("/v1/snapshot", seconds=invocation.settings.budget_s + BESIDE_SECONDS, form="export")
        snapshot = parsed(content, invocation.service.path).snapshots[0].snapshot()
    except (NoAnswer, Refused) as trouble:
        _tell(trouble)
        return None
    kept = {key: reading for key, reading in snapshot.readings.items() if key.area in areas and not key.target}
    here = snapshot.host == os.uname().nodename and len(kept) == len(set(areas))
    return replace(snapshot, id=new_id(), readings=kept) if here else None  # two runs may be given the same one


def _tell(trouble: Trouble) -> None:
    if str(trouble) not in _told:
        _told.add(str(trouble))
        say(f"{trouble}; this goes on without it")


_told: set[str] = set()


def is_alone(invocation: "Invocation") -> bool:
    """Whether one store alone is to be used."""
    return bool(invocation.environ.get("FINGERPRINT_STORE"))


def with_its_store(invocation: "Invocation", stores: "Stores") -> "Stores":
    """The stores, with that of the service read through it where its file is not ours to read."""
    if is_alone(invocation) or invocation.service is None or any(store.origin == "service" for store in stores.stores):
        return stores
    from fingerprint.service.away import StoreAway
    from fingerprint.service.client import NoAnswer
    from fingerprint.store import Stores

    try:
        invocation.service.greet()
    except NoAnswer as trouble:
        _tell(trouble)
        return stores
    return Stores([*stores.stores, StoreAway(invocation.service)])


def begin(invocation: "Invocation", sent: dict[str, Any]) -> "dict[str, Any] | None":
    """The run that the service began; None where nobody answers. Raises Refused where it will not."""
    import json

    from fingerprint.service.client import NoAnswer, named

    assert invocation.service is not None
    try:
        answer: dict[str, Any] = json.loads(invocation.service.post(named("runs"), sent))
        return answer
    except NoAnswer as trouble:
        _tell(trouble)
        return None


def end(service: "Client", run_id: str) -> None:
    """Raises Refused where it is over."""
    from fingerprint.service.client import named

    service.post(named("runs", run_id, "end"))


def add_metrics(service: "Client", run_id: str, metrics: "Sequence[Metric]") -> None:
    """Of very many values what is kept of them is sent."""
    from fingerprint.service.client import named

    sent = [
        {
            "name": metric.name, "values": list(metric.samples), "unit": metric.unit, "better": metric.better,
            "series": metric.kind == "series",
        }
        for metric in metrics
    ]  # fmt: skip
    if sent:
        service.post(named("runs", run_id, "metrics"), {"metrics": sent})
