"""Options that several verbs share."""

from typing import Any, Callable

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def output_format(*formats: str) -> Decorator:
    """`--format`, the first one by default."""
    return click.option(
        "--format", type=click.Choice(formats), default=formats[0], show_default=True, help="How to print it."
    )


def quiet() -> Decorator:
    return click.option("-q", "--quiet", is_flag=True, help="Print nothing but troubles.")
