"""The suspects of a diff as cards: the first few in full, the rest folded."""

from collections.abc import Container, Iterator

from fingerprint.explain.contract import Diff, Suspect, Unexplained
from fingerprint.report.html.charts import share
from fingerprint.report.html.page import section
from fingerprint.report.markup import Html, arrows, path, tag
from fingerprint.report.phrases import grown_facts, named, no_suspect, span, suspect_change

IN_FULL = 3


def suspects(diff: Diff) -> Html:
    if not diff.suspects:
        return section("Suspects", tag("p", no_suspect(diff)))
    moved = any(metric.verdict in ("worse", "better", "changed") for metric in diff.metrics)
    grown, whole = grown_facts(diff), _whole(diff)
    cards = [_card(suspect, grown, whole) for suspect in diff.suspects]
    rest = tag("details", tag("summary", f"{len(cards) - IN_FULL} more suspects"), cards[IN_FULL:])
    return section(
        "Suspects",
        cards[:IN_FULL],
        rest if cards[IN_FULL:] else None,
        _unexplained(diff.unexplained) if diff.unexplained else None,
        aside="" if moved else "if the change is real",
    )


def _whole(diff: Diff) -> tuple[float, str]:
    """How far the first metric that moved did, in its unit; what suspects explain is a part of it."""
    moved = (it for it in diff.metrics if it.verdict in ("worse", "better", "changed"))
    explained = {suspect.explains.unit for suspect in diff.suspects if suspect.explains}
    found = next((it for it in moved if it.unit in explained and it.a and it.b), None)
    return (abs(found.b.median - found.a.median), found.unit) if found and found.a and found.b else (0, "")


def _card(suspect: Suspect, grown: Container[str], whole: tuple[float, str]) -> Html:
    head = tag(
        "h3",
        tag("span", f"{suspect.rank}", class_="rank"),
        path(suspect.facts[0]),
        tag("span", suspect.likelihood, class_=f"verdict {suspect.likelihood}"),
    )
    change = tag("p", arrows(suspect_change(suspect, grown)), tag("small", f" on {suspect.on}") if suspect.on else None)
    rows = [tag("div", tag("dt", term), tag("dd", said)) for term, said in _rows(suspect, whole)]
    return tag("article", head, tag("div", change, class_="change"), tag("dl", rows), _commands(suspect))


def _rows(suspect: Suspect, whole: tuple[float, str]) -> Iterator[tuple[str, Html]]:
    """What the text report says of it; mechanisms whole."""
    for term, said in named(suspect, in_full=True):
        drawn = _share(suspect, whole) if term == "explains" else None
        yield term, tag("p", arrows(said), drawn)
    if suspect.confirm:
        yield "confirm", tag("p", suspect.confirm)


def _share(suspect: Suspect, whole: tuple[float, str]) -> Html | None:
    explains, (change, unit) = suspect.explains, whole
    return share(explains.low, explains.high, change) if explains and change and explains.unit == unit else None


def _commands(suspect: Suspect) -> list[Html]:
    named_commands = (("restore", suspect.restore), ("check", suspect.check))
    return [
        tag("div", tag("span", label, class_="label"), tag("pre", tag("code", command)), class_="command")
        for label, command in named_commands
        if command
    ]


def _unexplained(left: Unexplained) -> Html:
    return tag("p", f"Unexplained {left.says}: {span(left.low, left.high, left.unit)}.", class_="unexplained")
