"""A timeline as a page: the picture, then every moment and every run in a table."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fingerprint.report.html.page import page, section
from fingerprint.report.markup import Child, Html, arrows, path, tag
from fingerprint.report.timeline.drawing import drawing
from fingerprint.report.timeline.told import Line, label, lines, metrics
from fingerprint.timeline.contract import Run, Timeline

MEASURED = 6


def render(timeline: Timeline) -> str:
    """One file that loads nothing, and needs no script."""
    loaded = msgspec.json.decode(msgspec.json.encode(timeline), type=Timeline)
    return page(f"{', '.join(loaded.hosts)}: fingerprint timeline", _header(loaded), *_parts(loaded), script="")


def _header(timeline: Timeline) -> Html:
    sides = [
        tag("p", tag("b", letter, class_=f"side {letter.lower()}"), " ", tag("b", name), class_="run")
        for letter, name in (("A", timeline.a), ("B", timeline.b))
        if name
    ]
    when = tag("p", f"{timeline.since} until {timeline.until}")
    return tag("header", tag("p", "fingerprint timeline", class_="kind"), tag("h1", arrows(timeline.says)), when, sides)


def _parts(timeline: Timeline) -> Iterator[Child]:
    if timeline.events or timeline.runs:
        picture = tag("div", drawing(timeline), class_="wide", tabindex=0, role="region", aria_label="The picture")
        yield section("On one axis", tag("figure", picture), aside="gaps drawn shorter are shaded")
        yield section("Moments", _table(("Time", "Run", "Kind", "What", "When"), map(_moment, lines(timeline))))
    if timeline.runs:
        table = _table(("Run", "Side", "Began", "Ended", "How", "Measured"), map(_run, timeline.runs))
        yield section("Runs", tag("details", tag("summary", f"{len(timeline.runs)} in all"), table))
    yield [tag("p", f"{note}.", class_="note") for note in timeline.notes]


def _table(head: Sequence[str], rows: Iterable[Sequence[Child]]) -> Html:
    titles = tag("tr", [tag("th", title, scope="col") for title in head])
    body = [tag("tr", [tag("td", cell) for cell in row]) for row in rows]
    table = tag("table", tag("thead", titles), tag("tbody", body), class_="moments")
    return tag("div", table, class_="wide", tabindex=0, role="region", aria_label=head[0])


def _moment(line: Line) -> Sequence[Child]:
    what = [path(line.what), " "] if "/" in line.what else [line.what, " "] if line.what else []
    more = tag("p", line.more, class_="note") if line.more else None
    said = [tag("span", *what, arrows(line.says)), more]
    return line.at, tag("span", line.marks, class_="mark"), line.term, said, line.when


def _run(run: Run) -> Sequence[Child]:
    mark = tag("b", run.mark.upper(), class_=f"side {run.mark}") if run.mark else ""
    how = f"{run.how}{', marked good' if run.good else ''}{', opened by the service' if run.by_service else ''}"
    return label(run), mark, run.started, run.ended or "(still open)", how, metrics(run, MEASURED)
