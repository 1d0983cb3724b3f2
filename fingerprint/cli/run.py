"""fingerprint run."""

import os
import re
import signal
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NoReturn

import click

from fingerprint.cli.options import COMMAND, GLOB, TEXT
from fingerprint.cli.saying import say
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.session import Finished, Means, Plan
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
    from fingerprint.runs.session import NotRun
    from fingerprint.runs.wrap import leave

    _end_by_control_c()
    invocation = Invocation()
    plan = _plan(invocation, name, benchmark, vary, cmd)
    try:
        finished, trouble = _recorded(invocation, plan)
    except NotRun as why:
        _run_unrecorded(plan, why)
    if not finished.ended.started:
        say(finished.ended.detail)
    if trouble:
        say(trouble)
    elif not quiet:
        say(f"recorded {plan.name} (see: fingerprint show {plan.name})")
    leave(finished.ended)


def _end_by_control_c() -> None:
    """As any program does, so that a loop of the shell's ends too; once the command runs, that decides."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _plan(
    invocation: "Invocation", name: str | None, benchmark: str | None, vary: tuple[str, ...], cmd: tuple[str, ...]
) -> "Plan":
    """Raises Trouble for a name that no argument could mean."""
    from fingerprint.runs.benchmark import benchmark_of
    from fingerprint.runs.session import Plan
    from fingerprint.runs.wrap import inherited_environment, working_directory
    from fingerprint.store import check_name

    sampling = invocation.settings.sampling
    return Plan(
        name=_name_of(cmd[0]) if name is None else check_name(name),
        argv=cmd,
        env=inherited_environment(),
        cwd=working_directory(),
        host=os.uname().nodename,
        benchmark=benchmark or benchmark_of(cmd),
        vary=vary,
        first_minute_hz=sampling.first_minute_hz,
        then_hz=sampling.then_hz,
    )


def _name_of(program: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]", "_", program.rpartition("/")[2]).lstrip("-")[:100] or "run"


def _recorded(invocation: "Invocation", plan: "Plan") -> "tuple[Finished, str]":
    """The finished run, and what went wrong with its record. Raises NotRun."""
    from fingerprint.runs.session import NotRun, run

    held = ExitStack()
    try:
        means, journal = _means(invocation, plan, held)
    except Exception as error:
        held.close()
        raise NotRun(error) from error
    try:
        finished = run(plan, means)
        return finished, journal.trouble or finished.unwritten
    finally:
        with suppress(Exception):  # all is written, and the command's status is to be passed on
            held.close()


def _means(invocation: "Invocation", plan: "Plan", held: ExitStack) -> "tuple[Means, Journal]":
    """Both readers are forked before the store is opened."""
    from fingerprint.cli.invocation import host_areas
    from fingerprint.reader import Reader, read_given, take_snapshot, with_given
    from fingerprint.runs.session import Means
    from fingerprint.snapshot import Job

    probes = invocation.probes()
    reader = Reader(invocation.host, with_given(probes, plan.argv, plan.env, plan.cwd))
    held.callback(reader.close)
    sampler = Reader(invocation.host, probes)
    held.callback(sampler.close)
    jobs = [Job(area) for area in host_areas(probes)]

    from fingerprint.store import Journal, default_path

    journal = Journal(default_path(invocation.environ), invocation.environ)
    held.callback(journal.close)
    means = Means(
        probes=probes,
        reader=reader,
        sampler=sampler,
        journal=journal,
        host=invocation.host,
        snapshot=lambda: take_snapshot(reader, jobs, invocation.redactor.key_id, invocation.settings.budget_s),
        given=lambda: read_given(reader),
    )
    return means, journal


def _run_unrecorded(plan: "Plan", why: Exception) -> NoReturn:
    """In our place: the command is worth more than its record."""
    from fingerprint.runs.wrap import Inherited, Start, become, leave

    say(f"nothing can be recorded ({why}); {plan.argv[0]} runs all the same")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    refused = become(Start(plan.argv, plan.env, Inherited(frozenset(blocked))))
    say(refused.detail)
    leave(refused)
