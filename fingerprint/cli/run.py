"""fingerprint run."""

import os
import re
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from fingerprint.cli.options import COMMAND, GLOB, TEXT
from fingerprint.cli.saying import say
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.session import Means, Plan
    from fingerprint.store import Journal


@click.command(
    cls=Verb,
    context_settings={"allow_interspersed_args": False},
    examples="""\
fingerprint run --name run-A -- python serve.py --port 30000
fingerprint run --name run-B --vary 'process/*/env/NCCL_*' -- ./bench.sh""",
    exits={
        "CMD's": "if a signal ended it, fingerprint ends by the same signal, which a shell shows as 128+n",
        "125": "wrong usage or settings of fingerprint itself; CMD was not started",
        "126": "CMD cannot be executed",
        "127": "CMD was not found",
    },
)
@click.option("--name", metavar="NAME", help="What to call it; using a name again adds an attempt.  [default: CMD's]")
@click.option(
    "--benchmark", metavar="B", type=TEXT, help="What history groups it by.  [default: from CMD and its arguments]"
)
@click.option("--vary", multiple=True, type=GLOB, help="Facts whose change is intended; may be repeated.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but troubles.")
@click.argument("cmd", nargs=-1, required=True, type=COMMAND)
def command(
    name: str | None, benchmark: str | None, vary: tuple[str, ...], quiet: bool, cmd: tuple[str, ...]
) -> NoReturn:
    """Run CMD, and record the host's state before, during and after."""
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs import session
    from fingerprint.runs.wrap import leave

    invocation = Invocation()
    plan = _plan(invocation, name, benchmark, vary, cmd)
    try:
        means, journal = _means(invocation)
    except OSError as error:
        _run_unrecorded(cmd, error)
    finished = session.run(plan, means)
    if not finished.ended.started:
        say(finished.ended.detail)
    if journal.trouble:
        say(journal.trouble)
    elif not quiet:
        say(f"recorded {plan.name} (see: fingerprint show {plan.name})")
    leave(finished.ended)


def _plan(
    invocation: "Invocation", name: str | None, benchmark: str | None, vary: tuple[str, ...], cmd: tuple[str, ...]
) -> "Plan":
    """Raises Trouble for a name that no argument could mean."""
    from fingerprint.runs.benchmark import benchmark_of
    from fingerprint.runs.session import Plan
    from fingerprint.store import check_name

    sampling = invocation.settings.sampling
    return Plan(
        name=_name_of(cmd[0]) if name is None else check_name(name),
        argv=cmd,
        host=os.uname().nodename,
        benchmark=benchmark or benchmark_of(cmd),
        vary=vary,
        first_minute_hz=sampling.first_minute_hz,
        then_hz=sampling.then_hz,
    )


def _name_of(program: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]", "_", program.rpartition("/")[2]).lstrip("-")[:100] or "run"


def _means(invocation: "Invocation") -> "tuple[Means, Journal]":
    """Both readers are forked before the store is opened."""
    from fingerprint.cli.invocation import host_areas
    from fingerprint.reader import Reader, take_snapshot
    from fingerprint.runs.session import Means
    from fingerprint.snapshot import Job

    probes = invocation.probes()
    reader, sampler = Reader(invocation.host, probes), Reader(invocation.host, probes)
    jobs = [Job(area) for area in host_areas(probes)]

    from fingerprint.store import Journal, default_path
    from probes.process import given

    journal = Journal(default_path(invocation.environ), invocation.environ)
    means = Means(
        probes=probes,
        reader=reader,
        sampler=sampler,
        journal=journal,
        host=invocation.host,
        snapshot=lambda: take_snapshot(reader, jobs, invocation.redactor.key_id, invocation.settings.budget_s),
        given=lambda argv, env, cwd: given(invocation.host, os.getpid(), argv, env, cwd),
    )
    return means, journal


def _run_unrecorded(cmd: tuple[str, ...], why: OSError) -> NoReturn:
    """No process can be made to read with: the command is worth more than its record."""
    say(f"nothing can be recorded ({why.strerror}); {cmd[0]} runs all the same")
    try:
        os.execvp(cmd[0], cmd)  # in our place, as the user asked for
    except OSError as error:
        say(f"{cmd[0]}: {error.strerror}")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)
