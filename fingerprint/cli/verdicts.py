"""In which forms `gate` tells its verdict, and where to."""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.gate.contract import Verdict

# Format -> where its renderer is; the text has a width and colours besides.
RENDERERS = {
    "json": "fingerprint.report.json:render",
    "markdown": "fingerprint.report.markdown:render_verdict",
    "junit": "fingerprint.report.junit:render",
    "github": "fingerprint.report.github:render",
    "gitlab": "fingerprint.report.gitlab:render",
}
FORMATS = ("text", *RENDERERS)
SUMMARY = "GITHUB_STEP_SUMMARY"
"""Names the file that GitHub shows below a job's steps; a step appends to it."""


class Output(NamedTuple):
    form: str
    file: Path


class OutputArgument(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.5 on
    """`FORMAT:FILE`."""

    name = "FORMAT:FILE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Output:
        form, colon, name = str(value).partition(":")
        if form not in FORMATS or not colon:
            self.fail(f"'{value}' is no FORMAT:FILE: write e.g. junit:gate.xml; formats are {', '.join(FORMATS)}")
        file = Path(name)
        if not name or file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
            self.fail(f"'{name}' cannot be written: name a file in a folder that is there and writable")
        return Output(form, file)


class Telling(NamedTuple):
    """How it was asked for. explain: each rule with its reading, in the text; the others hold all of them."""

    form: str
    explain: bool
    outputs: tuple[Output, ...]
    quiet: bool


def tell(invocation: "Invocation", verdict: "Verdict", how: Telling) -> None:
    """Prints and writes it; for GitHub also into its step's summary, where there is one. Raises Trouble, OSError."""
    if not how.quiet:
        click.echo(_told(invocation, verdict, how.form, how.explain), nl=False, color=invocation.color)
    for form, file in how.outputs:
        text = _told(invocation, verdict, form, explain=True)
        _write(file, click.unstyle(text) if form == "text" else text, "w")
    if how.form == "github" and (summary := os.environ.get(SUMMARY)):
        _write(Path(summary), _renderer("markdown")(verdict), "a")


def _write(file: Path, text: str, mode: Literal["w", "a"]) -> None:
    """A full disk is met where the file is closed, and its error names none."""
    try:
        with open(file, mode, encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise Trouble(f"{file} cannot be written: {error.strerror}") from None


def _told(invocation: "Invocation", verdict: "Verdict", form: str, explain: bool) -> str:
    if form in RENDERERS:
        return _renderer(form)(verdict)
    from fingerprint.report.gate import render

    return render(verdict, explain=explain, width=invocation.width, color=invocation.color)


def _renderer(form: str) -> "Callable[[Verdict], str]":
    module, _, name = RENDERERS[form].partition(":")
    renderer: Callable[[Verdict], str] = getattr(import_module(module), name)
    return renderer
