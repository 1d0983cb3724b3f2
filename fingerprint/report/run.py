"""A run for a person, made from the published document (`fingerprint.run/1`) alone."""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from rich.console import ConsoleRenderable

from fingerprint.report import sections
from fingerprint.report.findings import finding_rows, said_rows
from fingerprint.report.layout import FACT, heading, indented, printed, rows, said
from fingerprint.report.phrases import measured, moved_during
from fingerprint.words import in_words, moment, quantities, quantity
from probes.kit.paths import parse_glob, parse_path

FINDINGS = 8
VALUES = 3
"""Values that a state held beside the most frequent one, of which more are in the JSON."""


def render(document: Mapping[str, Any], *, facts: str | None = None, width: int = 80, color: bool = False) -> str:
    """How it went, what it measured, and what was read; facts: a glob of those to list with their values."""
    return printed(_parts(document, facts), width=width, color=color)


def _parts(document: Mapping[str, Any], facts: str | None) -> Iterator[ConsoleRenderable]:
    good = ", marked good" if document["good"] else ""
    yield said(f"{document['name']}#{document['attempt']}  {document['ended']}{good}", "bold")
    yield from rows(list(_head(document)), indent=2)
    if facts is not None:
        yield from sections.facts(document["sections"], facts)
        yield from _seen_during(document["samples"], facts)
        return
    for part in (_metrics, _workload, _findings, _said, _changed_during, _remarks):
        yield from part(document)
    yield from sections.overview(document["sections"])


def _head(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words = (quote(word) if isinstance(word, str) else "(private)" for word in document["argv"])
    yield "command", " ".join(words)
    if document["attached"]:
        servers = (f"{it['target']} (pid {it['pid']})" for it in document["attached"])
        yield "attached to", f"{', '.join(servers)}{', in the background' if document['detached'] else ''}"
    yield "in", document["cwd"] or "(not read)"
    yield "on", document["host"]
    yield "started", moment(document["opened_at"])
    yield "benchmark", document["benchmark"]
    yield "id", document["id"]


def _metrics(document: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    if document["metrics"]:
        yield heading("Metrics")
        yield from rows([(said(name, FACT), measured(it)) for name, it in document["metrics"].items()], indent=2)


def _workload(document: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    if document["workload"]:
        yield heading("Workload")
        yield from rows([(said(key, FACT), in_words(it)) for key, it in document["workload"].items()], indent=2)


def _findings(document: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    if found := document["findings"]:
        yield heading("Found in this run alone", "odd by itself, whatever another run shows")
        yield from finding_rows(found[:FINDINGS])
        if found[FINDINGS:]:
            yield indented(f"and {len(found) - FINDINGS} more, all in --format json")


def _said(document: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    if document["said"]:
        yield heading("Said", "known messages; only that they were said is kept")
        yield from said_rows(document["said"])


def _seen_during(samples: Mapping[str, Any], pattern: str) -> Iterator[ConsoleRenderable]:
    glob = parse_glob(pattern)
    found = [(said(path, FACT), _sampled(it)) for path, it in samples.items() if glob.matches(parse_path(path))]
    if found:
        yield heading("Seen while it ran")
        yield from rows(found, indent=2)


def _sampled(seen: Mapping[str, Any]) -> str:
    if seen["type"] == "growth":
        return f"grew by {seen['grown']} in {quantity(seen['seconds'], 's')}"
    left_out = f", {seen['left_out']} left out: not {seen['condition']}" if seen["left_out"] else ""
    if seen["type"] == "uncounted":
        return f"0 samples{left_out}"
    if seen["type"] == "held":
        return f"{_held(seen)}{left_out}"
    low, *_, middle, _, _, high = seen["quantiles"]
    ends = quantities(low, high, seen["unit"]).replace(" -> ", " to ")
    return f"median {quantity(middle, seen['unit'])}, {ends}, {seen['count']} samples{left_out}"


def _held(seen: Mapping[str, Any]) -> str:
    """`16 in 38 of 41 samples, 8 in 3`."""
    (first, times), *others = seen["values"]
    count = sum(times for _, times in seen["values"]) + seen["others"]
    rest = [f"{_worded(value, seen['unit'])} in {times}" for value, times in others[:VALUES]]
    return ", ".join([f"{_worded(first, seen['unit'])} in {times} of {count} samples", *rest])


def _worded(value: Any, unit: str) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return quantity(value, unit) if is_number else in_words(value)


def _changed_during(document: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    if moved := [(said(path, FACT), words) for path, words in moved_during(document)]:
        yield heading("Changed during the run")
        yield from rows(moved, indent=2)


def _remarks(document: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    for title, texts in (("Troubles of fingerprint", document["troubles"]), ("Notes", document["notes"])):
        if texts:
            yield heading(title)
            yield from (indented(text) for text in texts)
