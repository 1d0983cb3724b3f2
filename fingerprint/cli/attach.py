"""fingerprint attach."""

from typing import Any

import click

from fingerprint.cli.options import quiet
from fingerprint.cli.saying import say
from fingerprint.cli.serving import Asked, options
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble


@click.command(
    cls=Verb,
    examples="""\
fingerprint attach --port 30000 --name run-A --for 10m
fingerprint attach --port 30000 --name run-A --metrics auto:server.log --for 10m
fingerprint attach --pid 4711 --name run-A      (until Ctrl-C, or until the server ends)
fingerprint attach --auto""",
    exits={
        "0": "recorded: it was ended by Ctrl-C, SIGTERM or --for, or the last server ended",
        "2": "trouble, told in one sentence on standard error: no such server, or a store that cannot be written",
    },
)
@options()
@quiet()
def command(quiet: bool, deep: bool, canary: bool, **asked: Any) -> None:
    """Record a run of a server that runs already: the host's state before, during and after."""
    from fingerprint.cli.collecting import Collecting
    from fingerprint.cli.invocation import Invocation
    from fingerprint.cli.serving import attachment, recorded, told

    invocation = Invocation({"deep": deep or None})
    attached = attachment(invocation, Asked(**asked), canary=canary)
    collecting = Collecting(asked["metrics"], None)
    if not quiet:
        say(f"{attached.name} records {told(invocation.host, attached.servers)} until Ctrl-C, or until it ends")
    done = recorded(invocation, attached, collecting)
    for unread in done.unread:
        say(unread)
    if done.trouble:
        raise Trouble(done.trouble)
    if not quiet:
        over = "the server ended; " if done.how == "server ended" else ""
        say(f"{over}recorded {attached.name} (see: fingerprint show {attached.name})")
