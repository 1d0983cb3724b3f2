"""fingerprint begin."""

import json
import os
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import output_format, quiet
from fingerprint.cli.saying import in_one_line, say
from fingerprint.cli.serving import Asked, options
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.collecting import Collecting
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.attached import Attachment
    from fingerprint.store import RunRow

_BEGUN = "begun"


@click.command(
    cls=Verb,
    examples="""\
fingerprint begin --port 30000 --name run-A
fingerprint begin --port 30000 --name run-A --metrics auto:server.log --metrics auto:result.json
fingerprint begin --auto --name run-A --for 2h
fingerprint metric run-A ttft_ms 412 398 405      (while it goes on, or later)
fingerprint end run-A""",
    exits={
        "0": "begun: the state before is kept, and a process in the background samples",
        "2": "trouble, told in one sentence on standard error; nothing goes on",
    },
)
@options()
@output_format("text", "json")
@quiet()
def command(quiet: bool, deep: bool, canary: bool, form: str, **asked: Any) -> None:
    """Begin to record a run of a server that runs already, in the background, until `end`. Where the service runs, it
    does that."""
    from fingerprint.cli.collecting import Collecting
    from fingerprint.cli.invocation import Invocation
    from fingerprint.cli.serving import attachment, told

    invocation = Invocation({"deep": deep or None})
    only_here = deep or canary or bool(asked["metrics"])
    if (begun_there := _by_service(invocation, Asked(**asked), only_here)) is not None:
        _tell(begun_there, form, quiet)
        return
    attached = attachment(invocation, Asked(**asked), detached=True, canary=canary)
    pid, answer = _detached(invocation, attached, Collecting(asked["metrics"], None))
    begun, _, trouble = answer.partition(" ")
    if begun != _BEGUN:
        raise Trouble(answer or f"the sampler, pid {pid}, ended before it had begun: see `fingerprint runs`")
    if trouble:
        say(trouble)
    if form == "json":
        row = _row_of(invocation, attached.name, pid)
        click.echo(json.dumps({"id": row.id, "name": row.name, "attempt": row.attempt, "pid": pid}))
    elif not quiet:
        say(f"{attached.name} records {told(invocation.host, attached.servers)}, as process {pid}, until: "
            f"fingerprint end {attached.name}")  # fmt: skip


def _by_service(invocation: "Invocation", asked: Asked, only_here: bool) -> dict[str, Any] | None:
    """The run that the service began, which sees servers of all users, and samples for all; None where it does not run,
    or is asked for what it does not do."""
    if (
        only_here
        or invocation.service is None
        or len(asked.pids) + len(asked.ports) != 1
        or asked.every
        or asked.seconds
    ):
        return None
    from fingerprint.cli.collecting import workload
    from fingerprint.cli.served import begin, is_alone
    from fingerprint.cli.serving import attachment

    if is_alone(invocation):
        return None
    which = {"pid": asked.pids[0]} if asked.pids else {"port": asked.ports[0]}
    more = {"benchmark": asked.benchmark or "", "workload": dict(workload(asked.workload)), "vary": list(asked.vary)}
    return begin(invocation, {"name": asked.name or attachment(invocation, asked).name, **which, **more})


def _tell(row: dict[str, Any], form: str, quiet: bool) -> None:
    name = f"{row['name']}#{row['attempt']}"
    if form == "json":
        click.echo(json.dumps({**{key: row[key] for key in ("id", "name", "attempt")}, "pid": row["opener"]["pid"]}))
    elif not quiet:
        say(f"the service records {name} until: fingerprint end {name}")


def _row_of(invocation: "Invocation", name: str, pid: int) -> "RunRow":
    """The run of this sampler: others of its name may begin at the same time."""
    rows = invocation.stores.runs(name=name, limit=1000)
    found = next((row for row in reversed(rows) if row.opener.pid == pid), None)
    if found is None:
        raise Trouble(f"the run of the sampler, pid {pid}, is in no store: see `fingerprint runs`")
    return found


def _detached(invocation: "Invocation", attached: "Attachment", collecting: "Collecting") -> tuple[int, str]:
    """The sampler's pid, and its first words; none where it ended before it had any."""
    from fingerprint.fork import fork_bare

    report, theirs = os.pipe()
    assert invocation.redactor  # it may have something to say of its key, and the sampler has nowhere to
    pid = fork_bare([theirs], lambda: _sample(invocation, attached, collecting, theirs))
    os.close(theirs)
    with open(report, "rb") as file:
        return pid, file.read().decode()


def _sample(invocation: "Invocation", attached: "Attachment", collecting: "Collecting", report: int) -> None:
    """In a session of its own, which neither Ctrl-C nor the terminal's end reaches."""
    from fingerprint.cli.serving import recorded

    os.setsid()
    stream = open(report, "w")  # noqa: SIM115  # closed when it has told

    def tell(words: str) -> None:
        stream.write(in_one_line(words))
        stream.close()

    try:
        recorded(invocation, attached, collecting, lambda trouble: tell(f"{_BEGUN} {trouble}"))
    except Exception as error:
        if not stream.closed:
            tell(str(error) if isinstance(error, Trouble) else f"{type(error).__name__}: {error}")
        raise
