"""fingerprint snapshot."""

import json

import click

from fingerprint.cli.options import AREA, output_format, quiet
from fingerprint.cli.verb import Verb

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
    only: tuple[str, ...], budget: float | None, no_store: bool, replay: str | None, form: str, quiet: bool
) -> None:
    """Read the state of this host now, and keep it."""
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation({"budget_s": budget}, replay)
    no_store = no_store or replay is not None
    needed = ("sqlite3", "fingerprint.store") if not no_store else ()
    reports = ("fingerprint.report.snapshot",) if form == "text" and not quiet else ()
    snapshot = invocation.snapshot(only, (*needed, *reports))
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
