"""fingerprint end."""

import os
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import RUN, quiet
from fingerprint.cli.saying import say
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.run import Run
    from fingerprint.store import RunRow, Store
    from probes.kit.host import Host


@click.command(
    cls=Verb,
    examples="""\
fingerprint end run-A
fingerprint end          (the one that goes on)""",
    exits={
        "0": "recorded",
        "2": "trouble, told in one sentence on standard error: none goes on, or several, or its sampler is gone",
    },
)
@click.argument("run", type=RUN, required=False)
@quiet()
def command(run: str | None, quiet: bool) -> None:
    """End a run that `begin` has begun, or that `attach` records elsewhere."""
    from fingerprint.cli.invocation import Invocation
    from fingerprint.comparing import load
    from probes.kit.host import Host

    invocation, host = Invocation(), Host()
    row, store = _meant(invocation, host, run)
    if store.origin == "service":
        _end_there(invocation, row, quiet)
        return
    _end(host, load(store, row.id))
    ended = load(store, row.id)
    if ended.closed is None:
        raise Trouble(f"{ended.label} is interrupted: its sampler ended without closing it; what it had is kept")
    for trouble in ended.troubles:
        say(trouble)
    if not quiet:
        say(f"recorded {ended.label} (see: fingerprint show {ended.label})")


def _end_there(invocation: "Invocation", row: "RunRow", quiet: bool) -> None:
    """Of a run that the service records: by the service, which is not to be ended with it."""
    from fingerprint.cli.served import end

    if invocation.service is None:
        raise Trouble(
            f"{row} was recorded by the service, which does not run: it is interrupted, and what it had is kept"
        )
    end(invocation.service, row.id)
    if not quiet:
        say(f"recorded {row} (see: fingerprint show {row})")


def _meant(invocation: "Invocation", host: "Host", run: str | None) -> "tuple[RunRow, Store]":
    if run is not None:
        found = invocation.run(run)
        return found.latest, found.store
    from fingerprint.comparing import load
    from fingerprint.runs.opener import is_alive

    stores = invocation.stores
    by_origin: dict[str, Store] = {store.origin: store for store in stores.stores}
    own = [row for row in stores.runs(service=False) if row.closed is None]
    alive = [row for row in own if is_alive(host, row.opener)]
    going = [(row, by_origin[row.origin]) for row in alive if load(by_origin[row.origin], row.id).opened.attached]
    if len(going) != 1:
        names = " and ".join(str(row) for row, _ in going)
        raise Trouble(f"{names} go on: say which to end" if going else "no run goes on that `begin` or `attach` began")
    return going[0]


def _end(host: "Host", run: "Run") -> None:
    """Raises Trouble where it cannot be ended."""
    from fingerprint.runs.ending import SECONDS, end_of
    from fingerprint.runs.run import ended

    opener = run.opened.opener
    if run.closed is not None:
        raise Trouble(f"{run.label} is over: it {ended(run.closed, 'closed')}")
    if run.opened.host != os.uname().nodename:
        raise Trouble(f"{run.label} is recorded on {run.opened.host}: end it there")
    if not run.opened.attached:
        raise Trouble(f"{run.label} is a run of a command, and ends with it")
    try:
        if not end_of(host, opener):
            raise Trouble(f"the sampler of {run.label}, process {opener.pid}, has not ended within {SECONDS:g} s")
    except ProcessLookupError:
        raise Trouble(
            f"{run.label} is interrupted: its sampler, process {opener.pid}, is gone; what it had is kept"
        ) from None
    except PermissionError:
        raise Trouble(f"{run.label} is recorded by another user: end it as that user, or as root") from None
