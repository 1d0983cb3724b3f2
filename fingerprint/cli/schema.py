"""fingerprint schema."""

from typing import Any

import click

from fingerprint.cli.verb import Verb

SCHEMAS = ("diff", "gate", "snapshot")


@click.command(
    cls=Verb,
    examples="""\
fingerprint schema diff > fingerprint.diff.schema.json""",
)
@click.argument("name", type=click.Choice(SCHEMAS))
def command(name: str) -> None:
    """Print the JSON Schema of what `diff` (or `status`), `gate` or `snapshot` gives as JSON."""
    import json

    click.echo(json.dumps(_schema(name), indent=2))


def _schema(name: str) -> "dict[str, Any]":
    from fingerprint.report.json import schema

    if name == "diff":
        from fingerprint.explain.contract import Diff

        return schema(Diff)
    if name == "gate":
        from fingerprint.gate.contract import Verdict

        return schema(Verdict)
    from fingerprint import catalog

    return catalog.schema()
