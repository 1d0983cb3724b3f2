"""What the API asks of the service."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from fingerprint.metrics import Metric
    from fingerprint.service.broadcast import Broadcast
    from fingerprint.snapshot import Snapshot
    from fingerprint.store import RunRow, Store


class Area(msgspec.Struct, frozen=True, kw_only=True):
    """One area of the host. age_s: since it was last read well; None where it never was. outcome, detail: of the last
    reading."""

    age_s: float | None
    outcome: str
    detail: str = ""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How the service itself does.

    ok        whether all is as it should be; `says` tells in one sentence what is not
    started   ns since 1970
    areas     by name
    overruns  rounds that were skipped because the one before still ran, by cadence
    hung      areas that do not answer, and since when
    store     what is wrong with the store, empty where nothing is; store_bytes: its size
    reader    the same of the reader
    serving   names of runs that are open
    """

    ok: bool
    says: str
    host: str
    fingerprint: str
    started: int
    areas: Mapping[str, Area]
    overruns: Mapping[str, int]
    hung: Mapping[str, str]
    store: str
    store_bytes: int
    reader: str
    serving: tuple[str, ...]


class Service(Protocol):
    """Called from several threads at a time. What cannot be done raises Trouble."""

    @property
    def host_name(self) -> str: ...

    @property
    def events(self) -> "Broadcast": ...

    def store(self) -> "Store":
        """This thread's own."""

    def newest(self) -> "Snapshot | None": ...

    def take(self, areas: Collection[str] = ()) -> "Snapshot": ...

    def begin(
        self, name: str, *, pid: int | None = None, port: int | None = None, benchmark: str = "",
        workload: Mapping[str, Any] = {}, vary: Collection[str] = (),
    ) -> "RunRow":  # fmt: skip
        """Brackets a run against a server that runs."""

    def end(self, name_or_id: str) -> "RunRow": ...

    def metric(self, name_or_id: str, *metrics: "Metric") -> None: ...

    def health(self) -> Health: ...
