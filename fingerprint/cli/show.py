"""fingerprint show."""

import json
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import GLOB, RUN, output_format

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.store import Found, FoundRun


@click.command(
    epilog="""\b
Example:
  fingerprint show run-A
  fingerprint show @ --facts 'process/main/env/*'
  fingerprint show 01JD5X --format json"""
)
@click.argument("what", type=RUN)
@click.option("--facts", type=GLOB, help="List these facts with their values, e.g. 'cpu/**'.")
@output_format("text", "json")
def command(what: str, facts: str | None, form: str) -> None:
    """Print a run or a snapshot: how it went, what was read, what was not."""
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation()
    found = invocation.stores.resolve(what)
    click.echo(printed(invocation, found, facts, form), nl=False, color=invocation.color)


def printed(invocation: "Invocation", found: "Found", facts: str | None, form: str) -> str:
    from fingerprint.store import FoundSnapshot

    if isinstance(found, FoundSnapshot):
        from fingerprint.report import snapshot as report

        document = invocation.document(found.store.snapshot(found.id))
    else:
        from fingerprint.report import run as report  # type: ignore[no-redef]

        document = run_document(invocation, found)
    if form == "json":
        return json.dumps(document, indent=2) + "\n"
    return report.render(document, facts=facts, width=invocation.width, color=invocation.color)


def run_document(invocation: "Invocation", found: "FoundRun") -> dict[str, Any]:
    """The last attempt's published form."""
    from fingerprint.cli.comparing import subject
    from fingerprint.runs.document import document
    from fingerprint.runs.opener import is_alive

    side = subject(found)
    run = side.attempts[-1]
    types = invocation.types({key.area for key in side.state.sections})
    return document(run, run.state(is_alive(invocation.host, run.opened.opener)), side.state, types)
