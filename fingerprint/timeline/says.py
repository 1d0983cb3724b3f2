"""All of a timeline in one sentence."""

from collections import Counter
from collections.abc import Iterator, Sequence

from fingerprint.store.events import EventKind
from fingerprint.timeline.contract import Event, Run
from fingerprint.words import before_after

WORDS: dict[EventKind, tuple[str, str]] = {
    "boot": ("boot", "boots"),
    "driver load": ("driver load", "driver loads"),
    "container start": ("container start", "container starts"),
    "state": ("change", "changes"),
    "kernel": ("event of the kernel", "events of the kernel"),
    "serving": ("event of servers", "events of servers"),
    "suspend": ("suspend", "suspends"),
    "clock jump": ("jump of the clock", "jumps of the clock"),
    "service": ("event of the service", "events of the service"),
}
NAMED = 2


def says(hosts: Sequence[str], events: Sequence[Event], runs: Sequence[Run]) -> str:
    """With two sides: what lies between them; else what there is."""
    where = " and ".join(hosts)
    a, b = ([run for run in runs if run.mark == mark] for mark in "ab")
    if not a or not b:
        counted = [f"{len(runs)} run{'s' * (len(runs) != 1)}"] if runs else []
        told = [*counted, *_counts(events)]
        return (
            f"{where}: {_listed(told)}."
            if told
            else f"{where}: nothing is kept of this time: --since asks for more of it, --host for another host."
        )
    first, second = (a, b) if a[0].started <= b[0].started else (b, a)
    ended, begun = first[-1].ended, second[0].started
    if not ended or ended > begun:
        return f"{where}: {first[0].name} and {second[0].name} overlap."
    between = [event for event in events if event.until > ended and event.since <= begun and event.until <= begun]
    changed = [event for event in between if event.kind == "state"]
    named = [_change(event) for event in changed] if len(changed) <= NAMED else []
    told = [*_counts([event for event in between if not (named and event.kind == "state")]), *named]
    return f"Between {first[0].name} and {second[0].name} on {where}: {_listed(told) or 'nothing that is known'}."


def _change(event: Event) -> str:
    return f"{event.what} {before_after(event.was, event.is_, event.unit, event.what)}"


def _counts(events: Sequence[Event]) -> Iterator[str]:
    """Changes of many devices are one."""
    counted = Counter(event.kind for event in events)
    yield from (f"{counted[kind]} {words[counted[kind] != 1]}" for kind, words in WORDS.items() if counted[kind])


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
