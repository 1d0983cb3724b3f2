"""A timeline as lines in the order of time, what happened often folded: the same in every form."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, Union

from fingerprint.explain.contract import EVERY_RUN
from fingerprint.report.phrases import listed
from fingerprint.report.timeline.times import since, span
from fingerprint.timeline.contract import Event, Run, Timeline
from fingerprint.words import before_after, quantity

MANY = 4
"""From so many of one kind in a stretch on they are one line."""
AT_ONCE = 6
"""So many states that changed at one time are told by name."""
METRICS = 3
AREAS = 4
TERMS = {"state": "changed", "container start": "container", "clock jump": "clock"}
"""What is not called by its kind."""


NOT_ABOUT = ("boot", "kernel", "suspend", "clock jump")
"""Kinds that are about the host, or whose class is told as the kind."""
SAYS = {"boot": "The host was started again.", "driver load": "The driver was loaded again."}


class Line(NamedTuple):
    """at: as the contract writes times. marks: `A` and `B` of the runs that went on, `|` of others. term: what kind it
    is of; what: about what; says: what is said of it; when: what is known of the time, where that is not all. more: a
    run's metrics."""

    at: str
    marks: str
    term: str
    what: str
    says: str
    when: str = ""
    more: str = ""


class _End(NamedTuple):
    run: Run


Item: TypeAlias = Union[Event, Run, _End]


class _Told(NamedTuple):
    """What is told in one line: an item, many alike, or the rest of what changed at one time."""

    items: Sequence[Item]
    how: Literal["one", "many", "rest"] = "one"


def lines(timeline: Timeline) -> list[Line]:
    """All of a timeline."""
    return [_placed(told, timeline) for stretch in _stretches(timeline) for told in _folded(stretch)]


def label(run: Run) -> str:
    """As a run argument: the first attempt of a series needs no number."""
    return run.name if run.attempt == 1 else f"{run.name}#{run.attempt}"


def change(event: Event) -> str:
    """`600 -> 450 W`, or what is said of it."""
    is_told = event.kind != "state" or (event.was is None and event.is_ is None)
    said = event.says or SAYS.get(event.kind, "")
    return said if is_told else before_after(event.was, event.is_, event.unit, event.what)


def about(event: Event) -> str:
    """What it is about, where neither its kind nor what is said of it tells."""
    told = event.kind in (*NOT_ABOUT, event.what) or event.what in change(event)
    return "" if told and event.kind != "state" else event.what


def when(event: Event) -> str:
    """What is known of the time; empty where all is."""
    return "" if event.since == event.until else f"after {since(event.since, event.until)}"


def _stretches(timeline: Timeline) -> Iterator[list[Item]]:
    """What lies between two boots, and beginnings and ends of runs that a person made; each of those stands alone."""
    stretch: list[Item] = []
    for item in _ordered(timeline):
        if _stands_alone(item):
            yield from (stretch, [item])
            stretch = []
        else:
            stretch.append(item)
    yield stretch


def _stands_alone(item: Item) -> bool:
    if isinstance(item, Event):
        return item.kind == "boot"
    run = item.run if isinstance(item, _End) else item
    return bool(run.mark) or not run.by_service


def _ordered(timeline: Timeline) -> list[Item]:
    """The end of a run is told where something happened while it ran."""
    found: list[tuple[str, int, Item]] = [(event.until, 1, event) for event in timeline.events]
    found += [(run.started, 2, run) for run in timeline.runs]
    busy = [run for run in timeline.runs if run.ended and any(_went_on(run, event) for event in timeline.events)]
    found += [(run.ended, 0 if run.started < run.ended else 3, _End(run)) for run in busy if _stands_alone(run)]
    return [item for _, _, item in sorted(found, key=lambda it: it[:2])]


def _went_on(run: Run, event: Event) -> bool:
    """Whether it is known that it did."""
    return run.host == event.host and run.started <= event.since and (not run.ended or event.until <= run.ended)


def _folded(stretch: Sequence[Item]) -> Iterator[_Told]:
    groups: dict[Hashable, list[Item]] = defaultdict(list)
    for item in stretch:
        groups[_about(item)].append(item)
    many = {about for about, group in groups.items() if len(group) >= MANY}
    told: set[Hashable] = set()
    at_once: dict[Hashable, int] = defaultdict(int)
    for item in stretch:
        about = _about(item)
        if about in many:
            yield from [_Told(groups[about], "many")] if about not in told else []
            told.add(about)
            continue
        at_once[_moment(item)] += 1
        if at_once[_moment(item)] == AT_ONCE and len(rest := _rest(stretch, item, many)) > 1:
            yield _Told(rest, "rest")
        elif at_once[_moment(item)] <= AT_ONCE:
            yield _Told([item])


def _about(item: Item) -> Hashable:
    if isinstance(item, Event):
        return item.host, item.kind, item.what
    return item.run.id if isinstance(item, _End) else (item.host, item.name)


def _moment(item: Item) -> Hashable:
    """Of states alone: of what else happened each is told."""
    return (item.since, item.until, item.host) if isinstance(item, Event) and item.kind == "state" else id(item)


def _rest(stretch: Sequence[Item], item: Item, many: set[Hashable]) -> list[Item]:
    """This item, and those behind it of its moment."""
    behind = stretch[next(at for at, it in enumerate(stretch) if it is item) :]
    return [it for it in behind if _moment(it) == _moment(item) and _about(it) not in many]


def _placed(told: _Told, timeline: Timeline) -> Line:
    """Where there are several hosts, each line tells of which it is."""
    line, first = _line(told, timeline), told.items[0]
    host = first.run.host if isinstance(first, _End) else first.host
    return line._replace(what=f"{host} {line.what}".strip()) if timeline.hosts[1:] else line


def _line(told: _Told, timeline: Timeline) -> Line:
    first, last = told.items[0], told.items[-1]
    if isinstance(first, Event) and isinstance(last, Event):
        return _of_events(told, first, last, timeline)
    if isinstance(first, _End):
        return Line(first.run.ended, _marks([first.run]), "run", label(first.run), "ended")
    assert isinstance(first, Run)
    assert isinstance(last, Run)
    if told.how == "many":
        says = f"{len(told.items)} runs of it until {since(last.ended or last.started, first.started)}"
        return Line(first.started, _marks([first]), "run", first.name, says)
    return Line(first.started, _marks([first]), "run", label(first), _how(first), more=metrics(first))


def _of_events(told: _Told, first: Event, last: Event, timeline: Timeline) -> Line:
    marks = _marks([run for run in timeline.runs if _went_on(run, first)])
    term, what = term_of(first), about(first)
    if told.how == "one":
        return Line(first.until, marks, term, what, _said(first), when(first))
    if told.how == "rest":
        areas = list(dict.fromkeys(it.what.partition("/")[0] for it in told.items if isinstance(it, Event)))
        return Line(first.until, marks, term, "", f"and {len(told.items)} more, of {listed(areas, AREAS)}", when(first))
    until = since(last.until, first.until)
    which = f"the last {change(last)}" if first.kind == "state" else f"the first: {change(first)}"
    return Line(first.until, marks, term, what, f"{len(told.items)} times until {until}, {which}".rstrip(": "))


def term_of(event: Event) -> str:
    """Of lines of the kernel their class."""
    return event.what if event.kind == "kernel" and event.what else TERMS.get(event.kind, event.kind)


def _said(event: Event) -> str:
    on = f", on {event.count}" if event.count > 1 else ""
    with_it = f"; with it {listed(event.follows, 1)}" if event.follows else ""
    return f"{change(event)}{on}{with_it}"


def _how(run: Run) -> str:
    good = ", marked good" if run.good else ""
    return f"{span(run.started, run.ended)}, {run.how}{good}" if run.ended else f"{run.how}{good}"


def metrics(run: Run, most: int = METRICS) -> str:
    """The first of what its benchmark measured; of one that measured nothing how long it took."""
    own = [it for it in run.metrics if it.name not in EVERY_RUN] or run.metrics[:1]
    return listed([f"{it.name} {quantity(it.value, it.unit)}" for it in own], most)


def _marks(runs: Sequence[Run]) -> str:
    return "".join(sorted({run.mark.upper() or "|" for run in runs}))
