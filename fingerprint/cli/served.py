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
    from fingerprint.reader import Reader
    from fingerprint.service.client import Client
    from fingerprint.snapshot import Snapshot
    from fingerprint.store import Store, Stores

OLD_SECONDS = 90.0
"""The service reads the host each minute."""
BESIDE_SECONDS, BORDER_SECONDS = 2.0, 1.0


def newest(invocation: "Invocation", areas: Collection[str]) -> "Snapshot | None":
    """What the service read last, if that is not long ago."""
    snapshot = _snapshot(invocation, areas, fresh=False)
    if snapshot is None or 0 <= time.time_ns() - snapshot.taken_at < OLD_SECONDS * 1e9:  # not of a clock set back since
        return snapshot
    return now(invocation, areas)


def now(invocation: "Invocation", areas: Collection[str]) -> "Snapshot | None":
    """What it reads now, with its rights. None where nobody answers, or not for all of these areas of this host."""
    return _snapshot(invocation, areas, fresh=True)


def border(invocation: "Invocation", areas: Collection[str]) -> "Snapshot | None":
    """The same for a run, which waits a second for it and then looks by itself."""
    return _snapshot(invocation, areas, fresh=True, seconds=BORDER_SECONDS)


def samples(invocation: "Invocation") -> "Reader":
    """Through which the service tells what moves of the host."""
    from fingerprint.reader import Reader
    from fingerprint.reader.remote import connect

    assert invocation.service is not None
    probes = {area: probe.at_samples for area, probe in invocation.probes().items()}
    return Reader(invocation.host, probes, connect(invocation.service.samples, sample=True))


def _snapshot(
    invocation: "Invocation", areas: Collection[str], *, fresh: bool, seconds: float | None = None
) -> "Snapshot | None":
    if invocation.service is None or not areas:
        return None
    from msgspec.structs import replace

    from fingerprint.ids import new_id
    from fingerprint.service.client import NoAnswer, Refused
    from fingerprint.store.foreign import parsed

    ask = invocation.service.post if fresh else invocation.service.get
    try:
        limit = invocation.settings.budget_s + BESIDE_SECONDS if seconds is None else seconds
        content = ask("/v1/snapshot", seconds=limit, form="export")
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


def keeper(invocation: "Invocation", store: "Store") -> "Client | None":
    """The service, where it is to change what lies in this store; None where this process itself may."""
    return invocation.service if store.origin == "service" else None


def mark_good(service: "Client", run_id: str, good: bool) -> None:
    from fingerprint.service.client import named

    service.post(named("runs", run_id, "good"), {"good": good})


def note(service: "Client", run_id: str, text: str) -> None:
    from fingerprint.service.client import named

    service.post(named("runs", run_id, "notes"), {"text": text})


def rename(service: "Client", run_id: str, name: str) -> None:
    """Of the whole series."""
    from fingerprint.service.client import named

    service.post(named("runs", run_id, "name"), {"name": name})


def remove(service: "Client", run_id: str) -> int:
    """How many snapshots went with it. Raises Refused where it goes on."""
    import json

    from fingerprint.service.client import named

    return int(json.loads(service.delete(named("runs", run_id)))["snapshots"])


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
