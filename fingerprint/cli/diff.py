"""fingerprint diff."""

from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import GLOB, RUN, TEXT, output_format
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.explain.compose import ExitOn


@click.command(
    cls=Verb,
    examples="""\
fingerprint diff run-A run-B
fingerprint diff                         (the last two runs of one benchmark)
fingerprint diff @good @ --format json""",
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
    "--exit-on", type=click.Choice(["any", "facts", "metrics", "nothing"]), default="any", show_default=True,
    help="What sets exit status 1.",
)  # fmt: skip
@output_format("text", "json")
def command(
    a: str | None, b: str | None, metric: str | None, vary: tuple[str, ...], exit_on: "ExitOn", form: str
) -> int:
    """Say what changed between two runs: suspects first, then what is ruled out, and what is not known."""
    from fingerprint.cli.comparing import compared
    from fingerprint.cli.invocation import Invocation
    from fingerprint.explain import exit_status

    invocation = Invocation()
    diff = compared(invocation, a, b, metric=metric, vary=vary)
    if form == "json":
        from fingerprint.report.json import render as as_json

        click.echo(as_json(diff), nl=False)
    else:
        from fingerprint.report.text import render

        click.echo(render(diff, width=invocation.width, color=invocation.color), nl=False, color=invocation.color)
    return exit_status(diff, exit_on)
