"""The command `fingerprint`: its verbs by task, and what a trouble's exit status is."""

import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from fingerprint.cli.saying import say
from fingerprint.trouble import Trouble
from fingerprint.version import __version__

TASKS: Mapping[str, Sequence[str]] = {
    "Measure": ("run", "attach", "begin", "end", "metric", "snapshot"),
    "Compare": ("diff", "gate", "breakeven"),
    "Look": ("status", "runs", "show", "timeline", "facts", "explain"),
    "Keep house": ("good", "note", "rename", "rm", "prune", "export", "import"),
    "Always on": ("service", "daemon"),
    "Fingerprint itself": ("doctor", "noise", "record", "config", "schema", "completion"),
}
TROUBLE = 2
RUN_TROUBLE = 125  # as env(1): whatever the command itself exits with stays distinguishable


class ReaderGone(Exception):
    """Whoever read our output went away, as `head` does."""


class Verbs(click.Group):
    """Imports a verb's module, `fingerprint.cli.VERB`, when it is asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would exit with 1, which says something else where `diff` does
            raise ReaderGone from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verbs in TASKS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"fingerprint.cli.{_module(cmd_name)}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            ctx.fail(f"There is no verb '{args[0]}'{_did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for task, verbs in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(verb, self._summary(ctx, verb)) for verb in verbs])

    def _summary(self, ctx: click.Context, verb: str) -> str:
        command = self.get_command(ctx, verb)
        return command.get_short_help_str(limit=100) if command else ""


def _module(verb: str) -> str:
    return "import_" if verb == "import" else verb


def _did_you_mean(word: str, words: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, words, n=1)
    return f", but '{near[0]}'" if near else ""


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fingerprint", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Writes down everything about this host that can move a number, and says which change did.

    \b
    fingerprint run --name run-A -- CMD      before, CMD, during, after
    fingerprint run --name run-B -- CMD      the same, another day
    fingerprint diff run-A run-B             what changed, what is ruled out, what is not known

    Without a verb: status.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(cli.get_command(ctx, "status") or _missing())


def _missing() -> NoReturn:
    raise AssertionError("the verb status is part of TASKS")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Runs one verb and exits with its status; a trouble is one sentence on standard error."""
    argv = list(sys.argv[1:] if args is None else args)
    gc.disable()  # a verb lives for a moment, and most of what it makes is needed to its end; else it says so itself
    try:
        status = _status(argv)
    except Exception:  # noqa: BLE001  # a fault of ours: Python's status for it, 1, is an answer of `diff` and `gate`
        sys.excepthook(*sys.exc_info())
        status = _of_trouble(argv)
    gc.freeze()  # or the interpreter looks through all that there is once more before it ends: 20 ms after a diff
    sys.exit(status)


def _status(argv: list[str]) -> int:
    trouble = _of_trouble(argv)
    if trouble != RUN_TROUBLE:  # what `run` starts has the streams that we have
        _fill_streams()
    try:
        answer: Any = cli.main(argv, prog_name="fingerprint", standalone_mode=False)
        if sys.stdout:
            sys.stdout.flush()
    except click.exceptions.Abort:
        return 130
    except (ReaderGone, BrokenPipeError):
        _drop_output()
        return 128 + 13
    except OSError as error:
        say(f"{error.filename or 'standard output'} cannot be used: {error.strerror}")
        _drop_output()
        return trouble
    except click.UsageError as error:
        say(_usage(error))
        return trouble
    except (click.ClickException, Trouble) as error:
        say(str(error))
        return trouble
    return answer if isinstance(answer, int) else 0


def _of_trouble(argv: list[str]) -> int:
    return RUN_TROUBLE if argv[:1] == ["run"] else TROUBLE


def _usage(error: click.UsageError) -> str:
    verb = error.ctx.command_path if error.ctx else "fingerprint"
    return f"{' '.join(error.format_message().split()).rstrip('.')}: see `{verb} --help`"


def _fill_streams() -> None:
    """A closed descriptor of 0 to 2 would become a file of ours: it is filled so that reading gives nothing."""
    while (fd := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(fd)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115  # until the end


def _drop_output() -> None:
    """What is still buffered for a reader that went away, or for a full disk, must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
