"""fingerprint rm."""

from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import RUN, quiet
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fingerprint.service.client import Client
    from fingerprint.store import RunRow, Store
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
    from fingerprint.cli.served import keeper

    invocation = Invocation()
    wanted: dict[Store, dict[str, RunRow]] = {}
    for found in [invocation.run(run) for run in runs]:
        wanted.setdefault(found.store, {}).update((attempt.id, attempt) for attempt in found.attempts)
    kept_by = {store: keeper(invocation, store) for store in wanted}
    writable = {store: store.writable() for store, service in kept_by.items() if service is None}
    for store, attempts in wanted.items():
        service = kept_by[store]
        removed = writable[store].remove(attempts) if service is None else _removed_by(service, attempts)
        if not quiet:
            click.echo(in_words(removed))


def _removed_by(service: "Client", attempts: "Mapping[str, RunRow]") -> "Removed":
    """The newest first: where that goes on and is refused, none is gone."""
    from fingerprint.cli.served import remove
    from fingerprint.store.house import Removed

    snapshots = sum([remove(service, run_id) for run_id in reversed([*attempts])])
    return Removed(tuple(attempts.values()), snapshots)


def in_words(removed: "Removed") -> str:
    """What is gone."""
    names = ", ".join(map(str, removed.runs)) or "no run"
    return f"removed {names}; with it {removed.snapshots} snapshots that no other run needs"
