"""fingerprint show."""

import json
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import GLOB, RUN, output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.store import Found


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
    from fingerprint.documents import of_found

    document = of_found(found)
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
