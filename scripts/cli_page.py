"""Prints docs/cli.md, made from the verbs themselves: `.venv/bin/python scripts/cli_page.py > docs/cli.md`."""

import sys
from collections.abc import Iterable, Iterator
from inspect import cleandoc

import click

from fingerprint.cli.main import TASKS, cli
from fingerprint.cli.verb import DONE, RUN_MEANS, Verb

HEAD = """# The command line

Every verb by task, made by `scripts/cli_page.py` from what `--help` prints. Without a verb: `status`.
`fingerprint --help` lists the verbs, and `fingerprint VERB --help` says of one what stands here.

## What is common to all

**RUN**, where a verb takes one, is any of these, tried in this order:

{runs}

**GLOB** matches paths of facts ([facts.md](facts.md) lists them): `*` stands for one segment, `**` for any number.
Quote it, so that the shell leaves it alone: `'process/*/env/NCCL_*'`.

**Exit statuses** are these, where a verb names no others:

{exits}

A verb that is interrupted exits with 130. One whose reader went away (`fingerprint facts | head`) exits with 141.
Answers go to standard output and troubles to standard error, so that a pipe carries answers alone.

**Settings** apply to all verbs; [README.md](../README.md) says where they lie. Text is coloured on a terminal alone,
and not where `NO_COLOR` is set, unless the setting `color` says `always`; in a pipe it is 80 columns wide.
"""

KINDS = {
    "RUN": "a RUN",
    "GLOB": "a GLOB",
    "PATH|RULE": "a fact's path; its keys may stand for themselves or be `*`. Or a [rule](mechanisms.md)",
}


def page() -> str:
    head = HEAD.format(runs=table(("", "means"), RUN_MEANS.items()), exits=table(("status", "means"), DONE.items()))
    return "\n".join([head, *(section(task, verbs) for task, verbs in TASKS.items())])


def section(task: str, verbs: Iterable[str]) -> str:
    return "\n".join([f"## {task}\n", *("\n".join(about(verb)) for verb in verbs)])


def about(name: str) -> Iterator[str]:
    with click.Context(cli, info_name="fingerprint") as outer:
        verb = cli.get_command(outer, name)
        assert isinstance(verb, Verb), f"{name} has no examples and exit statuses: make it with cls=Verb"
        with click.Context(verb, info_name=name, parent=outer) as inner:
            usage = " ".join((*verb.collect_usage_pieces(inner), ""))
            parameters = [row for param in verb.params if (row := parameter(param, inner))]
    yield f"### {name}\n"
    yield f"    fingerprint {name} {usage}".rstrip() + f"\n\n{cleandoc(verb.help or '')}\n"
    if parameters:
        yield table(("word", "means"), parameters) + "\n"
    yield "\n".join(["For example:\n", *(f"    {line}" for line in verb.examples), ""])
    if verb.exits is not DONE:
        yield table(("exit status", "means"), verb.exits.items()) + "\n"


def parameter(param: click.Parameter, ctx: click.Context) -> tuple[str, str] | None:
    if isinstance(param, click.Option):
        return param.get_help_record(ctx)
    kind = KINDS.get(param.type.name)
    return (param.make_metavar(ctx).strip("[]"), kind) if kind else None


def table(titles: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [titles, ("---", "---"), *((f"`{cell(first)}`", cell(second)) for first, second in rows)]
    return "\n".join(f"| {first} | {second} |".replace("|  |", "| |") for first, second in lines)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
