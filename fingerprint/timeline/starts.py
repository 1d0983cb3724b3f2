"""What runs tell of their processes where nobody watched: a benchmark was started otherwise than the last time."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from fingerprint.diff.compare import compare
from fingerprint.diff.known import ProbeOf
from fingerprint.runs.effective import Effective
from fingerprint.runs.run import Run
from fingerprint.timeline.happening import Happening
from fingerprint.timeline.readings import STARTED, as_state, place_of


class Start(NamedTuple):
    """A run and its state. until: ns since 1970, when it was over as far as is known."""

    run: Run
    state: Effective
    until: int


def of_processes(starts: Sequence[Start], known: ProbeOf) -> Iterator[Happening]:
    """starts: of one benchmark on one host, in the order of time. Of runs that overlap nothing is said."""
    for one, other in pairwise(starts):
        if one.until <= other.run.opened.at:
            yield from _between(one, other, known)


def _between(one: Start, other: Start, known: ProbeOf) -> Iterator[Happening]:
    found = compare(_of_processes(one.state), _of_processes(other.state), known=known).changes
    told = Happening(
        host=other.state.host,
        kind="state",
        since=one.until,
        until=other.run.opened.at,
        runs=(one.run.id, other.run.id),
    )
    same_boot = one.run.opened.opener.boot_id == other.run.opened.opener.boot_id
    for folded in found:
        if place_of(folded.first) == STARTED:
            if same_boot:
                container = folded.first.key.target
                yield replace(told, kind="container start", what=container, says="Its container was started anew.")
        elif folded.first.leads and folded.follows is None:
            yield as_state(folded, told, found)


def _of_processes(state: Effective) -> Effective:
    sections = {key: standing for key, standing in state.sections.items() if key.target}
    return replace(state, sections=sections, samples={}, vary=())
