"""fingerprint metric."""

from typing import TYPE_CHECKING, cast

import click

from fingerprint.cli.options import RUN, TEXT
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.metrics import Better


@click.command(
    cls=Verb,
    examples="""\
fingerprint metric run-B verify_ms 29.4 29.6 30.1
fingerprint metric @ accept_length 2.01 --better higher
fingerprint metric @ offset -- -3.5  (what begins with - stands behind --)""",
)
@click.argument("run", type=RUN)
@click.argument("name", type=TEXT)
@click.argument("values", metavar="VALUE...", nargs=-1, required=True, type=float)
@click.option("--unit", type=TEXT, default="", metavar="UNIT", help="Its unit.  [default: by NAME's end, as verify_ms]")
@click.option(
    "--better",
    type=click.Choice(("lower", "higher", "unknown")),
    help="Which way is better.  [default: lower for times, higher for rates, else unknown]",
)
@click.option("--series", is_flag=True, help="The values are readings of one course of work, not repeats of it.")
def command(run: str, name: str, values: tuple[float, ...], unit: str, better: str | None, series: bool) -> None:
    """Add a metric to a run: VALUEs in the order measured. Given again, it replaces the former values."""
    import time

    from fingerprint.cli.invocation import Invocation
    from fingerprint.metrics.given import given_metric
    from fingerprint.runs.record import Measured

    metric = given_metric(name, values, unit, cast("Better | None", better), "series" if series else "repeats")
    found = Invocation().run(run)
    found.store.writable().append(found.latest.id, Measured(time.time_ns(), metric))
