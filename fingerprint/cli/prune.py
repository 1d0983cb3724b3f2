"""fingerprint prune."""

import re
import time

import click

from fingerprint.cli.options import quiet
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@click.command(
    cls=Verb,
    examples="""\
fingerprint prune --older-than 90d
fingerprint prune --keep-last 20""",
)
@click.option("--older-than", "age", metavar="AGE", help="Only what is older: 30m, 12h, 90d, 8w.")
@click.option(
    "--keep-last", metavar="N", type=click.IntRange(min=0), default=0, help="Keep this many of each benchmark."
)
@click.option("--also-good", is_flag=True, help="Remove runs marked good too.")
@quiet()
def command(age: str | None, keep_last: int, also_good: bool, quiet: bool) -> None:
    """Remove old runs, snapshots and events; runs marked good stay."""
    from fingerprint.cli.invocation import Invocation

    if age is None and not keep_last:
        raise Trouble("prune removes nothing unless told what: give --older-than 90d or --keep-last 20")
    older_than = None if age is None else max(0, time.time_ns() - _seconds(age) * 1_000_000_000)
    with Invocation().store() as store:
        removed = store.prune(older_than=older_than, keep_last=keep_last, keep_good=not also_good)
    if not quiet:
        events = f", and {removed.events} events" if removed.events else ""
        click.echo(f"removed {len(removed.runs)} runs and {removed.snapshots} snapshots{events}")


def _seconds(age: str) -> int:
    """Of `90d`. Raises Trouble."""
    parts = re.fullmatch(r"([0-9]{1,6})([mhdw])", age)
    if parts is None:
        raise Trouble(f"--older-than {age} is no age: write a number and m, h, d or w, e.g. 90d")
    return int(parts[1]) * _UNITS[parts[2]]
