"""fingerprint export."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import RUN
from fingerprint.cli.verb import Verb
from fingerprint.cli.writing import write
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.store import Found


@click.command(
    cls=Verb,
    examples="""\
fingerprint export run-A run-B -o friday.json
fingerprint export run-A | ssh other fingerprint import -""",
)
@click.argument("runs", type=RUN, nargs=-1, required=True)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write there, not to standard output."
)
def command(runs: tuple[str, ...], output: Path | None) -> None:
    """Write runs or snapshots into one file; private values stay digests."""
    from fingerprint.cli.invocation import Invocation

    stores = Invocation().stores
    document = exported([stores.resolve(run) for run in runs])
    if output is None:
        sys.stdout.buffer.write(document)
        return
    write(output, document)


def exported(found: "Sequence[Found]") -> bytes:
    """One document of one store. Raises Trouble where two stores are meant."""
    from fingerprint.store import FoundRun

    store = found[0].store
    if any(each.store is not store for each in found):
        raise Trouble("these are in two stores: export the runs of each by themselves")
    runs = [attempt.id for each in found if isinstance(each, FoundRun) for attempt in each.attempts]
    snapshots = [each.id for each in found if not isinstance(each, FoundRun)]
    return store.export(runs, snapshots) + b"\n"
