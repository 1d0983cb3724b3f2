"""The table event: what happened on a host, between two looks at it."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fingerprint.store.packing import packed, unpacked

if TYPE_CHECKING:
    from sqlite3 import Connection

EventKind = Literal[
    "state", "boot", "driver load", "container start", "serving", "kernel", "suspend", "clock jump", "service"
]


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened on a host.

    since, until  ns since 1970, between which it happened; equal where the moment is known, and the other way round
                  where the clock was set back in between
    what          of a state: the fact's path; else a target, or a class of kernel lines
    was, is_      as the JSON of a diff publishes them, `{"gap": code}` for a gap
    says          one sentence for people
    run           the id of the run that it opened, cut or closed
    """

    id: str
    host: str
    since: int
    until: int
    kind: EventKind
    what: str
    was: Any = None
    is_: Any = msgspec.field(default=None, name="is")
    says: str = ""
    run: str = ""


_event = msgspec.json.Decoder(Event).decode


def put(connection: "Connection", events: Iterable[Event]) -> None:
    """Enters those that are not there yet. Raises ValueError or TypeError for one that would not load again."""
    connection.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", map(_row, events))


def select(
    connection: "Connection", *, host: str, since: int, until: int, kinds: Collection[str], what: str, limit: int
) -> tuple[Event, ...]:
    """The newest `limit` by their end, oldest first, of those that may have happened from since until `until`."""
    where = "until >= ? AND since <= ?"
    values: list[int | str] = [since, until]
    for column, wanted in (("host", [host]), ("what", [what]), ("kind", kinds)):
        if any(wanted):
            where += f" AND {column} IN ({', '.join('?' * len(wanted))})"
            values += wanted
    query = f"SELECT body FROM event WHERE {where} ORDER BY until DESC, id DESC LIMIT ?"  # noqa: S608
    found = connection.execute(query, (*values, limit)).fetchall()
    return tuple(_event(unpacked(body)) for (body,) in reversed(found))


def _row(event: Event) -> tuple[Any, ...]:
    body = packed(event)
    _event(unpacked(body))
    first, last = sorted((event.since, event.until))
    if first < 0 or last >= 1 << 63:
        raise ValueError(f"the event {event.id} is at no time: since {event.since}, until {event.until}")
    return (event.id, event.host, first, last, event.kind, event.what, body)
