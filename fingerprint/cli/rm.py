"""fingerprint rm."""

from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import RUN, quiet
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.store.house import Removed


@click.command(
    cls=Verb,
    examples="""\
fingerprint rm run-B#2
fingerprint rm run-B          (the whole series)""",
)
@click.argument("runs", type=RUN, nargs=-1, required=True)
@quiet()
def command(runs: tuple[str, ...], quiet: bool) -> None:
    """Remove runs, with the snapshots that nothing else needs."""
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation()
    for found in [invocation.run(run) for run in runs]:
        removed = found.store.writable().remove([attempt.id for attempt in found.attempts])
        if not quiet:
            click.echo(in_words(removed))


def in_words(removed: "Removed") -> str:
    """What is gone."""
    names = ", ".join(map(str, removed.runs)) or "no run"
    return f"removed {names}; with it {removed.snapshots} snapshots that no other run needs"
