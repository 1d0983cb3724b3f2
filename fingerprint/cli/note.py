"""fingerprint note."""

import click

from fingerprint.cli.options import RUN, TEXT
from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="fingerprint note run-B 'after the BIOS update'",
)
@click.argument("run", type=RUN)
@click.argument("text", type=TEXT)
def command(run: str, text: str) -> None:
    """Write a remark beside a run; `show` prints it."""
    from fingerprint.cli.invocation import Invocation

    found = Invocation().run(run)
    found.store.writable().note(found.latest.id, text)
