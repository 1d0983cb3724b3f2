"""Reports as one HTML file each, which loads nothing and needs no script to be read."""

from collections.abc import Mapping
from typing import Any

from fingerprint.explain.contract import Diff
from fingerprint.report.html import comparison, single
from fingerprint.report.html.page import page
from fingerprint.report.html.states import states
from fingerprint.report.html.topology import topology

Document = Mapping[str, Any]


def render_diff(diff: Diff, a: Document, b: Document) -> str:
    """The five answers, the machine, and both states. a, b: the published documents of the two (`fingerprint.run/1` or
    `fingerprint.snapshot/1`)."""
    names = diff.a.name, diff.b.name
    return page(
        f"{names[0]} and {names[1]}: fingerprint diff",
        comparison.header(diff),
        *comparison.parts(diff),
        topology(a["sections"], b["sections"], names),
        states(a["sections"], b["sections"]),
    )


def render(document: Document) -> str:
    """A run or a snapshot by itself, from its published document."""
    return page(
        f"{document.get('name', document['host'])}: fingerprint",
        single.header(document),
        *single.parts(document),
        topology(document["sections"]),
        states(document["sections"]),
    )
