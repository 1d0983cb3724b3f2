"""Reads what nvbandwidth prints, as text or as JSON (-j): a matrix of each test case, in GB/s or, of latencies, in ns.

Of a matrix the pairs are summed up, and the worst pair is a metric by itself; of up to 16 pairs each is one. A pair of
a device with itself was not measured: `N/A`, `0.00` of old. A test case that was waived is a gap.
https://github.com/NVIDIA/nvbandwidth
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fingerprint.metrics.clients.measured import Benchmark, Word, found, given, number
from fingerprint.metrics.clients.printed import plain
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.values import sample, summary_of

CLIENT = "nvbandwidth"
_EACH = 16  # pairs that are told one by one
_RUNNING = re.compile(r"Running (?P<name>\w+)\.")
_MATRIX = re.compile(r"^[^\n]{0,60}\(row\)[^\n]{1,40}\(column\)[^\n]{0,40} \((?P<unit>GB/s|ns)\)[ \t]*$", re.MULTILINE)
_VERSION = re.compile(r"nvbandwidth Version: v?(?P<version>\S+)")
_LAYOUT = {"bufferSize": "buffer_size", "testSamples": "test_samples", "useMean": "use_mean"}


class Case(NamedTuple):
    """matrix: by row and column. status: empty where it passed."""

    name: str
    unit: str = "GB/s"
    matrix: Mapping[tuple[str, str], Any] = {}
    status: str = ""


def recognises(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(root := record.get("nvbandwidth"), dict)
        and isinstance(cases := root.get("testcases"), list)
        and all(isinstance(case, dict) and isinstance(case.get("name"), str) for case in cases)
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    roots = [record["nvbandwidth"] for record in records]
    return found(CLIENT, [Benchmark(_asked(root), _metrics(map(_case, root["testcases"]))) for root in roots])


def recognises_text(text: str) -> bool:
    return "Running " in text and any(map(_MATRIX.search, _RUNNING.split(text)[2::2]))


def read_text(text: str) -> Found:
    version = _VERSION.search(text)
    pieces = _RUNNING.split(text)
    cases = [_printed(name, body) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)]
    return found(CLIENT, [Benchmark({"version": version["version"]} if version else {}, _metrics(cases))])


def _asked(root: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: root.get(key) for key, name in _LAYOUT.items()}
    return given({"version": str(root.get("version", "")).removeprefix("v"), **told})


def _case(case: Mapping[str, Any]) -> Case:
    rows, unit = case.get("bandwidth_matrix"), _MATRIX.search(str(case.get("bandwidth_description", "")))
    status = str(case.get("status") or "")
    if status not in ("", "Passed") or not isinstance(rows, list):
        return Case(case["name"], status=str(case.get("error") or status or "no matrix was written"))
    matrix = {
        (str(at), str(to)): plain(value) if isinstance(value, str) else value
        for at, row in enumerate(rows)
        if isinstance(row, list)
        for to, value in enumerate(row)
    }
    return Case(case["name"], unit["unit"] if unit else "GB/s", matrix)


def _printed(name: str, body: str) -> Case:
    """Rows stand beneath their columns' names, and end with an empty line."""
    title = _MATRIX.search(body)
    if not title:
        return Case(name, status=next((line.strip() for line in body.splitlines() if line.strip()), "no matrix"))
    lines = body[title.end() :].lstrip("\n").splitlines()
    columns = lines[0].split() if lines else []
    matrix: dict[tuple[str, str], Any] = {}
    for line in lines[1:]:
        row = line.split()
        if len(row) != len(columns) + 1 or not row[0].isdigit():
            break
        matrix |= {(row[0], column): plain(value) for column, value in zip(columns, row[1:], strict=True)}
    return Case(name, title["unit"], matrix)


def _metrics(cases: "Iterator[Case] | Sequence[Case]") -> list[Metric]:
    return [metric for case in cases for metric in _of_case(case)]


def _of_case(case: Case) -> Iterator[Metric]:
    word, source = Word(case.name, case.unit, "lower" if case.unit == "ns" else "higher"), f"{CLIENT}, {case.name}"
    measured = {pair: value for pair, value in case.matrix.items() if value not in ("N/A", 0)}
    try:
        values = [sample(value, f"{case.name} {'-'.join(pair)}", case.unit) for pair, value in measured.items()]
    except NothingRead as error:
        yield Metric(word.name, word.unit, word.way, source=source, gap=str(error))
        return
    if not values:
        yield Metric(word.name, word.unit, word.way, source=source, gap=case.status or "no pair of it was measured")
        return
    if len(values) == 1:
        yield number(values[0], word, source)
        return
    yield Metric(word.name, word.unit, word.way, source=source, kind="summary", summary=summary_of(values))
    worst = max(values) if case.unit == "ns" else min(values)
    yield number(worst, word._replace(name=f"{case.name}/worst_pair"), source)
    if len(values) <= _EACH:
        for pair, value in measured.items():
            yield number(value, word._replace(name=f"{case.name}/{'-'.join(pair)}"), source)
