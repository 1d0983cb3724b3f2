"""fingerprint show."""

import json
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import GLOB, RUN, output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.store import Found, FoundRun


@click.command(
    cls=Verb,
    examples="""\
fingerprint show run-A
fingerprint show @ --facts 'process/main/env/*'
fingerprint show 01JD5X --format json
fingerprint show @ --format html > run.html""",
)
@click.argument("what", type=RUN)
@click.option("--facts", type=GLOB, help="List these facts with their values, e.g. 'cpu/**'.")
@output_format("text", "json", "markdown", "html")
def command(what: str, facts: str | None, form: str) -> None:
    """Print a run or a snapshot: how it went, what is odd in it, what was read, what was not."""
    if facts is not None and form != "text":
        raise click.UsageError(f"--facts lists facts as text: leave out --format {form}, which has all of them")
    from fingerprint.cli.invocation import Invocation

    invocation = Invocation()
    found = invocation.stores.resolve(what)
    click.echo(printed(invocation, found, facts, form), nl=False, color=invocation.color)


def printed(invocation: "Invocation", found: "Found", facts: str | None, form: str) -> str:
    """facts: a glob of those to list, in text alone."""
    document = document_of(invocation, found)
    if form == "json":
        return json.dumps(document, indent=2) + "\n"
    if form == "markdown":
        from fingerprint.report.markdown import render as as_markdown

        return as_markdown(document)
    if form == "html":
        from fingerprint.report.html import render as as_html

        return as_html(document)
    if document["schema"] == "fingerprint.snapshot/1":
        from fingerprint.report.snapshot import render
    else:
        from fingerprint.report.run import render
    return render(document, facts=facts, width=invocation.width, color=invocation.color)


def document_of(invocation: "Invocation", found: "Found") -> dict[str, Any]:
    """The published form of a snapshot, or of a run's last attempt."""
    from fingerprint.store import FoundSnapshot

    if isinstance(found, FoundSnapshot):
        return invocation.document(found.store.snapshot(found.id))
    return run_document(invocation, found)


def run_document(invocation: "Invocation", found: "FoundRun") -> dict[str, Any]:
    from fingerprint.cli.comparing import subject
    from fingerprint.findings import findings
    from fingerprint.runs.document import document
    from fingerprint.runs.opener import is_alive
    from fingerprint.runs.run import state_of
    from probes.kit.host import Host

    side = subject(found)
    run = side.attempts[-1]
    state = state_of(run.closed, is_alive(Host(), run.opened.opener))
    areas = {*(key.area for key in side.state.sections), *(path.partition("/")[0] for path in side.state.samples)}
    types = invocation.types(areas)
    return document(run, state, side.state, types, findings(side.state, types.get))
