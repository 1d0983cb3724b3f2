"""fingerprint runs."""

import json
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import TEXT, output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.store import RunRow, Stores

HEADER = ("run", "started", "for", "ended", "benchmark", "host", "id", "")


@click.command(
    cls=Verb,
    examples="""\
fingerprint runs
fingerprint runs --name sglang-30000      (each segment of a server that the service records)
fingerprint runs --good --limit 5 --format json""",
)
@click.option("--name", metavar="NAME", type=TEXT, help="Only the attempts of this series.")
@click.option("--benchmark", metavar="B", type=TEXT, help="Only runs of this benchmark.")
@click.option("--good", is_flag=True, default=None, help="Only those marked good.")
@click.option("--all", "each", is_flag=True, help="Each segment of a server that the service records, as with --name.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, 10**9), default=20, show_default=True, help="The newest this many."
)
@output_format("text", "json")
def command(name: str | None, benchmark: str | None, good: bool | None, each: bool, limit: int, form: str) -> None:
    """List the runs that are kept, the newest last. A server that the service records is one line, with how many
    `segments` it has `since` when; those marked good have their own."""
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation()
    asked = {"name": name, "benchmark": benchmark, "good": good}
    listed = [_listed(rows) for rows in _lines(invocation.stores, asked, limit, each=each or name is not None)]
    if form == "json":
        click.echo(json.dumps(listed, indent=2))
    elif listed:
        click.echo(_table(invocation, listed), nl=False)
    elif name or benchmark or good:
        click.echo("no such run is kept: `fingerprint runs` lists what there is")
    else:
        click.echo("no run is kept yet: fingerprint run --name run-A -- CMD")


def _lines(stores: "Stores", asked: dict[str, Any], limit: int, *, each: bool) -> "list[list[RunRow]]":
    """What stands on one line, the newest last: a run, or all segments of a server unless `each` is to have its own."""
    if each:
        return [[row] for row in stores.runs(**asked, limit=limit)]
    lines: dict[tuple[str, ...], list[RunRow]] = {}
    for row in (*stores.runs(**asked, service=False, limit=limit), *stores.runs(**asked, service=True)):
        line = (row.origin, row.host, row.name) if row.service and not row.good else (row.origin, row.id)
        lines.setdefault(line, []).append(row)
    of_each = [sorted(rows, key=lambda row: row.attempt) for rows in lines.values()]
    return sorted(of_each, key=lambda rows: (rows[-1].opened_at, rows[-1].id))[-limit:]


def _listed(rows: "list[RunRow]") -> dict[str, Any]:
    """The last of them, and what it is the last of. since: ns since 1970."""
    from fingerprint.documents import of_row

    return {**of_row(rows[-1]), "segments": len(rows), "since": rows[0].opened_at}


def _table(invocation: "Invocation", listed: list[dict[str, Any]]) -> str:
    from fingerprint.report.tables import table

    width = invocation.width if invocation.is_terminal else None
    return table(HEADER, [_row(document) for document in listed], width=width, color=invocation.color)


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    from fingerprint.words import moment

    segments = document["segments"]
    end = document["closed"]["at"] if document["closed"] else document["last_at"]  # a note or mark comes later
    seconds = (end - document["since"]) / 1e9
    name, lasted = f"{document['name']}#{document['attempt']}", f"{seconds:.1f} s"
    if segments > 1:
        name, lasted = document["name"], f"{seconds / 3600:.1f} h"
    marks = [f"{segments} segments"] * (segments > 1) + ["good"] * document["good"]
    marks += [document["origin"]] * (document["origin"] != "user")
    where = (document["benchmark"], document["host"], document["id"])
    return (name, moment(document["since"]), lasted, document["ended"], *where, " ".join(marks))
