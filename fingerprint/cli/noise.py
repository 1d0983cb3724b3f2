"""fingerprint noise."""

import json
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import output_format
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.noise import Learned, Learner
    from fingerprint.snapshot import Snapshot


class Seconds(click.FloatRange):
    """Not a number lies in no range, yet compares as if it did."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value} is not a number", param, ctx)
        return seconds


@click.command(
    cls=Verb,
    examples="""\
fingerprint noise
fingerprint noise 60 --every 10          (ten minutes of an idle machine)""",
    exits={
        "0": "nothing that lasts changed meanwhile",
        "1": "something did: somebody, or something, sets it",
        "2": "trouble, told in one sentence on standard error",
    },
)
@click.argument("count", metavar="[N]", type=click.IntRange(2, 100_000), default=10)
@click.option(
    "--every", type=Seconds(0.1, 3600), metavar="SECONDS", default=2.0, show_default=True,
    help="From the beginning of one snapshot to that of the next.",
)  # fmt: skip
@output_format("text", "json")
def command(count: int, every: float, form: str) -> int:
    """Learn what moves on this host by itself, from N snapshots (10) while nobody changes anything.

    `diff` leaves out states, counters and telemetry that differ by no more than that, and says how many;
    what was learned before of this host is forgotten.
    """
    from fingerprint.cli.invocation import Invocation
    from fingerprint.explain.own_noise import document
    from fingerprint.noise import Learner, check_place, keep

    invocation = Invocation()
    check_place(invocation.environ)  # before the time is spent
    if invocation.is_terminal:
        _announce(count, every)
    learner = Learner()
    for snapshot, at_ns in _snapshots(invocation, count, every):
        learner.add(snapshot, at_ns)
    learned = _learned(learner)
    try:
        _print(invocation, document(learner, learned), form)
    finally:  # also where its reader went away: it took time to learn
        keep(learned, invocation.environ)
    return int(bool(learner.findings))


def _announce(count: int, every: float) -> None:
    from fingerprint.cli.saying import say

    say(f"{count} snapshots in {(count - 1) * every:.0f} s: change nothing meanwhile")


def _snapshots(invocation: "Invocation", count: int, every: float) -> Iterator[tuple["Snapshot", int]]:
    """All through one reader, each with the monotonic time of its beginning."""
    from fingerprint.areas import host_areas
    from fingerprint.reader import Reader, take_snapshot
    from fingerprint.snapshot import Job

    probes = invocation.probes()
    jobs = [Job(area) for area in host_areas(probes)]
    reader = Reader(invocation.host, probes)
    began = time.monotonic()
    try:
        for nth in range(count):
            time.sleep(max(0.0, began + nth * every - time.monotonic()))
            at_ns = time.monotonic_ns()
            yield take_snapshot(reader, jobs, invocation.redactor.key_id, invocation.settings.budget_s), at_ns
    finally:
        reader.close()


def _learned(learner: "Learner") -> "Learned":
    try:
        return learner.learned()
    except ValueError as error:
        raise Trouble(f"nothing was learned, {error}: see why with `fingerprint doctor`") from None


def _print(invocation: "Invocation", document: dict[str, Any], form: str) -> None:
    if form == "json":
        click.echo(json.dumps(document, indent=2))
        return
    from fingerprint.report.noise import render

    click.echo(render(document, width=invocation.width, color=invocation.color), nl=False, color=invocation.color)
