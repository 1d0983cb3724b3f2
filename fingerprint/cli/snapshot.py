"""fingerprint snapshot."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import AREA, output_format, quiet
from fingerprint.cli.saying import say
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.snapshot import Snapshot

SECONDS = click.FloatRange(0, 3600, min_open=True)


@click.command(
    cls=Verb,
    examples="""\
fingerprint snapshot
fingerprint snapshot --area cpu --area memory --format json
fingerprint snapshot --replay my-host      (made by: fingerprint record my-host)""",
)
@click.option("--area", "only", multiple=True, type=AREA, help="Read this area alone; may be repeated.")
@click.option(
    "--budget", type=SECONDS, metavar="SECONDS", help="Give up what is not read by then.  [default: budget_s]"
)
@click.option("--fresh", is_flag=True, help="Have it read now where a service would tell what it read last.")
@click.option("--no-store", is_flag=True, help="Print it and keep nothing.")
@click.option(
    "--replay",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Read a recording instead of this machine, and keep nothing.",
)
@output_format("text", "json")
@quiet()
def command(
    only: tuple[str, ...],
    budget: float | None,
    fresh: bool,
    no_store: bool,
    replay: str | None,
    form: str,
    quiet: bool,
) -> None:
    """Read the state of this host, and keep it. Where the service runs, it is what that read in the last minute."""
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation({"budget_s": budget}, replay)
    no_store = no_store or replay is not None
    needed = ("sqlite3", "fingerprint.store") if not no_store else ()
    reports = ("fingerprint.report.snapshot",) if form == "text" and not quiet else ()
    own = replay is not None or budget is not None
    snapshot = _of_service(invocation, only, fresh, quiet) if invocation.service and not own else None
    snapshot = snapshot or invocation.snapshot(only, (*needed, *reports))
    if not no_store:
        with invocation.store() as store:
            store.save(snapshot)
    if quiet:
        return
    from fingerprint.documents import of_snapshot

    document = of_snapshot(snapshot)
    if form == "json":
        click.echo(json.dumps(document, indent=2))
    else:
        from fingerprint.report.snapshot import render

        click.echo(render(document, width=invocation.width, color=invocation.color), nl=False, color=invocation.color)


def _of_service(invocation: "Invocation", only: Sequence[str], fresh: bool, quiet: bool) -> "Snapshot | None":
    """What the service read, and said when that was."""
    import time

    from fingerprint.cli.served import newest, now

    snapshot = (now if fresh else newest)(invocation, only or invocation.areas_of_host())
    if snapshot is not None and not quiet:
        ago = (time.time_ns() - snapshot.taken_at) / 1e9
        say(f"as the service read it {'now' if fresh else f'{ago:.0f} s ago (--fresh: read it now)'}")
    return snapshot
