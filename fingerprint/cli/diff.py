"""fingerprint diff."""

from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import GLOB, RUN, TEXT, output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.explain.compose import ExitOn
    from fingerprint.explain.contract import Diff
    from fingerprint.store import Found


@click.command(
    cls=Verb,
    examples="""\
fingerprint diff run-A run-B
fingerprint diff                         (the last two runs of one benchmark)
fingerprint diff @good @ --format json
fingerprint diff run-A run-B --format html > diff.html""",
    exits={
        "0": "nothing that lasts changed, and no metric is worse or better",
        "1": "something did (see --exit-on)",
        "2": "trouble, told in one sentence on standard error",
    },
)
@click.argument("a", type=RUN, required=False)
@click.argument("b", type=RUN, required=False)
@click.option("--metric", metavar="NAME", type=TEXT, help="Look at this metric alone.")
@click.option("--vary", multiple=True, type=GLOB, help="A change that is intended; may be repeated.")
@click.option(
    "--exit-on", type=click.Choice(["any", "facts", "metrics", "worse", "nothing"]), default="any", show_default=True,
    help="What sets exit status 1; with worse a metric that got better sets none.",
)  # fmt: skip
@output_format("text", "json", "markdown", "html")
def command(
    a: str | None, b: str | None, metric: str | None, vary: tuple[str, ...], exit_on: "ExitOn", form: str
) -> int:
    """Say what changed between two runs: suspects first, then what is ruled out, and what is not known."""
    from fingerprint.cli.invocation import Invocation
    from fingerprint.comparing import both, compared
    from fingerprint.explain import exit_status

    invocation = Invocation()
    found = both(invocation.stores, a, b)
    diff = compared(invocation.stores, *found, invocation.noise_of, metric=metric, vary=vary)
    click.echo(_printed(invocation, diff, found, form), nl=False, color=invocation.color)
    return exit_status(diff, exit_on)


def _printed(invocation: "Invocation", diff: "Diff", found: "tuple[Found, Found]", form: str) -> str:
    if form == "json":
        from fingerprint.report.json import render as as_json

        return as_json(diff)
    if form == "markdown":
        from fingerprint.report.markdown import render_diff as as_markdown

        return as_markdown(diff)
    if form == "html":
        from fingerprint.documents import of_found
        from fingerprint.report.html import render_diff as as_html

        a, b = (of_found(side) for side in found)
        return as_html(diff, a, b)
    from fingerprint.report.text import render

    return render(diff, width=invocation.width, color=invocation.color)
