"""All that was read, by section: of one run, or of two side by side."""

from collections.abc import Mapping
from typing import Any

from fingerprint.report.html.page import section
from fingerprint.report.leaves import Section, Sections, Units, of_section, worded_in_full
from fingerprint.report.markup import Html, path, tag
from probes.kit.paths import parse_path

_NOT_THERE = (None, "(not there)")


def states(a: Sections, b: Sections | None = None) -> Html:
    """Folded, each fact in a row, searched by the page's script."""
    names = list(dict.fromkeys([*a, *(b or {})]))
    shown = [_compared(name, a.get(name), b.get(name)) if b is not None else _alone(name, a[name]) for name in names]
    title = "Both states, side by side" if b is not None else "All that was read"
    return section(title, _search(), tag("div", shown, id="states"))


def _search() -> Html:
    """Hidden where no script runs: a browser searches what is folded by itself."""
    field = tag("input", type="search", id="search", autocomplete="off", placeholder="power_limit, NCCL_, 17:00.0 ...")
    label = tag("label", tag("span", "Find a fact or a value"), field)
    return tag("form", label, tag("output", for_="search"), id="find", role="search", hidden=True)


def _alone(name: str, it: Section) -> Html:
    rows = [
        tag("tr", tag("th", path(fact), scope="row"), tag("td", words))
        for fact, (_, words) in _values(name, it).items()
    ]
    head = tag("tr", [tag("th", title, scope="col") for title in ("Fact", "Value")])
    return _folded(name, _counted(it, len(rows)), tag("table", tag("thead", head), tag("tbody", rows), class_="facts"))


def _compared(name: str, a: Section | None, b: Section | None) -> Html:
    """What differs first."""
    one, other = (_values(name, side) if side else {} for side in (a, b))
    both = {fact: (one.get(fact, _NOT_THERE), other.get(fact, _NOT_THERE)) for fact in {**one, **other}}
    apart = {fact: sides for fact, sides in both.items() if sides[0][0] != sides[1][0]}
    rows = [_row(fact, *sides, apart=fact in apart) for fact, sides in {**apart, **both}.items()]
    head = tag("tr", [tag("th", title, scope="col") for title in ("Fact", "A", "B")])
    outcomes = [f"{letter}: {_outcome(side)}" for letter, side in (("A", a), ("B", b)) if _outcome(side)]
    counted = "; ".join([f"{len(both)} facts, {f'{len(apart)} differ' if apart else 'all equal'}", *outcomes])
    return _folded(name, counted, tag("table", tag("thead", head), tag("tbody", rows), class_="facts two"))


def _row(fact: str, a: tuple[Any, str], b: tuple[Any, str], *, apart: bool) -> Html:
    """Of what is equal the value stands once."""
    head = tag("th", path(fact), scope="row")
    if not apart:
        return tag("tr", head, tag("td", a[1], colspan=2))
    return tag("tr", head, tag("td", a[1], data_label="A"), tag("td", b[1], data_label="B"), class_="apart")


def _folded(name: str, counted: str, table: Html) -> Html:
    return tag("details", tag("summary", path(name), tag("small", " ", counted)), table)


def _counted(it: Section, facts: int) -> str:
    return "; ".join(filter(None, [f"{facts} facts", _outcome(it)]))


def _outcome(side: Section | None) -> str:
    if side is None:
        return "not read"
    words = [side["outcome"].replace("_", " "), side["detail"]]
    return "" if side["outcome"] == "ok" and not side["detail"] else ": ".join(filter(None, words))


def _values(name: str, it: Section) -> Mapping[str, tuple[Any, str]]:
    """Fact path -> its value, and that in words."""
    units, depth = Units(it), len(parse_path(name))
    found = ((str(fact), value, units.of(fact[depth:])) for fact, value in of_section(name, it))
    return {fact: (value, worded_in_full(value, unit, fact)) for fact, value, unit in found}
