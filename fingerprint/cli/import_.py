"""fingerprint import."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import TEXT, quiet
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.store.transfer import Imported


@click.command(
    cls=Verb,
    name="import",
    examples="""\
fingerprint import friday.json
fingerprint import /tmp/fingerprint-01JD5X2M7QK9.jsonl      (what `run` could not store)""",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True, path_type=Path))
@click.option("--name", metavar="NAME", type=TEXT, help="What its runs are called here.")
@quiet()
def command(files: tuple[Path, ...], name: str | None, quiet: bool) -> None:
    """Take in exported files, and what a run could not write into its store."""
    from fingerprint.cli.invocation import Invocation

    with Invocation().store() as store:
        for file in files:
            if str(file) == "-":
                imported = store.import_stream(sys.stdin.buffer, "standard input", name)
            else:
                imported = store.import_file(file, name)
            if not quiet:
                click.echo(f"{file}: {in_words(imported, [str(store.run(known)) for known in imported.known])}")


def in_words(imported: "Imported", known: Sequence[str]) -> str:
    """What is new, and what was here already, under the names that it has here."""
    new = ", ".join(map(str, imported.runs)) or "no new run"
    return f"{new}, {imported.snapshots} new snapshots" + (f"; already here: {', '.join(known)}" if known else "")
