"""fingerprint explain."""

import click

from fingerprint.cli.options import FACT_OR_RULE
from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="""\
fingerprint explain memory/transparent_hugepage/enabled
fingerprint explain 'process/*/env/NCCL_*'
fingerprint explain power-limit""",
)
@click.argument("what", metavar="PATH|RULE", type=FACT_OR_RULE)
def command(what: str) -> None:
    """Say of one fact what it is, why it is read, from where, how to put it back, and what it can move.

    Of a rule of the mechanism graph, as a diff names it: what it sees, what it moves and why, what has to be seen for
    it to bind, how much it can explain, and how to confirm it.
    """
    from fingerprint.explain.reference import explain
    from fingerprint.trouble import Trouble

    try:
        click.echo(explain(what))
    except LookupError as error:
        raise Trouble(str(error.args[0])) from None
