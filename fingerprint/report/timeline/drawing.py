"""A timeline as one picture: a lane for each series of runs, for what was measured, and for each kind of event."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from fingerprint.explain.contract import EVERY_RUN
from fingerprint.report.html.charts import axis_of
from fingerprint.report.html.page import styles
from fingerprint.report.markup import Html, tag
from fingerprint.report.timeline.scale import Scale, scale_of
from fingerprint.report.timeline.times import clock, day, lasted, seconds
from fingerprint.report.timeline.told import about, change, label, metrics, term_of, when
from fingerprint.timeline.contract import Event, Run, Timeline
from fingerprint.words import quantity

WIDTH, LEFT, RIGHT = 960, 150, 24
LANE, WITH_ASIDE, METRIC_LANE, AXIS = 26, 36, 56, 40
SERIES, METRICS = 6, 2
APART = 96
"""px between two times that are written."""
NARROWEST, NEAR = 3, 5
LETTER_FROM = 14


class Lane(NamedTuple):
    """height: px. marks: drawn around the middle of the lane, y = 0."""

    name: str
    aside: str
    height: int
    marks: Sequence[Html]


class Axis(NamedTuple):
    scale: Scale

    def x(self, at: str) -> float:
        return self.share(self.scale.at(seconds(at)))

    def share(self, of: float) -> float:
        return round(LEFT + of * (WIDTH - LEFT - RIGHT), 1)


def render(timeline: Timeline) -> str:
    """A file by itself, light and dark, that loads nothing."""
    loaded = msgspec.json.decode(msgspec.json.encode(timeline), type=Timeline)
    return f"{drawing(loaded, style=styles('colors.css', 'timeline.css'))}\n"


def drawing(timeline: Timeline, style: Html | None = None) -> Html:
    """style: where it stands in no page that has one."""
    axis = Axis(scale_of(timeline))
    lanes = [*_series(timeline, axis), *_measured(timeline, axis), *_events(timeline, axis)]
    height = AXIS + sum(lane.height for lane in lanes) + 8
    return tag(
        "svg",
        tag("title", timeline.says),
        tag("desc", f"From {timeline.since} until {timeline.until}; each mark says what it is."),
        tag("style", style) if style else None,
        tag("rect", width=WIDTH, height=height, class_="backdrop"),
        _gaps(axis, height),
        _ruler(timeline, axis),
        _boots(timeline, axis, height),
        _stacked(lanes),
        role="img", viewBox=f"0 0 {WIDTH} {height}", width="100%", class_="timeline",
        xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip


def _stacked(lanes: Iterable[Lane]) -> Iterator[Html]:
    top = AXIS
    for lane in lanes:
        middle = top + lane.height / 2
        yield tag("line", x1=0, x2=WIDTH, y1=top, y2=top, class_="rule")
        yield tag("text", lane.name, x=0, y=middle + (-2 if lane.aside else 4), class_="name")
        yield tag("text", lane.aside, x=0, y=middle + 13) if lane.aside else Html()
        yield tag("g", lane.marks, transform=f"translate(0 {middle:g})")
        top += lane.height


def _gaps(axis: Axis, height: int) -> Iterator[Html]:
    for gap in axis.scale.gaps:
        left, right = axis.share(gap.left), axis.share(gap.right)
        said = tag("title", f"{lasted(gap.seconds)}, drawn shorter")
        yield tag("rect", said, x=left, y=AXIS, width=round(right - left, 1), height=height - AXIS, class_="gap")
        if right - left >= APART / 2:
            yield tag("text", lasted(gap.seconds), x=round((left + right) / 2, 1), y=14, text_anchor="middle")


def _ruler(timeline: Timeline, axis: Axis) -> Iterator[Html]:
    """The times that begin a run, or end the whole, as many as find room; the date where it is another."""
    last, date = float("-inf"), ""
    for at in (timeline.since, *(run.started for run in timeline.runs), timeline.until):
        x = axis.x(at) if timeline.since <= at else axis.x(timeline.since)
        if x - last >= APART:
            anchor = "end" if x > WIDTH - APART else "start"
            yield tag("text", clock(at)[:5] if day(at) == date else f"{day(at)[5:]} {clock(at)[:5]}", x=x, y=32,
                      text_anchor=anchor)  # fmt: skip
            last, date = x, day(at)


def _boots(timeline: Timeline, axis: Axis, height: int) -> Iterator[Html]:
    for event in timeline.events:
        if event.kind == "boot":
            x = axis.x(event.until)
            yield tag("line", x1=x, x2=x, y1=AXIS, y2=height, class_="boot")


def _series(timeline: Timeline, axis: Axis) -> Iterator[Lane]:
    """The marked ones first; those beyond SERIES share a lane."""
    names = list(dict.fromkeys(run.name for run in sorted(timeline.runs, key=lambda run: run.mark or "c")))
    own, others = names[:SERIES], names[SERIES:]
    for name in own:
        yield Lane(name, "", LANE, [_bar(run, timeline, axis) for run in timeline.runs if run.name == name])
    if others:
        bars = [_bar(run, timeline, axis) for run in timeline.runs if run.name in others]
        yield Lane(f"{len(others)} more series", "", LANE, bars)


def _bar(run: Run, timeline: Timeline, axis: Axis) -> Html:
    left, right = axis.x(run.started), axis.x(run.ended or timeline.until)
    width = max(round(right - left, 1), NARROWEST)
    said = ", ".join(filter(None, (label(run), f"{run.started} to {run.ended or 'now'}", run.how, metrics(run))))
    bar = tag("rect", tag("title", said), x=left, y=-7, width=width, height=14, rx=2, class_=f"bar {run.mark}".strip())
    if not run.mark or width < LETTER_FROM:
        return bar
    return tag("g", bar, tag("text", run.mark.upper(), x=left + width / 2, y=4, text_anchor="middle", class_="letter"))


def _measured(timeline: Timeline, axis: Axis) -> Iterator[Lane]:
    """What most runs measured, the benchmarks' own first."""
    names = [it.name for run in timeline.runs for it in run.metrics if it.name not in EVERY_RUN]
    names = names or [it.name for run in timeline.runs for it in run.metrics[:1]]
    for name in sorted(dict.fromkeys(names), key=lambda it: -names.count(it))[:METRICS]:
        found = [(run, it) for run in timeline.runs for it in run.metrics if it.name == name]
        ends = [quantity(of(it.value for _, it in found), found[0][1].unit) for of in (min, max)]
        low, high = axis_of([it.value for _, it in found])
        dots = [_dot(run, f"{label(run)}: {name} {quantity(it.value, it.unit)}", (it.value - low) / (high - low),
                     timeline, axis) for run, it in found]  # fmt: skip
        yield Lane(name, " to ".join(dict.fromkeys(ends)), METRIC_LANE, dots)


def _dot(run: Run, said: str, share: float, timeline: Timeline, axis: Axis) -> Html:
    """In the middle of its run, the higher the more. A circle, of B a diamond: told apart without colour."""
    x = (axis.x(run.started) + axis.x(run.ended or timeline.until)) / 2
    y = (METRIC_LANE / 2 - 8) * (1 - 2 * share)
    if run.mark == "b":
        return tag("path", tag("title", said), d=f"M{x:.1f} {y - 6:.1f}l6 6-6 6-6-6z", class_="dot b")
    return tag("circle", tag("title", said), cx=round(x, 1), cy=round(y, 1), r=4.5, class_=f"dot {run.mark}".strip())


def _events(timeline: Timeline, axis: Axis) -> Iterator[Lane]:
    for term in dict.fromkeys(map(term_of, timeline.events)):
        events = [event for event in timeline.events if term_of(event) == term]
        count = f"{len(events)} times" if events[1:] else ""
        yield Lane(term, count, WITH_ASIDE if count else LANE, [*_between(events, axis), *_points(events, axis)])


def _between(events: Sequence[Event], axis: Axis) -> Iterator[Html]:
    """Between which times it happened; alike for many that were noticed at one time."""
    for since, until in dict.fromkeys((event.since, event.until) for event in events):
        left, right = axis.x(since), axis.x(until)
        if right - left > NARROWEST:
            yield tag("line", x1=left, x2=right, y1=0, y2=0, class_="between")


def _points(events: Sequence[Event], axis: Axis) -> Iterator[Html]:
    """What is too near to be told apart is one, with its number."""
    near: list[list[Event]] = []
    for event in events:
        if near and axis.x(event.until) - axis.x(near[-1][0].until) < NEAR:
            near[-1].append(event)
        else:
            near.append([event])
    for group in near:
        x = axis.x(group[0].until)
        said = "; ".join(_said(event) for event in group[:3]) + (f"; and {len(group) - 3} more" if group[3:] else "")
        kind = "event kernel" if group[0].kind == "kernel" else "event"
        yield tag("path", tag("title", said), d=f"M{x} -6l6 6-6 6-6-6z", class_=kind)
        if group[1:]:
            yield tag("text", f"{len(group)}", x=x + 9, y=4)


def _said(event: Event) -> str:
    return " ".join(filter(None, (event.until, about(event), change(event), when(event))))
