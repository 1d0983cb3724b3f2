"""Reads the tables of nccl-tests (all_reduce_perf and the like; rccl-tests too), of all versions: with and without the
columns redop and root, `error` of old and `#wrong` since.

A row is a size in B; time in us, algbw and busbw in GB/s unless the row under the title says otherwise, of the
operation into another buffer (out of place) and into its own (in place). With NCCL_DEBUG=INFO the library's lines tear
rows apart: what they wrote into a row is taken out, and a row that has not a value for each column is left out, which
is told.
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fingerprint.metrics.clients.measured import Benchmark, Word, check_many, found, given, number
from fingerprint.metrics.clients.printed import plain
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.metric import Metric

CLIENT = "nccl-tests"
_WORDS = {
    "time": Word("time", "us", "lower"),
    "algbw": Word("algbw", "GB/s", "higher"),
    "busbw": Word("busbw", "GB/s", "higher"),
}
_AVERAGE = Word("avg_busbw", "GB/s", "higher")
_WRONG = Word("out_of_bounds_values", better="lower")
_TITLE = re.compile(r"#\s+size\s+count\s+type\s+.*\btime\s+algbw\s+busbw\s+\S+\s+time\s+algbw\s+busbw\s+\S+\s*")
_UNITS = re.compile(
    r"#\s+\(B\)\s+\(elements\)\s+\((?P<time>[^\s()]+)\)\s+\((?P<algbw>[^\s()]+)\)\s+\((?P<busbw>[^\s()]+)\).*"
)
"""Under the title: those of time and both bandwidths, in place as out of place."""
_SETTINGS = re.compile(
    r"# nThread (?P<threads>\d+) nGpus (?P<gpus>\d+) minBytes (?P<min_bytes>\d+) maxBytes (?P<max_bytes>\d+)"
    r" step: (?P<step>\S+) warmup iters: (?P<warmup_iters>\d+) iters: (?P<iters>\d+)"
    r"(?: agg iters: (?P<agg_iters>\d+))? validation: (?P<validation>\d+)(?: graph: (?P<graph>\d+))?"
)
_COLLECTIVE = re.compile(r"# Collective test starting: (?P<name>\w+)")
_RANK = re.compile(r"#\s+Rank\s+(?P<rank>\d{1,9}) .* on ")
_OUT_OF_BOUNDS = re.compile(r"# Out of bounds values : (?P<value>\d+)")
_AVERAGED = re.compile(r"# Avg bus bandwidth\s*: (?P<value>\S+)")
# A line of the library, which begins where a row was being printed; the name of a host may follow a number at once.
_LIBRARY = re.compile(
    r"(?P<row>\d(?:e[-+]\d\d)?)?[A-Za-z][\w.-]{0,252}:\d+:\d+ \[\d+\] NCCL (?:INFO|WARN|TRACE|ABORT).*(?:\n|$)"
)


class Row(NamedTuple):
    """kind: type, redop and root, as far as there are such columns. groups: out of place, in place."""

    size: int
    kind: tuple[str, ...]
    groups: tuple[Mapping[str, str], Mapping[str, str]]


class Table(NamedTuple):
    asked: Mapping[str, Any]
    rows: list[Row]
    totals: dict[str, Any]
    units: dict[str, str]


def recognises_text(text: str) -> bool:
    return "algbw" in text and any(_TITLE.fullmatch(line.strip()) for line in text.splitlines() if "algbw" in line)


def read_text(text: str) -> Found:
    torn: list[str] = []
    tables = list(_tables(_LIBRARY.sub(r"\g<row>", text), torn))
    benchmarks = [Benchmark(it.asked, [*_of_rows(it), *_totals(it)]) for it in tables]
    if torn and not any(it.metrics for it in benchmarks):
        raise NothingRead(f"all {len(torn)} rows of nccl-tests were torn apart by other output; unset NCCL_DEBUG")
    remarks = [f"{len(torn)} rows of nccl-tests were torn apart by other output and left out"] if torn else ()
    return found(CLIENT, [it for it in benchmarks if it.metrics], remarks)


def _tables(text: str, torn: list[str]) -> Iterator[Table]:
    """Each is whole once the next is asked for. Under a title, a line that begins with a number is a row."""
    asked: dict[str, Any] = {}
    heads: Sequence[str] = ()
    table = Table({}, [], {}, {})
    for line in text.splitlines():
        if name := _COLLECTIVE.search(line):
            asked = {"collective": name["name"]}
        elif settings := _SETTINGS.search(line):
            told = {key: plain(value) for key, value in settings.groupdict().items() if value}
            asked = {**{key: asked[key] for key in ("collective",) if key in asked}, **told, "ranks": 0}
        elif rank := _RANK.match(line):  # of which some may be left out
            asked["ranks"] = max(asked.get("ranks", 0), int(rank["rank"]) + 1)
        elif _TITLE.fullmatch(line.strip()):
            heads, table = line.strip("# \n").split(), Table(given(asked), [], {}, {})
            yield table
        elif heads:
            _take(line, heads, table, torn)


def _take(line: str, heads: Sequence[str], table: Table, torn: list[str]) -> None:
    if units := _UNITS.match(line):
        table.units.update(units.groupdict())
    elif out := _OUT_OF_BOUNDS.match(line):
        table.totals["wrong"] = plain(out["value"])
    elif average := _AVERAGED.match(line):
        table.totals["average"] = plain(average["value"])
    elif (values := line.split()) and isinstance(plain(values[0]), int):
        if row := _row(values, heads):
            table.rows.append(row)
        else:
            torn.append(line)
        check_many(len(table.rows))


def _row(values: Sequence[str], heads: Sequence[str]) -> Row | None:
    """None where it has not a value for each column."""
    if len(values) != len(heads):
        return None
    first = heads.index("time")
    width = (len(heads) - first) // 2
    groups = [dict(zip(heads[at : at + width], values[at : at + width], strict=True)) for at in (first, first + width)]
    return Row(int(values[0]), tuple(values[2:first]), (groups[0], groups[1]))


def _of_rows(table: Table) -> Iterator[Metric]:
    several = len({row.kind for row in table.rows}) > 1
    words = {key: word._replace(unit=table.units.get(key, word.unit)) for key, word in _WORDS.items()}
    for row in table.rows:
        prefix = f"{' '.join(row.kind)}/{row.size} B" if several else f"{row.size} B"
        for place, group in zip(("", "in-place/"), row.groups, strict=True):
            for key, word in words.items():
                if group[key] != "N/A":
                    source = f"{CLIENT}, {'in place' if place else 'out of place'}"
                    yield number(plain(group[key]), word._replace(name=f"{prefix}/{place}{key}"), source)


def _totals(table: Table) -> Iterator[Metric]:
    """Where its last lines are missing, wrong values are counted in the rows."""
    counts = [plain(group.get("#wrong", "N/A")) for row in table.rows for group in row.groups]
    told = [count for count in counts if isinstance(count, int)]
    wrong = table.totals.get("wrong", sum(told) if told else None)
    if wrong is not None:
        yield number(wrong, _WRONG, f"{CLIENT}, out of bounds values")
    if "average" in table.totals:
        average = _AVERAGE._replace(unit=table.units.get("busbw", _AVERAGE.unit))
        yield number(table.totals["average"], average, f"{CLIENT}, average bus bandwidth")
