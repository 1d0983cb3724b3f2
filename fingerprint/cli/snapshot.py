"""fingerprint snapshot."""

import json
from typing import TYPE_CHECKING, Any, Mapping

import click

from fingerprint.cli.options import output_format, quiet

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation


@click.command(
    epilog="""\b
Example:
  fingerprint snapshot
  fingerprint snapshot --area cpu --area memory --format json"""
)
@click.option("--area", "only", multiple=True, metavar="AREA", help="Read this area alone; may be repeated.")
@click.option("--budget", type=float, metavar="SECONDS", help="Give up what is not read by then.  [default: 5]")
@click.option("--no-store", is_flag=True, help="Print it and keep nothing.")
@output_format("text", "json")
@quiet()
def command(only: tuple[str, ...], budget: float | None, no_store: bool, format: str, quiet: bool) -> None:  # noqa: A002
    """Read the state of this host now, and keep it."""
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation({"budget_s": budget})
    snapshot = invocation.snapshot(only)
    if not no_store:
        with invocation.store() as store:
            store.save(snapshot)
    if not quiet:
        click.echo(printed(invocation, invocation.document(snapshot), format, facts=None), nl=False, color=invocation.color)


def printed(invocation: "Invocation", document: Mapping[str, Any], format: str, facts: str | None) -> str:  # noqa: A002
    """A snapshot as `show` prints it too; facts: a glob of those to list."""
    if format == "json":
        return json.dumps(document, indent=2) + "\n"
    from fingerprint.report.snapshot import render

    return render(document, facts=facts, width=invocation.width, color=invocation.color)
