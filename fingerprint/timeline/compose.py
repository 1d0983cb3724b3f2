"""All that is kept of some hosts and a time -> the contract."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from fingerprint.diff.known import ProbeOf, probe_of
from fingerprint.runs.record import Opener
from fingerprint.store import Store
from fingerprint.store.events import Event as Noticed
from fingerprint.timeline.contract import SCHEMA, Mark, Timeline
from fingerprint.timeline.found import Found, looks, newest, starts
from fingerprint.timeline.happening import Happening, alike_as_one, under_leaders
from fingerprint.timeline.readings import of_the_host
from fingerprint.timeline.runs import published
from fingerprint.timeline.says import says
from fingerprint.timeline.starts import of_processes
from fingerprint.words import moment

NOBODY = (
    "No service watched meanwhile: what changed is told by the readings before and after, and what changed back in "
    "between is not here"
)


class Asked(NamedTuple):
    """since, until: ns since 1970. names: of the two sides, as the user would ask for them. marks: by the id of a run
    which side it is of."""

    hosts: tuple[str, ...]
    since: int
    until: int
    names: tuple[str, str] = ("", "")
    marks: Mapping[str, Mark] = {}


def timeline(
    sources: Sequence[Store], asked: Asked, alive: Callable[[Opener], bool], known: ProbeOf = probe_of
) -> Timeline:
    """sources: stores and files. alive: whether the process that opened a run still holds it. Raises StoreError."""
    found = newest(sources, asked.hosts, asked.since, asked.until)
    noticed = sorted(chain.from_iterable(_noticed(store, asked) for store in sources), key=attrgetter("what"))
    derived = chain.from_iterable(_derived(host, sources, asked, found, known) for host in asked.hosts)
    here = [it for it in derived if asked.since <= it.until and it.since <= asked.until]
    every = [*under_leaders([*alike_as_one(noticed, known)], known), *(it for it in here if not _is_told(it, noticed))]
    events = tuple(it.published() for it in sorted(every, key=attrgetter("until", "since", "what")))
    runs = tuple(published(it, asked.marks.get(it.run.id, ""), alive) for it in found.runs)
    watched = bool(noticed) or any(run.by_service for run in runs)
    return Timeline(
        schema=SCHEMA,
        says=says(asked.hosts, events, runs),
        hosts=asked.hosts,
        since=moment(asked.since),
        until=moment(asked.until),
        a=asked.names[0],
        b=asked.names[1],
        events=events,
        runs=runs,
        notes=(*found.left_out, *((NOBODY,) if not watched and (events or runs) else ())),
    )


def _noticed(store: Store, asked: Asked) -> Iterator[Happening]:
    for host in asked.hosts:
        yield from map(_of_service, store.events(host=host, since=asked.since, until=asked.until))


def _of_service(event: Noticed) -> Happening:
    return Happening(
        host=event.host,
        kind=event.kind,
        since=event.since,
        until=event.until,
        what=event.what,
        was=event.was,
        is_=event.is_,
        paths=(event.what,) if event.kind == "state" else (),
        says=event.says,
        told_by="service",
        runs=(event.run,) if event.run else (),
    )


def _derived(host: str, sources: Sequence[Store], asked: Asked, found: Found, known: ProbeOf) -> Iterator[Happening]:
    yield from of_the_host(looks(sources, host, asked.since, asked.until, found), known)
    for each in starts(host, found):
        yield from of_processes(each, known)


def _is_told(it: Happening, noticed: Iterable[Happening]) -> bool:
    """Whether the service noticed all of it, and knows the time better."""
    beside = [one for one in noticed if one.host == it.host and one.kind == it.kind]
    meanwhile = [one for one in beside if one.since <= it.until and one.until >= it.since]
    if it.kind != "state":
        return any(one.what in ("", it.what) for one in meanwhile) or (it.kind == "boot" and bool(meanwhile))
    return {*it.paths} <= {one.what for one in meanwhile}
