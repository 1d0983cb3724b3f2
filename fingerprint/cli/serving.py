"""Servers as the command line names them: by process, by port, or all that run here."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fingerprint.cli.options import GLOB, TEXT, Decorator
from fingerprint.trouble import Trouble
from probes.kit.lazy import lazy_regex

if TYPE_CHECKING:
    from fingerprint.cli.collecting import Collecting
    from fingerprint.cli.invocation import Invocation
    from fingerprint.runs.attached import Attachment
    from fingerprint.runs.record import Ending
    from fingerprint.runs.serving import Serving
    from probes.kit.host import Host

_DURATION = lazy_regex(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")


class Asked(NamedTuple):
    """What was said of the run, as it was written."""

    pids: tuple[int, ...]
    ports: tuple[int, ...]
    every: bool
    name: str | None
    seconds: float | None
    benchmark: str | None
    vary: tuple[str, ...]
    workload: tuple[str, ...]
    metrics: tuple[str, ...]


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Seconds, also with units."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value))
        hours, minutes, seconds = (float(part or 0) for part in match.groups()) if match else (0.0, 0.0, 0.0)
        total = 3600 * hours + 60 * minutes + seconds
        if not total:
            self.fail(f"{value!r} is no duration: write e.g. 90s, 10m or 1h30m", param, ctx)
        return total


def which() -> Decorator:
    """Which servers."""
    return _all_of(
        click.option("--pid", "pids", multiple=True, type=click.IntRange(min=1), metavar="PID",
                     help="A server by its first process; may be repeated."),
        click.option("--port", "ports", multiple=True, type=click.IntRange(1, 65535), metavar="PORT",
                     help="A server by the port that it listens on; may be repeated."),
        click.option("--auto", "every", is_flag=True, help="Every server of a known engine on this host."),
    )  # fmt: skip


def options() -> Decorator:
    """Which servers, and what to record of them, in one run."""
    return _all_of(
        which(),
        click.option("--name", metavar="NAME",
                     help="What to call it; using a name again adds an attempt.  [default: the server's]"),
        click.option("--for", "seconds", type=Duration(), metavar="DURATION",
                     help="End it after so long: 90s, 10m, 1h30m."),
        click.option("--benchmark", metavar="B", type=TEXT,
                     help="What history groups it by.  [default: from the server's arguments]"),
        click.option("--vary", multiple=True, type=GLOB, help="Facts whose change is intended; may be repeated."),
        click.option("--workload", multiple=True, type=TEXT, metavar="K=V",
                     help="What is asked of it; may be repeated."),
        click.option("--metrics", multiple=True, type=TEXT, metavar="[NAME=]READER:FILE",
                     help="Read what is written meanwhile: auto:server.log, auto:result.json, json:FILE#PATH; may be "
                          "repeated."),
        click.option("--deep", is_flag=True,
                     help="Hold every file of every Python package against its RECORD.  [default: its setting]"),
        click.option("--canary", is_flag=True,
                     help="Two seconds of fixed work of CPU and memory at both ends, beside the server."),
    )  # fmt: skip


def _all_of(*options: Decorator) -> Decorator:
    """In the order in which they are to stand in the help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def attachment(invocation: "Invocation", asked: Asked, *, detached: bool = False, canary: bool = False) -> "Attachment":
    """Raises Trouble where no server is meant or none is found, and for a name that no argument could mean."""
    from fingerprint.cli.collecting import workload
    from fingerprint.cli.recording import name_of
    from fingerprint.runs.attached import Attachment
    from fingerprint.runs.benchmark import benchmark_of
    from fingerprint.runs.beside import Rates
    from fingerprint.runs.ray import with_workers
    from fingerprint.store import check_name
    from probes.kit.facts import seen_or

    there = found(invocation.host, asked.pids, asked.ports, every=asked.every)
    servers, untold = with_workers(invocation.host, there)
    words = [word for server in servers for word in seen_or(invocation.host.arguments(server.pid), ())]
    sampling = invocation.settings.sampling
    return Attachment(
        name=name_of(_called(invocation.host, servers)) if asked.name is None else check_name(asked.name),
        servers=servers,
        host=os.uname().nodename,
        benchmark=asked.benchmark or benchmark_of(words or ["server"]),
        vary=asked.vary,
        workload=workload(asked.workload),
        seconds=asked.seconds,
        detached=detached,
        untold=untold,
        canary=canary,
        rates=Rates(sampling.first_minute_hz, sampling.then_hz),
    )


def found(host: "Host", pids: Sequence[int], ports: Sequence[int], *, every: bool) -> "tuple[Serving, ...]":
    """Raises Trouble where none is meant, or is there."""
    from fingerprint.runs.serving import NotFound, all_servers, by_pid, by_port

    if every == bool(pids or ports):
        raise Trouble("say which server is meant: --pid PID, --port PORT, or --auto for every one that runs here")
    try:
        if every:
            return all_servers(host)
        there = (*(by_pid(host, pid) for pid in pids), *(by_port(host, port) for port in ports))
    except NotFound as why:
        raise Trouble(str(why)) from None
    return tuple({server.pid: server for server in there}.values())


def _called(host: "Host", servers: "Sequence[Serving]") -> str:
    """`sglang-30000+vllm-8000`; what is no known engine by its program."""
    from probes.kit.probe import MAIN
    from probes.process import program_name

    return "+".join(program_name(host, one.pid) if one.name == MAIN else one.name for one in servers)


def told(host: "Host", servers: "Sequence[Serving]") -> str:
    """`sglang-30000 (pid 4711) and nginx (pid 12)`."""
    return " and ".join(f"{_called(host, [server])} (pid {server.pid})" for server in servers)


class Recorded(NamedTuple):
    """How a run ended. trouble: what went wrong with its record. unread: what could not be read of its metrics."""

    how: "Ending"
    trouble: str
    unread: Sequence[str]


def recorded(
    invocation: "Invocation",
    asked: "Attachment",
    collecting: "Collecting",
    begun: Callable[[str], None] = lambda _trouble: None,
) -> "Recorded":
    """begun: given what went wrong so far."""
    from fingerprint.cli.recording import means_of
    from fingerprint.runs.attach import attach

    with ExitStack() as held:
        means, journal = means_of(invocation, held)
        ended = attach(asked, means, lambda: begun(journal.trouble))
        unread = collecting.into(journal, b"", invocation.redactor)
        return Recorded(ended.how, journal.trouble or ended.unwritten, unread)
