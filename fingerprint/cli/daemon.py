"""fingerprint daemon."""

import gc
import sys
from typing import NoReturn

import click

from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="""\
fingerprint daemon
fingerprint daemon reader          (only what reads the host for it, with the rights that this needs)""",
    exits={
        "0": "told to end: SIGTERM, SIGINT",
        "1": "it cannot begin now, and may later: the store is locked, or its disk is full",
        "2": "trouble, told in one sentence on standard error: it cannot begin",
    },
)
@click.argument("part", type=click.Choice(["reader"]), required=False)
@click.argument("socket", type=click.Path(), required=False)
def command(part: str | None, socket: str | None) -> NoReturn:
    """Record this host until told to end, as the service does: what fingerprintd is.

    SIGHUP: read the configuration again. SOCKET: where the reader listens, instead of where the settings say.
    """
    from fingerprint.service.__main__ import main

    gc.enable()  # no other verb lives long enough
    sys.argv[1:] = [word for word in (part, socket) if word]
    main()
    raise AssertionError("it exits")
