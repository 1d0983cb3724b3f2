"""fingerprint run."""

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from fingerprint.cli.options import COMMAND, GLOB, RUN, TEXT
from fingerprint.cli.saying import say
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.collecting import Collecting
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.plan import Plan
    from fingerprint.runs.session import Finished
    from fingerprint.store import Journal


@click.command(
    cls=Verb,
    context_settings={"allow_interspersed_args": False},
    examples="""\
fingerprint run --name run-A -- python serve.py --port 30000
fingerprint run --name run-B --vary 'process/*/env/NCCL_*' -- ./bench.sh
fingerprint run --name run-B --repeat 5 --metrics json:out.json#mean_ttft_ms -- ./bench.sh
fingerprint run --name run-B --baseline @good --report fingerprint.json -- ./bench.sh
fingerprint run --plan --repeat 5 -- ./bench.sh""",
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
@click.option(
    "--metrics",
    multiple=True,
    type=TEXT,
    metavar="READER:FILE",
    help="What it measured: auto:FILE, json:FILE#PATH, regex:PATTERN ...; may be repeated.",
)
@click.option("--workload", multiple=True, type=TEXT, metavar="K=V", help="What is asked of it; may be repeated.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, metavar="K", help="Start it K times, as K attempts.")
@click.option(
    "--deep",
    is_flag=True,
    help="Hold every file of every Python package against its RECORD.  [default: its setting]",
)
@click.option(
    "--canary",
    is_flag=True,
    help="Two seconds of fixed work before and after: was the host slower?  [default: its setting]",
)
@click.option("--plan", "only_plan", is_flag=True, help="Say what K starts each can resolve, and start nothing.")
@click.option(
    "--report", metavar="FILE", type=TEXT, help="Write the run, and its diff against --baseline, as one JSON document."
)
@click.option("--baseline", metavar="RUN", type=RUN, help="What --report compares with, as it is when CMD starts.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but troubles.")
@click.argument("cmd", nargs=-1, required=True, type=COMMAND)
def command(
    quiet: bool,
    repeat: int,
    only_plan: bool,
    deep: bool,
    canary: bool,
    report: str | None,
    baseline: str | None,
    **asked: Any,
) -> NoReturn:
    """Run CMD, and record the host's state before, during and after."""
    from fingerprint.cli.collecting import Collecting
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.wrap import leave

    _end_by_control_c()
    invocation = Invocation({"deep": deep or None, "canary": canary or None})
    collecting = Collecting(asked["metrics"], asked["cmd"])
    plan = _plan(invocation, Asked(**asked), collecting.streams)
    if only_plan:
        _tell_plan(invocation, plan.benchmark, repeat)
    write_report = _reporting(invocation, report, baseline)
    finished, *ids = _attempt(invocation, plan, collecting, quiet)
    for _ in range(repeat - 1):
        if finished.ended.exit_status != 0 or finished.told:
            say(f"{plan.name} is not repeated: {plan.argv[0]} did not end with 0")
            break
        finished, run_id = _attempt(invocation, plan, collecting, quiet)
        ids.append(run_id)
    write_report(ids)
    leave(finished.ended)


def _reporting(invocation: "Invocation", file: str | None, baseline: str | None) -> Callable[[Sequence[str]], None]:
    """What writes the report, given the ids of the attempts. Raises Trouble before the command starts."""
    if file is None and baseline is None:
        return lambda _ids: None
    from fingerprint.cli.reporting import asked, write

    report = asked(invocation, file, baseline)

    def written(ids: Sequence[str]) -> None:
        if trouble := write(invocation, report, ids):
            say(trouble)

    return written


def _tell_plan(invocation: "Invocation", benchmark: str, starts: int) -> NoReturn:
    from fingerprint.cli.planning import told

    click.echo(told(invocation, benchmark, starts))
    raise SystemExit(0)


class Asked(NamedTuple):
    """What was said of the run, as it was written."""

    name: str | None
    benchmark: str | None
    vary: tuple[str, ...]
    metrics: tuple[str, ...]
    workload: tuple[str, ...]
    cmd: tuple[str, ...]


def _attempt(invocation: "Invocation", plan: "Plan", collecting: "Collecting", quiet: bool) -> "tuple[Finished, str]":
    """One start, recorded, and the run's id. Where nothing can be recorded CMD runs in our place, and this does not
    return."""
    from fingerprint.runs.plan import NotRun

    collecting.expect()
    try:
        finished, run_id, troubles = _recorded(invocation, plan, collecting)
    except NotRun as why:
        _run_unrecorded(plan, why)
    if not finished.ended.started:
        say(finished.ended.detail)
    for trouble in troubles:
        say(trouble)
    if not troubles and not quiet:
        say(f"recorded {plan.name} (see: fingerprint show {plan.name})")
    return finished, run_id


def _end_by_control_c() -> None:
    """As any program does, so that a loop of the shell's ends too; once the command runs, that decides."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _plan(invocation: "Invocation", asked: Asked, streams: tuple[int, ...]) -> "Plan":
    """Raises Trouble for a name that no argument could mean, and for a workload that is none."""
    from fingerprint.cli.collecting import workload
    from fingerprint.cli.recording import name_of
    from fingerprint.runs.benchmark import benchmark_of
    from fingerprint.runs.plan import Plan
    from fingerprint.runs.wrap import inherited_environment, working_directory

    sampling = invocation.settings.sampling
    return Plan(
        name=name_of(asked.cmd[0]) if asked.name is None else _checked(asked.name),
        argv=asked.cmd,
        env=inherited_environment(),
        cwd=working_directory(),
        host=os.uname().nodename,
        benchmark=asked.benchmark or benchmark_of(invocation.host.redactor.arguments(asked.cmd)),
        vary=asked.vary,
        workload=workload(asked.workload),
        streams=streams,
        first_minute_hz=sampling.first_minute_hz,
        then_hz=sampling.then_hz,
        canary=invocation.settings.canary,
    )


def _checked(name: str) -> str:
    from fingerprint.store import check_name

    return check_name(name)


def _recorded(invocation: "Invocation", plan: "Plan", collecting: "Collecting") -> "tuple[Finished, str, list[str]]":
    """The finished run, its id, and what went wrong with its record or its results. Raises NotRun."""
    from fingerprint.cli.recording import means_of
    from fingerprint.runs.plan import NotRun

    held = ExitStack()
    try:
        means, journal = means_of(invocation, held, plan)
        from fingerprint.runs.session import run  # only now: the host is being read meanwhile
    except Exception as error:
        held.close()
        raise NotRun(error) from error
    try:
        finished = run(plan, means)
        troubles = _collected(invocation, collecting, finished, journal)
        return finished, journal.run_id, [*filter(None, [journal.trouble or finished.unwritten]), *troubles]
    finally:
        with suppress(Exception):  # all is written, and the command's status is to be passed on
            held.close()


def _collected(
    invocation: "Invocation", collecting: "Collecting", finished: "Finished", journal: "Journal"
) -> list[str]:
    """Records what the command measured; what could not be read of it, in sentences."""
    return collecting.into(journal, finished.output, invocation.redactor) if finished.ended.started else []


def _run_unrecorded(plan: "Plan", why: Exception) -> NoReturn:
    """In our place: the command is worth more than its record."""
    from fingerprint.runs.wrap import Inherited, Start, become, leave

    say(f"nothing can be recorded ({why}); {plan.argv[0]} runs all the same")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    refused = become(Start(plan.argv, plan.env, Inherited(frozenset(blocked))))
    say(refused.detail)
    leave(refused)
