"""What the help of a verb says beside its options: examples, what a run argument can be, exit statuses."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from fingerprint.cli.options import RunArgument

DONE = {"0": "done", "2": "trouble, told in one sentence on standard error"}
RUN_MEANS = {
    "@": "the last run that somebody asked for; @-1 is the one before",
    "@good": "the last one marked good",
    "run-A": "a series, all attempts of that name; where one is meant, the last",
    "run-A#2": "one attempt",
    "01JD5X": "a run or snapshot by the beginning of its id, 4 characters at least",
    "run-A@-1h": "the attempt of that moment; also @now, @02:00 (the last one there was), @2026-01-15T02:00Z",
    "run-A@02:00..03:00": "the attempts of that time; also @23:00..02:00, @-2d.., @yesterday, @2026-01-15",
    "server@now": "server, where no run is called so, is the only one that the service has recorded",
    "FILE": "what `fingerprint export` wrote, if it holds one series or one snapshot",
}


class Verb(click.Command):
    """examples: command lines, each with a remark in parentheses where one is due. exits: status -> what it means."""

    def __init__(self, *args: Any, examples: str, exits: Mapping[str, str] = DONE, **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = tuple(examples.splitlines())
        self.exits = exits

    @property
    def takes_run(self) -> bool:
        return any(isinstance(param.type, RunArgument) for param in self.params)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            for line in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")
        for title, words in self._lists():
            with formatter.section(title):
                formatter.write_dl(list(words.items()))

    def _lists(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        if self.takes_run:
            yield "A run is named by, in this order", RUN_MEANS
        yield "Exit status", self.exits
