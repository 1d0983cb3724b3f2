"""fingerprint rename."""

import click

from fingerprint.cli.options import RUN
from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="""\
fingerprint rename run-A thursday""",
)
@click.argument("old", type=RUN)
@click.argument("new")
def command(old: str, new: str) -> None:
    """Give a series another name."""
    from fingerprint.cli.invocation import Invocation

    found = Invocation().run(old)
    found.store.writable().rename(found.latest.name, new)
