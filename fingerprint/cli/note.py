"""fingerprint note."""

import click

from fingerprint.cli.options import RUN, TEXT
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble


@click.command(
    cls=Verb,
    examples="fingerprint note run-B 'after the BIOS update'",
)
@click.argument("run", type=RUN)
@click.argument("text", type=TEXT)
def command(run: str, text: str) -> None:
    """Write a remark beside a run; `show` prints it."""
    from fingerprint.cli.invocation import Invocation
    from fingerprint.cli.served import keeper
    from fingerprint.cli.served import note as written

    if not text.strip():
        raise Trouble("TEXT is empty: write the remark, e.g. 'after the BIOS update'")
    invocation = Invocation()
    found = invocation.run(run)
    if service := keeper(invocation, found.store):
        written(service, found.latest.id, text)
    else:
        found.store.writable().note(found.latest.id, text)
