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
    from fingerprint.cli.invocation import Invocation
    from fingerprint.imports.dumps import Dumps, Imported
    from fingerprint.store import Store
    from fingerprint.store.transfer import Imported as TakenIn

PEEKED = 4096


@click.command(
    cls=Verb,
    name="import",
    examples="""\
fingerprint import friday.json
fingerprint import /tmp/fingerprint-01JD5X2M7QK9.jsonl      (what `run` could not store)
fingerprint import nvidia-smi-q.txt lscpu.txt --name thursday --host gpu-07
fingerprint import nvidia-bug-report.log.gz --name before --at 2026-01-15T02:00
fingerprint import dumps/ --name before      (a folder, of which the rest is left out and named)""",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True, path_type=Path))
@click.option("--name", metavar="NAME", type=TEXT, help="What its runs are called here; dumps of other tools need one.")
@click.option("--host", metavar="HOST", type=TEXT, help="The host that dumps are of, where they name none.")
@click.option("--at", metavar="TIME", type=Time(is_end=False), help="When dumps were made.  [default: as they say]")
@quiet()
def command(files: tuple[Path, ...], name: str | None, host: str | None, at: int | None, quiet: bool) -> None:
    """Take in exported files, what a run could not write into its store, and what other tools printed.

    All dumps of other tools that are named together become one run, of which everything else is not read: see
    docs/imports.md for the tools.
    """
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation()
    ours = [file for file in files if _is_ours(file)]
    others = [file for file in files if file not in ours]
    if others and not name:
        raise Trouble(f"{others[0]} is no exported run: dumps of other tools become one that --name has to name")
    found = _dumps(others, invocation) if others else None
    with invocation.store() as store:
        for file in ours:
            taken = _taken_in(store, file, name)
            if not quiet:
                click.echo(f"{file}: {in_words(taken, [str(store.run(known)) for known in taken.known])}")
        if found and name:
            _record(invocation, store, found, name, host, at or 0, quiet)


def _is_ours(file: Path) -> bool:
    """Whether it begins as an exported file or a spill file does; one that cannot be read, too: the store says so."""
    from fingerprint.imports.files import beginning

    first = _peeked() if str(file) == "-" else beginning(file, PEEKED)
    return first is None or not first.strip() or (first.lstrip()[:1] == b"{" and b'"lscpu"' not in first)


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


def _dumps(files: Sequence[Path], invocation: "Invocation") -> "Dumps":
    from fingerprint.imports.dumps import from_paths, from_standard_input

    if str(files[0]) == "-":
        return from_standard_input(sys.stdin.buffer, invocation.redactor)
    return from_paths(files, invocation.redactor)


def _record(
    invocation: "Invocation", store: "Store", dumps: "Dumps", name: str, host: str | None, at: int, quiet: bool
) -> None:
    from fingerprint.imports.dumps import imported

    found = imported(dumps, at=at, host=host or f"the host of {name}", redactor=invocation.redactor)
    run = store.run(_recorded(invocation, store, found, name))
    if quiet:
        return
    areas = ", ".join(map(str, found.snapshot.readings))
    click.echo(f"{run}: {areas}")
    for note in found.notes:
        click.echo(f"  {note}")


def _recorded(invocation: "Invocation", store: "Store", found: "Imported", name: str) -> str:
    """A run that began and ended when the dumps were made."""
    from fingerprint.runs.opener import opener
    from fingerprint.runs.record import Closed, Noted, Opened, Snapped
    from fingerprint.version import __version__

    at, host = found.snapshot.taken_at, found.snapshot.host
    holder = opener(invocation.host)
    run = store.open_run(
        name, lambda attempt: Opened(at, name, attempt, "imported", host, holder, fingerprint=__version__)
    )
    store.append(run, Snapped(at, "before", store.save(found.snapshot)))
    for note in found.notes:
        store.append(run, Noted(at, note))
    store.append(run, Closed(at, "imported"))
    return run
