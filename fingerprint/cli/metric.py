"""fingerprint metric."""

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from fingerprint.cli.options import RUN, TEXT
from fingerprint.cli.saying import say
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.metrics.metric import Metric
    from fingerprint.store import FoundRun


@click.command(
    cls=Verb,
    examples="""\
fingerprint metric run-B verify_ms 29.4 29.6 30.1
fingerprint metric @ accept_length 2.01 --better higher
fingerprint metric @ offset -- -3.5  (what begins with - stands behind --)
fingerprint metric run-B --from auto:result.json  (what a client wrote during it)
fingerprint metric run-B --json results.jsonl  (a line of it: {"name": "ttft_ms", "values": [4.1], "unit": "ms"})""",
    exits={
        "0": "done",
        "2": "trouble, told in one sentence on standard error; of --json and --from the others are added",
    },
)
@click.argument("run", type=RUN)
@click.argument("name", type=TEXT, required=False)
@click.argument("values", metavar="VALUE...", nargs=-1, type=float)
@click.option("--unit", type=TEXT, default="", metavar="UNIT", help="Its unit.  [default: by NAME's end, as verify_ms]")
@click.option(
    "--better",
    type=click.Choice(("lower", "higher", "unknown")),
    help="Which way is better.  [default: lower for times, higher for rates, else unknown]",
)
@click.option("--series", is_flag=True, help="The values are readings of one course of work, not repeats of it.")
@click.option("--json", "file", type=click.File("rb"), metavar="FILE",
              help="Add all that a file holds, as JSON, one on each line; - for standard input.")  # fmt: skip
@click.option("--from", "wanted", multiple=True, type=TEXT, metavar="[NAME=]READER:FILE",
              help="Add what a client's result tells, as of `run --metrics`; may be repeated.")  # fmt: skip
def command(run: str, file: IO[bytes] | None, wanted: tuple[str, ...], **said: Any) -> int:
    """Add a metric to a run: VALUEs in the order measured. Given again, it replaces the former values."""
    from fingerprint.cli.invocation import Invocation

    if wanted:
        return _from(Invocation(), run, wanted, any(said.values()) or file is not None)
    metrics = [_said(**said)] if file is None else [*_of_file(file, **said)]
    invocation = Invocation()
    found = invocation.run(run)
    good = [metric for metric in metrics if not isinstance(metric, Trouble)]
    for metric in metrics:
        if isinstance(metric, Trouble):
            say(str(metric))
    _add(invocation, found, good)
    return 2 if any(isinstance(metric, Trouble) for metric in metrics) else 0


def _from(invocation: "Invocation", run: str, wanted: Sequence[str], too_much: bool) -> int:
    from fingerprint.cli.collecting import results_of
    from fingerprint.comparing import load
    from fingerprint.runs.record import Trouble as Told

    if too_much:
        raise click.UsageError("with --from all stands in FILE: leave NAME, VALUE, --json and their options out")
    found = invocation.run(run)
    if found.store.origin == "service":
        raise Trouble(f"{found.latest} is the service's, which takes no files: give its values by name or by --json")
    records = results_of(wanted, load(found.store, found.latest.id), invocation.redactor)
    store = found.store.writable()
    troubles = [record.what for record in records if isinstance(record, Told)]
    for record in records:
        if not isinstance(record, Told):
            store.append(found.latest.id, record)
    for trouble in troubles:
        say(trouble)
    return 2 if troubles else 0


def _add(invocation: "Invocation", found: "FoundRun", metrics: "Sequence[Metric]") -> None:
    import time

    from fingerprint.runs.record import Measured

    if invocation.service is not None and found.store.origin == "service":
        from fingerprint.cli.served import add_metrics

        add_metrics(invocation.service, found.latest.id, metrics)
        return
    store = found.store.writable()
    for metric in metrics:
        store.append(found.latest.id, Measured(time.time_ns(), metric))


def _said(name: str | None, values: tuple[float, ...], unit: str, better: Any, series: bool) -> "Metric":
    from fingerprint.metrics.given import given_metric

    if name is None or not values:
        raise click.UsageError(f"Missing {'VALUE' if name else 'NAME and VALUE'}, or --json FILE")
    return given_metric(name, values, unit, better, "series" if series else "repeats")


def _of_file(file: IO[bytes], **said: Any) -> "Iterator[Metric | Trouble]":
    from fingerprint.metrics.lines import metrics_of_lines

    if any(said.values()):
        raise click.UsageError("with --json all stands in FILE: leave NAME, VALUE and their options out")
    yield from metrics_of_lines(file.read(), file.name)
