"""fingerprint facts."""

import json

import click

from fingerprint.cli.options import GLOB, output_format
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble


@click.command(
    cls=Verb,
    examples="""\
fingerprint facts
fingerprint facts 'cpu/**'
fingerprint facts --format markdown > docs/facts.md""",
)
@click.argument("pattern", required=False, type=GLOB)
@output_format("text", "json", "markdown")
def command(pattern: str | None, form: str) -> None:
    """List every fact that can be read: path, kind, unit, and why."""
    from fingerprint.catalog import facts, find, markdown

    if form == "markdown":
        if pattern:
            raise click.UsageError("--format markdown is the page of all facts: give no PATTERN with it")
        click.echo(markdown(), nl=False)
        return
    found = find(pattern) if pattern else facts()
    if not found:
        raise Trouble(f"no fact is matched by '{pattern}': `fingerprint facts` lists all")
    if form == "json":
        import msgspec

        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
        return
    for fact in found:
        unit = f" [{fact.unit}]" if fact.unit else ""
        click.echo(f"{fact.path}  {fact.kind}{unit}\n    {fact.why}")
