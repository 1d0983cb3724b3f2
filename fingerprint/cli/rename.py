"""fingerprint rename."""

import click

from fingerprint.cli.options import RUN
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble


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
    from fingerprint.cli.served import keeper
    from fingerprint.cli.served import rename as renamed
    from fingerprint.store import check_name

    invocation = Invocation()
    found = invocation.run(old)
    name = found.latest.name
    series = found.store.runs(name=name)
    if len(found.attempts) < len(series):
        raise Trouble(
            f"'{old}' is one of the {len(series)} attempts of {name}, and a series has one name: write {name}"
        )
    if service := keeper(invocation, found.store):
        renamed(service, found.latest.id, check_name(new))
    else:
        found.store.writable().rename(name, new)
