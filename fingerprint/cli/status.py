"""fingerprint status."""

from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.explain.contract import Diff
    from fingerprint.snapshot import Snapshot
    from fingerprint.store import FoundRun


@click.command(
    cls=Verb,
    examples="""\
fingerprint
fingerprint status --format json""",
)
@output_format("text", "json")
def command(form: str) -> None:
    """Say what differs now from the last good run (else the last run), and what cannot be read."""
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation()
    now = _now(invocation)
    earlier = _earlier(invocation)
    if earlier is None:
        if form == "json":
            click.echo("null")
        else:
            click.echo(
                "no run is kept yet, so there is nothing to compare this host with: fingerprint run --name run-A -- CMD"
            )
        return
    diff = _since(earlier, now)
    if form == "json":
        from fingerprint.report.json import render as as_json

        click.echo(as_json(diff), nl=False)
    else:
        click.echo(_in_words(invocation, earlier, diff), nl=False, color=invocation.color)


def _now(invocation: "Invocation") -> "Snapshot":
    """As a service reads it, which may read what this user may not."""
    if invocation.service is not None:
        from fingerprint.cli.served import now

        if snapshot := now(invocation, invocation.areas_of_host()):
            return snapshot
    return invocation.snapshot()


def _earlier(invocation: "Invocation") -> "FoundRun | None":
    """The last good run on this host, else the last one."""
    import os

    from fingerprint.store import FoundRun

    here = [row for row in invocation.stores.runs() if row.host == os.uname().nodename]
    chosen = next((row for row in reversed(here) if row.good), here[-1] if here else None)
    found = invocation.stores.resolve(chosen.id) if chosen else None
    return found if isinstance(found, FoundRun) else None


def _since(earlier: "FoundRun", now: "Snapshot") -> "Diff":
    from fingerprint.comparing import subject
    from fingerprint.explain import Subject, explain
    from fingerprint.runs.effective import effective_of_snapshot

    return explain(subject(earlier), Subject(name="now", state=effective_of_snapshot(now)))


def _in_words(invocation: "Invocation", earlier: "FoundRun", diff: "Diff") -> str:
    from fingerprint.report.status import render

    return render(diff, good=earlier.latest.good, width=invocation.width, color=invocation.color)
