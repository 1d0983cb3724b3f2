"""fingerprint explain."""

import click

from fingerprint.cli.options import FACT
from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="""\
fingerprint explain memory/transparent_hugepage/enabled""",
)
@click.argument("path", type=FACT)
def command(path: str) -> None:
    """Say of one fact what it is, why it is read, from where, and how to put it back."""
    from fingerprint.catalog import explain
    from fingerprint.trouble import Trouble

    try:
        click.echo(explain(path))
    except LookupError as error:
        raise Trouble(str(error.args[0])) from None
