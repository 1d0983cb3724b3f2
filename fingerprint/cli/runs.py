"""fingerprint runs."""

import json
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import TEXT, output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation

HEADER = ("run", "started", "for", "ended", "benchmark", "host", "id", "")


@click.command(
    cls=Verb,
    examples="""\
fingerprint runs
fingerprint runs --good --limit 5 --format json""",
)
@click.option("--name", metavar="NAME", type=TEXT, help="Only the attempts of this series.")
@click.option("--benchmark", metavar="B", type=TEXT, help="Only runs of this benchmark.")
@click.option("--good", is_flag=True, default=None, help="Only those marked good.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, 10**9), default=20, show_default=True, help="The newest this many."
)
@output_format("text", "json")
def command(name: str | None, benchmark: str | None, good: bool | None, limit: int, form: str) -> None:
    """List the runs that are kept, the newest last."""
    from fingerprint.cli.invocation import Invocation
    from fingerprint.documents import of_row

    invocation = Invocation()
    rows = invocation.stores.runs(name=name, benchmark=benchmark, good=good, limit=limit)
    listed = [of_row(row) for row in rows]
    if form == "json":
        click.echo(json.dumps(listed, indent=2))
    elif listed:
        click.echo(_table(invocation, listed), nl=False)
    elif name or benchmark or good:
        click.echo("no such run is kept: `fingerprint runs` lists what there is")
    else:
        click.echo("no run is kept yet: fingerprint run --name run-A -- CMD")


def _table(invocation: "Invocation", listed: list[dict[str, Any]]) -> str:
    from fingerprint.report.tables import table

    width = invocation.width if invocation.is_terminal else None
    return table(HEADER, [_row(document) for document in listed], width=width, color=invocation.color)


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    from fingerprint.words import moment

    end = document["closed"]["at"] if document["closed"] else document["last_at"]  # a note or mark comes later
    seconds = (end - document["opened_at"]) / 1e9
    marks = ["good"] * document["good"] + [document["origin"]] * (document["origin"] != "user")
    name, started = f"{document['name']}#{document['attempt']}", moment(document["opened_at"])
    where = (document["benchmark"], document["host"], document["id"])
    return (name, started, f"{seconds:.1f} s", document["ended"], *where, " ".join(marks))
