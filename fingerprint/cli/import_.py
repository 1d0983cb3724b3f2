"""fingerprint import."""

import sys
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import TEXT, quiet
from fingerprint.cli.timeline import Time
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.store import Store
    from fingerprint.store.transfer import Imported as TakenIn

PEEKED = 4096
_OURS = b'"fingerprint.'
"""A schema's name, which stands in the beginning of all that is written here."""


@click.command(
    cls=Verb,
    name="import",
    examples="""\
fingerprint import friday.json
fingerprint import /tmp/fingerprint-01JD5X2M7QK9.jsonl      (what `run` could not store)
fingerprint import nvidia-smi-q.txt lscpu.txt --name thursday --host gpu-07
fingerprint import server.log result.json --name thursday      (an engine's log, a client's result)
fingerprint import nvidia-bug-report.log.gz --name before --at 2026-01-15T02:00
fingerprint import dumps/ --name before      (a folder, of which the rest is left out and named)""",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True, path_type=Path))
@click.option("--name", metavar="NAME", type=TEXT, help="What its runs are called here; files of other tools need one.")
@click.option("--host", metavar="HOST", type=TEXT, help="The host that files are of, where they name none.")
@click.option("--at", metavar="TIME", type=Time(is_end=False), help="When they were written.  [default: as they say]")
@quiet()
def command(files: tuple[Path, ...], name: str | None, host: str | None, at: int | None, quiet: bool) -> None:
    """Take in exported files, what a run could not write into its store, and what other tools printed.

    All dumps of other tools, logs of engines and results of clients that are named together become one run, of which
    everything else is not read: see docs/imports.md for the tools, docs/metrics.md for logs and results.
    """
    from fingerprint.cli.importing import Others
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.run import NO_HOST

    invocation = Invocation()
    ours = [file for file in files if _is_ours(file)]
    named = [file for file in files if file not in ours]
    if named and not name:
        raise Trouble(f"{named[0]} is no exported run: dumps of other tools become one that --name has to name")
    others = Others(invocation, named, host or f"{NO_HOST}{name}", at or 0) if named else None
    with invocation.store() as store:
        for file in ours:
            taken = _taken_in(store, file, name)
            if not quiet:
                click.echo(f"{file}: {in_words(taken, [str(store.run(known)) for known in taken.known])}")
        if others and name:
            run = others.record(store, name)
            if not quiet:
                click.echo("\n  ".join((f"{store.run(run)}: {others.what}", *others.notes)))


def _is_ours(file: Path) -> bool:
    """Whether it begins as an exported file or a spill file does; one that cannot be read, too: the store says so.

    Raises Trouble for one that is empty.
    """
    from fingerprint.imports.files import beginning

    is_piped = str(file) == "-"
    first = _peeked() if is_piped else beginning(file, PEEKED)
    if first is None or (is_piped and not first.strip()):
        return True
    if not first.strip():
        raise Trouble(f"{file} is empty: whatever should have written it wrote nothing")
    return first.lstrip()[:1] == b"{" and _OURS in first


def _peeked() -> bytes:
    stream = sys.stdin.buffer
    return stream.peek(PEEKED)[:PEEKED] if isinstance(stream, BufferedReader) else b""


def _taken_in(store: "Store", file: Path, name: str | None) -> "TakenIn":
    if str(file) == "-":
        return store.import_stream(sys.stdin.buffer, "standard input", name)
    return store.import_file(file, name)


def in_words(imported: "TakenIn", known: Sequence[str]) -> str:
    """What is new, and what was here already, under the names that it has here."""
    new = ", ".join(map(str, imported.runs)) or "no new run"
    return f"{new}, {imported.snapshots} new snapshots" + (f"; already here: {', '.join(known)}" if known else "")
