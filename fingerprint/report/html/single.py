"""A run or a snapshot by itself as parts of a page."""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from fingerprint.report.html.comparison import listing
from fingerprint.report.html.page import section
from fingerprint.report.markup import Child, Html, arrows, path, tag
from fingerprint.report.phrases import measured as in_one_value
from fingerprint.report.phrases import moved_during, said_of
from fingerprint.words import in_words, moment

Document = Mapping[str, Any]


def header(document: Document) -> Html:
    if document["schema"] == "fingerprint.snapshot/1":
        title, aside = f"{document['host']}, {moment(document['taken_at'])}", f"snapshot {document['id']}"
        return tag("header", tag("p", "fingerprint snapshot", class_="kind"), tag("h1", title), tag("p", aside))
    good = ", marked good" if document["good"] else ""
    title = f"{document['name']}#{document['attempt']} {document['ended']}{good}"
    return tag("header", tag("p", "fingerprint run", class_="kind"), tag("h1", title), listing(_head(document)))


def _head(document: Document) -> Iterator[tuple[str, Child]]:
    words = (quote(word) if isinstance(word, str) else "(private)" for word in document["argv"])
    yield "command", tag("code", " ".join(words))
    if document["attached"]:
        yield "attached to", ", ".join(f"{it['target']} (pid {it['pid']})" for it in document["attached"])
    yield "in", tag("code", document["cwd"] or "(not read)")
    yield "on", f"{document['host']}, {moment(document['opened_at'])}"
    yield "benchmark", document["benchmark"]
    yield "id", document["id"]


def parts(document: Document) -> Iterator[Child]:
    """All below the header, but for the state; a snapshot has none of it."""
    if document["schema"] != "fingerprint.run/1":
        return
    metrics, workload = document["metrics"], document["workload"]
    yield _section("Metrics", [(tag("b", name), in_one_value(it)) for name, it in metrics.items()])
    yield _section("Workload", [(key, in_words(value)) for key, value in workload.items()])
    yield _section(
        "Found in this run alone",
        [(it["about"], [tag("p", it["says"]), tag("p", it["do"], class_="do")]) for it in document["findings"]],
    )
    yield _section("Said", [(text, said_of(told)) for text, told in document["said"].items()])
    yield _section("Changed during the run", [(path(fact), arrows(words)) for fact, words in moved_during(document)])
    yield _section("Troubles of fingerprint", [("", text) for text in document["troubles"]])
    yield _section("Notes", [("", text) for text in document["notes"]])


def _section(title: str, rows: list[tuple[Child, Child]]) -> Html | None:
    return section(title, listing(rows)) if rows else None
