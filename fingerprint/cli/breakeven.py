"""fingerprint breakeven."""

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import RUN, output_format
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble
from probes.kit.lazy import lazy_regex

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.explain.arithmetic.crowd import OfOneStream
    from fingerprint.explain.arithmetic.numbers import Number, Numbers
    from fingerprint.explain.arithmetic.quantities import Quantity

QUANTITIES: Mapping[str, "Quantity"] = {
    "accept": "accept length", "cycle": "cycle", "draft": "draft", "verify": "verify", "overhead": "overhead",
}  # fmt: skip
_NUMBER = lazy_regex(r"\s*([0-9.eE+-]+)\s*([a-zA-Z/]*)\s*")


class Measured(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number above 0 with one of the units. Without one it is refused, unless "" is among them."""

    def __init__(self, name: str, what: str, units: dict[str, float], example: str) -> None:
        self.name = name
        self._what = what
        self._units = units
        self._example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _NUMBER.fullmatch(str(value))
        if found is None or found[2] not in self._units:
            self.fail(f"{value!r} is no {self._what}: write it as {self._example}", param, ctx)
        try:
            number = float(found[1]) * self._units[found[2]]
        except ValueError:
            self.fail(f"{found[1]!r} is no number", param, ctx)
        if not (math.isfinite(number) and number > 0):
            self.fail(f"{value} is no number above 0", param, ctx)
        return number


TIME = Measured("TIME", "time with its unit", {"s": 1.0, "ms": 1e-3, "us": 1e-6}, "30ms, 0.03s or 30000us")
RATE = Measured("TOK/S", "throughput in tok/s", {"": 1.0, "tok/s": 1.0, "tokens/s": 1.0}, "82 or 82tok/s")
TOKENS = Measured("TOKENS", "number of tokens", {"": 1.0}, "2.0")


@click.command(
    cls=Verb,
    examples="""\
fingerprint breakeven --baseline 82 --cycle 30ms
fingerprint breakeven --baseline 82 --accept 2.0 --draft 1.8ms --verify 28ms --overhead 0.2ms
fingerprint breakeven run-B run-A                (run-A without speculation)
fingerprint breakeven run-B run-A --accept 2.8   (what if more were accepted)""",
)
@click.argument("run", type=RUN, required=False)
@click.argument("baseline_run", type=RUN, required=False)
@click.option("--baseline", type=RATE, help="Throughput without speculation, of one stream.")
@click.option("--cycle", type=TIME, help="From one verify step to the next.")
@click.option("--accept", type=TOKENS, help="Tokens that a cycle gives, that of the verify step itself included.")
@click.option("--draft", type=TIME, help="The part of a cycle that drafts.")
@click.option("--verify", type=TIME, help="The part of a cycle that verifies.")
@click.option("--overhead", type=TIME, help="Any other part of it.")
@output_format("text", "json")
def command(
    run: str | None, baseline_run: str | None, baseline: float | None, form: str, **given: float | None
) -> None:
    """Say from which accept length on speculative decoding pays: throughput without it x its cycle time.

    RUN is one with speculation, BASELINE_RUN one without; of their metrics those count whose names tell what they are,
    as `accept_length`, `throughput`, `verify_ms`, `draft_ms`, `cycle_ms`, `decode_ms`, `tpot_ms`. What is given by an
    option stands in place of what RUN measured. All of it holds of one stream: of a run with more it is reckoned for
    each, where a log tells how many ran, and refused else.
    """
    from fingerprint.cli.invocation import Invocation

    if baseline is not None and baseline_run is not None:
        raise Trouble("--baseline and a BASELINE_RUN both tell the throughput without speculation: leave one out")
    invocation = Invocation()
    answer = _answer(invocation, run, baseline_run, baseline, given)
    if form == "json":
        click.echo(json.dumps(answer, indent=2))
        return
    from fingerprint.report.breakeven import render

    click.echo(render(answer, width=invocation.width, color=invocation.color), nl=False, color=invocation.color)


def _answer(
    invocation: "Invocation", run: str | None, other: str | None, baseline: float | None, given: dict[str, float | None]
) -> Mapping[str, Any]:
    from fingerprint.explain.arithmetic.breakeven import document, supposed
    from fingerprint.explain.arithmetic.numbers import exact

    measured = _measured(invocation, run) if run else {}
    rate = exact("baseline", baseline) if baseline else _baseline(invocation, run, other, measured)
    instead = _given(given)
    answer = document(supposed(measured, instead), rate, run or "given")
    if answer is None:
        raise Trouble(_no_cycle(run if not instead else None, measured))
    return answer


def _given(given: Mapping[str, float | None]) -> "Numbers":
    from fingerprint.explain.arithmetic.numbers import exact

    return {QUANTITIES[name]: exact(name, value) for name, value in given.items() if value}


def _measured(invocation: "Invocation", run: str) -> "Numbers":
    """Raises Trouble where more than one stream was served."""
    found = _of_one_stream(invocation, run)
    if found.many:
        raise Trouble(f"in {run}, {found.many}: that throughput is accept length / cycle holds of one stream alone")
    return found.numbers


def _of_one_stream(invocation: "Invocation", run: str) -> "OfOneStream":
    from fingerprint.comparing import subject
    from fingerprint.explain.arithmetic.crowd import of_one_stream
    from fingerprint.explain.metrics import counted

    return of_one_stream(counted(subject(invocation.run(run))))


def _check_alike(invocation: "Invocation", run: str, other: str) -> None:
    """Speculation pays for few streams where it does not for many."""
    one, two = (_of_one_stream(invocation, each) for each in (run, other))
    if (one.each or two.each) and one.streams != two.streams:
        raise Trouble(f"{run} served {one.streams} streams and {other} {two.streams}: both have to serve equally many")


def _baseline(invocation: "Invocation", run: str | None, other: str | None, measured: "Numbers") -> "Number":
    from fingerprint.explain.arithmetic.pays import plain_rate, rate_of_other

    if run and other:
        _check_alike(invocation, run, other)
    whose = other or run
    found = rate_of_other(_measured(invocation, other), other) if other else plain_rate(measured)
    if found is None and whose is None:
        raise Trouble("breakeven needs the throughput without speculation: --baseline 82; or a RUN and a BASELINE_RUN")
    if found is None:
        told = "throughput, tpot_ms or decode_ms of a run without speculation, or decode_ms of one with it"
        raise Trouble(f"{whose} does not tell its throughput without speculation ({told}): give --baseline 82")
    return found


def _no_cycle(run: str | None, measured: "Numbers") -> str:
    if run is None:
        return (
            "breakeven needs the time of a cycle: --cycle 30ms, or its parts, --verify among them; or a RUN that has it"
        )
    there = ", ".join(number.name for number in measured.values()) or "none"
    return (
        f"{run} does not tell the time of a cycle (cycle_ms, verify_ms, or accept_length with throughput): give "
        f"--cycle 30ms; metrics that are known by their names: {there}"
    )
