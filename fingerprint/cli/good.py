"""fingerprint good."""

import click

from fingerprint.cli.options import RUN, quiet
from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="""\
fingerprint good run-A
fingerprint good run-A#2 --not""",
)
@click.argument("run", type=RUN)
@click.option("--not", "bad", is_flag=True, help="Take the mark away.")
@quiet()
def command(run: str, bad: bool, quiet: bool) -> None:
    """Mark a run as a good one, to compare others with (@good)."""
    from fingerprint.cli.invocation import Invocation
    from fingerprint.cli.served import keeper, mark_good

    invocation = Invocation()
    found = invocation.run(run)
    if service := keeper(invocation, found.store):
        mark_good(service, found.latest.id, not bad)
    else:
        found.store.writable().good(found.latest.id, not bad)
    if not quiet:
        click.echo(f"{found.latest} is {'no longer ' if bad else ''}marked good")
