"""fingerprint timeline."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import RUN, TEXT, output_format
from fingerprint.cli.verb import Verb
from fingerprint.cli.writing import write
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.store import FoundRun, RunRow, Store
    from fingerprint.timeline import Asked
    from fingerprint.timeline.contract import Mark, Timeline

# Format -> where its renderer is; the text has a width and colours besides.
RENDERERS = {
    "json": "fingerprint.report.json:render",
    "svg": "fingerprint.report.timeline.drawing:render",
    "html": "fingerprint.report.timeline.page:render",
    "markdown": "fingerprint.report.timeline.markdown:render",
}
DAY = 86_400_000_000_000
MARKS: "Sequence[Mark]" = ("a", "b")
RUNS = 10
"""Without any time, at least so many of the last runs are shown."""


TIMES = "2h, 30m, 02:00, yesterday, 2026-01-15 or 2026-01-15T02:00"


class Time(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.5 on
    """A moment as a window of a run argument writes it, or how long ago; ns since 1970."""

    name = "TIME"

    def __init__(self, *, is_end: bool) -> None:
        self.is_end = is_end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        import time

        from fingerprint.store.windows import span

        text = f"-{value}" if value[-1:].isalpha() and value[:1].isdigit() and value[:-1].isdigit() else value
        try:
            found = span(text, time.time_ns()) if ".." not in text else None
        except ValueError:
            found = None
        if found is None:
            self.fail(
                f"'{value}' is no time: write 2h, 30m, 02:00, yesterday, 2026-01-15 or 2026-01-15T02:00", param, ctx
            )
        return found.until if self.is_end else found.since


@click.command(
    cls=Verb,
    examples="""\
fingerprint timeline
fingerprint timeline run-A run-B
fingerprint timeline --since 2h
fingerprint timeline --since yesterday --until 02:00 --format json
fingerprint timeline run-A run-B --format html --output timeline.html""",
)
@click.argument("a", type=RUN, required=False)
@click.argument("b", type=RUN, required=False)
@click.option("--since", metavar="TIME", type=Time(is_end=False),
              help="From then on: 2h, 02:00, yesterday, 2026-01-15T02:00.  [default: from A on, else the last day, and "
              "as many more as hold 10 runs]")  # fmt: skip
@click.option("--until", metavar="TIME", type=Time(is_end=True),
              help="Until then.  [default: the end of B, else now]")  # fmt: skip
@click.option(
    "--host", metavar="HOST", type=TEXT, help="What was kept of this host.  [default: that of A, else this one]"
)
@output_format("text", *RENDERERS)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write there, not to standard output."
)
def command(form: str, output: Path | None, **asked: Any) -> None:
    """Show what happened in the order of time: boots, changes, the kernel's troubles, runs and what they measured.

    What the service noticed has the times between which it happened. Where none watched it is told by what runs and
    snapshots found: it changed between two readings.
    """
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation()
    found = _timeline(invocation, **asked)
    if output is not None:
        write(output, click.unstyle(_printed(invocation, found, form)).encode())
    else:
        click.echo(_printed(invocation, found, form), nl=False, color=invocation.color)


def _timeline(
    invocation: "Invocation", a: str | None, b: str | None, since: int | None, until: int | None, host: str | None
) -> "Timeline":
    from fingerprint.runs.opener import is_alive
    from fingerprint.timeline import timeline
    from probes.kit.host import Host

    sides = [invocation.run(text) for text in (a, b) if text is not None]
    sources: dict[int, Store] = {id(store): store for store in invocation.stores.stores}
    sources |= {id(side.store): side.store for side in sides}
    here = Host()
    asked = _asked(invocation, sides, since, until, host)
    return timeline(list(sources.values()), asked, lambda opener: is_alive(here, opener))


def _asked(
    invocation: "Invocation", sides: "list[FoundRun]", since: int | None, until: int | None, host: str | None
) -> "Asked":
    import os
    import time

    from fingerprint.timeline import Asked

    rows = [row for side in sides for row in side.attempts]
    hosts = (host,) if host else tuple(dict.fromkeys(row.host for row in rows)) or (os.uname().nodename,)
    end = until if until is not None else _over(rows) if sides[1:] else time.time_ns()
    begin = since if since is not None else _begin(invocation, rows, hosts, end)
    if begin > end:
        raise Trouble("the time that is asked for ends before it begins: --since comes before --until")
    marks: dict[str, Mark] = {row.id: mark for mark, side in zip(MARKS, sides, strict=False) for row in side.attempts}
    names = (side.latest.name if side.attempts[1:] else _label(side.latest) for side in sides)
    one, other, *_ = (*names, "", "")
    return Asked(hosts, begin, end, (one, other), marks)


def _over(rows: "Sequence[RunRow]") -> int:
    return max(row.closed.at if row.closed else row.last_at for row in rows)


def _label(row: "RunRow") -> str:
    return row.name if row.attempt == 1 else str(row)


def _begin(invocation: "Invocation", rows: "Sequence[RunRow]", hosts: tuple[str, ...], end: int) -> int:
    """Where the first of what is marked began; where nothing is, that of the last runs, and a day ago at the latest."""
    if rows:
        return min(row.opened_at for row in rows)
    here = [row for row in invocation.stores.runs() if row.host in hosts and row.opened_at <= end]
    return min([end - DAY, *(row.opened_at for row in here[-RUNS:])])


def _printed(invocation: "Invocation", timeline: "Timeline", form: str) -> str:
    if form in RENDERERS:
        module, _, name = RENDERERS[form].partition(":")
        renderer: Callable[[Timeline], str] = getattr(import_module(module), name)
        return renderer(timeline)
    from fingerprint.report.timeline.text import render

    return render(timeline, width=invocation.width, color=invocation.color)
