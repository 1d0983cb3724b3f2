"""fingerprint gate."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import RUN, TEXT, output_format, quiet
from fingerprint.cli.serving import Duration
from fingerprint.cli.verb import Verb
from fingerprint.cli.verdicts import FORMATS, OutputArgument, Telling, tell

if TYPE_CHECKING:
    from fingerprint.gate.policy import Policy

FILE = click.Path(path_type=Path)
EXIT = {"pass": 0, "fail": 1, "cannot_tell": 3}


@click.command(
    cls=Verb,
    examples="""\
fingerprint gate                         (the host against its own defaults and maxima)
fingerprint gate --baseline @good --wait 10m
fingerprint gate --policy examples/policies/quiet-gpu-host.toml --explain
fingerprint gate --policy policy.toml --policy-ref origin/main
fingerprint gate --baseline @good --format github --write junit:gate.xml""",
    exits={
        "0": "pass: the benchmark may start; warnings are told",
        "1": "fail: something is not as expected",
        "2": "trouble, told in one sentence on standard error",
        "3": "cannot tell: what has to be read could not be",
    },
)
@click.option("--baseline", metavar="RUN", type=RUN, help="Compare with what this run found before it began.")
@click.option("--policy", "policies", multiple=True, metavar="FILE", type=FILE,
              help="Expectations in TOML; may be repeated.")  # fmt: skip
@click.option("--policy-ref", "revision", metavar="REV", type=TEXT,
              help="Read the policies from this git revision, as a change is gated by its base branch.")  # fmt: skip
@click.option("--wait", "seconds", type=Duration(), metavar="DURATION",
              help="Wait so long for what becomes right by itself.")  # fmt: skip
@click.option("--explain", is_flag=True, help="List each rule with its reading.")
@output_format(*FORMATS)
@click.option("--write", "outputs", multiple=True, type=OutputArgument(), metavar="FORMAT:FILE",
              help="Write it there as well, in any of these formats; may be repeated.")  # fmt: skip
@quiet()
def command(
    baseline: str | None, policies: tuple[Path, ...], revision: str | None, seconds: float | None, **telling: Any
) -> int:
    """Say whether a benchmark may start: is the host as it should be?"""
    from fingerprint.cli.gating import Gate

    how = Telling(**telling)
    with Gate(_policies(policies, revision), baseline, quiet=how.quiet) as gate:
        verdict = gate.verdict(seconds or 0)
        tell(gate.invocation, verdict, how)
    return EXIT[verdict.outcome]


def _policies(files: Sequence[Path], revision: str | None) -> "tuple[Policy, ...]":
    if revision is not None and not files:
        raise click.UsageError("--policy-ref tells where --policy is read from: name one")
    if not files:
        return ()
    from fingerprint.gate.policy_file import policy_at, policy_in

    return tuple(policy_in(file) if revision is None else policy_at(file, revision) for file in files)
