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


class Text(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.5 on, and not at run time before
    """What is stored or compared as text; a word of a command line can be any bytes."""

    name = "TEXT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"{text!a} is not UTF-8", param, ctx)
        return text


class RunArgument(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A run as store/refs.py understands it; completes the names of the store, else files."""

    name = "RUN"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = [name for name in (*RELATIVE, *_stored(incomplete)) if name.startswith(incomplete)]
        return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def _stored(incomplete: str) -> list[str]:
    """Names of series, or of their attempts where one is being written. Nothing where the store cannot be read."""
    from fingerprint.cli.invocation import Invocation
    from fingerprint.store import Stores
    from fingerprint.trouble import Trouble

    try:
        rows = Stores.open(Invocation().environ).runs()  # saying nothing of a store that cannot be read
    except Trouble:
        return []
    return sorted({str(row) if "#" in incomplete else row.name for row in rows})


class CommandArgument(click.types.UnprocessedParamType):
    """A word of a command, whatever bytes it is; completes files."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class FactArgument(Text):
    """A fact's path; completes those that are declared."""

    name = "PATH"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from fingerprint.catalog import facts

        return [CompletionItem(fact.path) for fact in facts() if fact.path.startswith(incomplete)]


class FactOrRuleArgument(FactArgument):
    """A fact's path or the name of a rule; completes both."""

    name = "PATH|RULE"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from fingerprint.explain.mechanisms import rules

        names = [CompletionItem(rule.name) for rule in rules() if rule.name.startswith(incomplete)]
        return [*super().shell_complete(ctx, param, incomplete), *names]


class GlobArgument(FactArgument):
    """A glob over fact paths, given on as it was written."""

    name = "GLOB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from probes.kit.paths import parse_glob

        try:
            return parse_glob(super().convert(value, param, ctx)).text
        except ValueError as error:
            self.fail(str(error), param, ctx)


class AreaArgument(Text):
    """An area that is about the host itself: the others are about a process, and `run` reads them."""

    name = "AREA"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        area = super().convert(value, param, ctx)
        if area not in _host_areas():
            self.fail(f"there is no area '{area}' of the host: there are {', '.join(_host_areas())}", param, ctx)
        return area

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(area) for area in _host_areas() if area.startswith(incomplete)]


def _host_areas() -> tuple[str, ...]:
    from fingerprint.areas import names_of_host

    return names_of_host()


RELATIVE = ("@", "@-1", "@good")
TEXT = Text()
RUN = RunArgument()
COMMAND = CommandArgument()
FACT_OR_RULE = FactOrRuleArgument()
GLOB = GlobArgument()
AREA = AreaArgument()
