"""`--metrics [NAME=]READER:ARGUMENT[,OPTION=VALUE...]`, understood."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

from fingerprint.metrics.logs import LOGS
from fingerprint.metrics.metric import Better, Kind
from fingerprint.metrics.naming import plain_unit
from fingerprint.metrics.path import Path, parse_path
from fingerprint.metrics.results import FORMATS, OUTPUT
from fingerprint.trouble import Trouble

# What each run measures by itself.
TAKEN = ("wall_time", "cpu_time", "peak_memory", "exit_status")
READERS = ("auto", "json", "regex", *FORMATS, *LOGS, "said")
EXAMPLE = "auto:results.json, json:results.json#mean_ttft_ms or 'regex:throughput: ([0-9.]+)'"
LONGEST_NAME = 200

_WANTED = re.compile(r"(?:(?P<name>[^=:]+)=)?(?P<reader>[a-z-]+)(?::(?P<argument>.*))?", re.DOTALL)
_OPTION = re.compile(
    r",(?:unit=(?P<unit>[^,=#]{0,40})|better=(?P<better>\w+)|kind=(?P<kind>\w+)|(?P<peak>peak))\Z", re.DOTALL
)


class Wanted(NamedTuple):
    """One `--metrics`, which `text` is. Empty: not given.

    argument  the file, or the pattern
    prefix    the NAME before the reader
    path      where in the file; of json alone
    pattern   of regex alone
    """

    text: str
    reader: str
    argument: str
    prefix: str = ""
    unit: str = ""
    better: "Better | Literal['']" = ""
    kind: "Kind | Literal['']" = ""
    peak: bool = False
    path: Path = Path(())
    pattern: "re.Pattern[str]" = re.compile("")

    def __str__(self) -> str:
        return self.text

    @property
    def file(self) -> str:
        """Empty for output, and for `auto` alone."""
        if self.reader == "regex" or self.argument == OUTPUT:
            return ""
        return self.argument.partition("#")[0] if self.reader == "json" else self.argument

    @property
    def name(self) -> str:
        """Of the only metric, as far as it is known before the run."""
        if self.prefix or self.reader not in ("json", "regex"):
            return self.prefix
        derived = "output" if self.reader == "regex" else self.path.name or "value"
        return f"{self.reader}.{derived}" if derived in TAKEN else derived


def wanted(texts: Iterable[str]) -> tuple[Wanted, ...]:
    """Raises Trouble for what no reader could do, before the command is started."""
    all_wanted = tuple(map(_understood, texts))
    names: dict[str, str] = {}
    for one in all_wanted:
        if one.name and names.setdefault(one.name, one.text) != one.text:
            raise Trouble(
                f"--metrics {one.text} and --metrics {names[one.name]} both give '{one.name}'; put NAME= before one"
            )
    return tuple({one.text: one for one in all_wanted}.values())


def check_metric_name(name: str) -> str:
    """Raises Trouble for one that could not be told, or means what each run measures by itself."""
    if name in TAKEN:
        raise Trouble(f"'{name}' is measured in each run by fingerprint itself; choose another name")
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise Trouble(f"{name[:60]!r} is no name for a metric: it takes 1 to {LONGEST_NAME} printable characters")
    return name


def _understood(text: str) -> Wanted:
    body, options = _options(text)
    found = _WANTED.fullmatch(body)
    if not found or found["reader"] not in READERS:
        raise Trouble(f"--metrics {text}: no such reader; there are {', '.join(READERS)}, as in {EXAMPLE}")
    one = Wanted(
        text,
        found["reader"],
        found["argument"] or "",
        check_metric_name(found["name"]) if found["name"] else "",
        plain_unit(options.get("unit", "")),
        cast("Better", options.get("better", "")),
        cast("Kind", options.get("kind", "")),
        "peak" in options,
    )
    _check(one, options)
    return _compiled(one)


def _compiled(one: Wanted) -> Wanted:
    if one.reader == "json":
        return one._replace(path=_path(one))
    return one._replace(pattern=_pattern(one)) if one.reader == "regex" else one


def _options(text: str) -> tuple[str, dict[str, str]]:
    """Those at the end; whatever else stands behind a comma belongs to the argument."""
    options: dict[str, str] = {}
    while found := _OPTION.search(text):
        options |= {key: value for key, value in found.groupdict().items() if value is not None}
        text = text[: found.start()]
    return text, options


def _check(one: Wanted, options: dict[str, str]) -> None:
    for option, allowed in (("better", ("lower", "higher", "unknown")), ("kind", ("repeats", "series"))):
        if options.get(option, allowed[0]) not in allowed:
            raise Trouble(f"--metrics {one}: {option} is one of {', '.join(allowed)}, not {options[option]}")
    if options and one.reader not in ("json", "regex"):
        raise Trouble(f"--metrics {one}: {one.reader} files tell {', '.join(options)} themselves; leave it out")
    named = one.file if one.reader == "json" else one.argument
    if not named and one.reader != "auto":
        raise Trouble(f"--metrics {one}: {_missing(one.reader)} is missing, as in {EXAMPLE}")


def _missing(reader: str) -> str:
    return "the pattern" if reader == "regex" else "the file"


def _path(one: Wanted) -> Path:
    try:
        return parse_path(one.argument.partition("#")[2])
    except Trouble as trouble:
        raise Trouble(f"--metrics {one}: {trouble}") from None


def _pattern(one: Wanted) -> "re.Pattern[str]":
    try:
        pattern = re.compile(one.argument)
    except re.error as error:
        raise Trouble(f"--metrics {one}: no regular expression: {error}") from None
    if "value" not in pattern.groupindex and pattern.groups - len(pattern.groupindex) > 1:
        raise Trouble(
            f"--metrics {one}: which of the {pattern.groups} groups is the value? Call it so, (?P<value>...), "
            "or write (?:...) for the others"
        )
    return pattern
