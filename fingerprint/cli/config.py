"""fingerprint config."""

import json
import os
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.settings import Value


@click.command(
    cls=Verb,
    examples="""\
fingerprint config
fingerprint config --format json""",
)
@output_format("text", "json")
def command(form: str) -> None:
    """Print every setting, its value, and where it came from."""
    from fingerprint.settings import values

    found = values(os.environ)
    if form == "json":
        click.echo(json.dumps([value._asdict() for value in found], indent=2))
        return
    width = max(len(value.key) for value in found)
    for value in found:
        click.echo(f"{value.key:{width}}  {json.dumps(value.value)}  ({_origin(value)})")


def _origin(value: "Value") -> str:
    """Of the store that nobody chose also where it is."""
    from fingerprint.store.place import default_path

    return f"{value.origin}: {default_path()}" if value.key == "store" and not value.value else value.origin
