"""fingerprint schema."""

from typing import Any

import click

from fingerprint.cli.verb import Verb

SCHEMAS = ("api", "diff", "gate", "snapshot", "timeline")


@click.command(
    cls=Verb,
    examples="""\
fingerprint schema diff > fingerprint.diff.schema.json""",
)
@click.argument("name", type=click.Choice(SCHEMAS))
def command(name: str) -> None:
    """Print the JSON Schema of what `diff` (or `status`), `gate`, `snapshot` or `timeline` gives as JSON; `api`: the
    OpenAPI document of the service."""
    import json

    click.echo(json.dumps(_schema(name), indent=2))


def _schema(name: str) -> "dict[str, Any]":
    if name == "api":
        from fingerprint.service.api.app import schema as openapi

        return openapi()
    from fingerprint.report.json import schema

    if name == "diff":
        from fingerprint.explain.contract import Diff

        return schema(Diff)
    if name == "gate":
        from fingerprint.gate.contract import Verdict

        return schema(Verdict)
    if name == "timeline":
        from fingerprint.timeline.contract import Timeline

        return schema(Timeline)
    from fingerprint import catalog

    return catalog.schema()
