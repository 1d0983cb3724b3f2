"""Options that several verbs share."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def output_format(*formats: str) -> Decorator:
    """`--format`, the first one by default."""
    return click.option(
        "--format", "form", type=click.Choice(formats), default=formats[0], show_default=True, help="How to print it."
    )


def quiet() -> Decorator:
    return click.option("-q", "--quiet", is_flag=True, help="Print nothing but troubles.")


class RunArgument(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.5 on, and not at run time before
    """A run as store/refs.py understands it; completes the names of the store."""

    name = "RUN"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from fingerprint.cli.invocation import Invocation
        from fingerprint.store import StoreError

        try:
            names = {row.name for row in Invocation().stores.runs()}
        except StoreError:
            return []
        return [CompletionItem(name) for name in sorted(names | {"@", "@good"}) if name.startswith(incomplete)]


class GlobArgument(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A glob over fact paths, given on as it was written."""

    name = "GLOB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from probes.kit.paths import parse_glob

        try:
            return parse_glob(value).text
        except ValueError as error:
            self.fail(str(error), param, ctx)


RUN = RunArgument()
GLOB = GlobArgument()
