"""fingerprint snapshot."""

import json

import click

from fingerprint.cli.options import output_format, quiet
from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="""\
fingerprint snapshot
fingerprint snapshot --area cpu --area memory --format json
fingerprint snapshot --replay my-host      (made by: fingerprint record my-host)""",
)
@click.option("--area", "only", multiple=True, metavar="AREA", help="Read this area alone; may be repeated.")
@click.option("--budget", type=float, metavar="SECONDS", help="Give up what is not read by then.  [default: 5]")
@click.option("--no-store", is_flag=True, help="Print it and keep nothing.")
@click.option(
    "--replay", type=click.Path(), metavar="FOLDER", help="Read a recording instead of this machine, and keep nothing."
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
    document = invocation.document(snapshot)
    if form == "json":
        click.echo(json.dumps(document, indent=2))
    else:
        from fingerprint.report.snapshot import render

        click.echo(render(document, width=invocation.width, color=invocation.color), nl=False, color=invocation.color)
