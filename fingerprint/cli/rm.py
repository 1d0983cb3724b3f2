"""fingerprint rm."""

from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import RUN, quiet
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.store import Store
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
    wanted: dict[Store, dict[str, None]] = {}
    for found in [invocation.run(run) for run in runs]:
        wanted.setdefault(found.store, {}).update(dict.fromkeys(attempt.id for attempt in found.attempts))
    for store, ids in [(store.writable(), ids) for store, ids in wanted.items()]:
        removed = store.remove(ids)
        if not quiet:
            click.echo(in_words(removed))


def in_words(removed: "Removed") -> str:
    """What is gone."""
    names = ", ".join(map(str, removed.runs)) or "no run"
    return f"removed {names}; with it {removed.snapshots} snapshots that no other run needs"
