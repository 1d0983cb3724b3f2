"""fingerprint schema."""

import click

from fingerprint.cli.verb import Verb

SCHEMAS = ("diff", "snapshot")


@click.command(
    cls=Verb,
    examples="""\
fingerprint schema diff > fingerprint.diff.schema.json""",
)
@click.argument("name", type=click.Choice(SCHEMAS))
def command(name: str) -> None:
    """Print the JSON Schema of what `diff` (or `status`), or `snapshot`, gives as JSON."""
    import json

    if name == "diff":
        from fingerprint.report.json import schema
    else:
        from fingerprint.catalog import schema
    click.echo(json.dumps(schema(), indent=2))
