"""Prints docs/mechanisms.md, made from rules: `.venv/bin/python scripts/mechanisms_page.py > docs/mechanisms.md`."""

import re
import sys
from collections.abc import Iterable, Iterator

from fingerprint.explain.mechanisms import phases_of, rules, themes
from fingerprint.explain.mechanisms.graph import SERVES, Condition, Rule
from fingerprint.explain.reference import (
    LETTERS,
    NEEDS_RDMA,
    bound,
    condition,
    direction,
    enough,
    has_letters,
    incidents,
    suspected,
)

HEAD = """# Mechanisms

How a changed state can have moved a number: {count} rules, made by `scripts/mechanisms_page.py`.
`fingerprint explain RULE` says of one what stands here, and `fingerprint explain PATH` which rules see a fact.

A rule sees facts ([facts.md](facts.md)), and facts move *resources*; *phases* of work wait for resources
([the table below](#resources-and-phases)). A rule that binds only where something is seen is no cause where it is not
seen. Where the same change helped here and hurt there, the direction is "either".

## Themes
"""
LAST = "Resources and phases"


def page() -> str:
    parts = [HEAD.format(count=len(rules())), *contents(), ""]
    for title, declared in themes().items():
        parts += [f"## {short(title)}\n\n{title}.\n", *("\n".join(about(rule)) for rule in declared)]
    return "\n".join([*parts, f"## {LAST}\n", "Which phases wait for a resource, and why.\n", *table(), ""])


def contents() -> Iterator[str]:
    for title, declared in themes().items():
        links = ", ".join(f"[{rule.name}](#{rule.name})" for rule in declared)
        yield f"- [{short(title)}](#{anchor(short(title))}): {links}"
    yield f"- [{LAST}](#{anchor(LAST)})"


def short(title: str) -> str:
    return re.split("[:,.]", title)[0]


def anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def about(rule: Rule) -> Iterator[str]:
    yield f"### {rule.name}\n\n{prose(rule.why)}\n"
    yield from (f"- {line}" for line in lines(rule))
    yield ""


def lines(rule: Rule) -> Iterator[str]:
    yield f"sees {quoted(rule.sees)}"
    yield f"moves *{', '.join(rule.moves)}*; {direction(rule)}"
    yield f"reaches {', '.join(phases_of(rule))}"
    yield from conditions(rule)
    yield f"suspected {suspected(rule)}"
    if rule.bound:
        yield f"explains {marked(bound(rule.bound), rule.bound.facts)}"
    if rule.beside:
        yield f"beside it: {quoted(rule.beside)}"
    yield f"to confirm: {prose(rule.confirm)}"
    if rule.confirmed:
        yield incidents(rule)
    if rule.sources:
        yield f"sources: {', '.join(f'<{source}>' for source in rule.sources)}"


def conditions(rule: Rule) -> Iterator[str]:
    """On which it moves anything, and what tells that it did."""
    if rule.binds:
        yield f"binds only where one of these is seen:{below(rule.binds)}"
    if rule.shows:
        yield f"shows in:{below(rule.shows)}"
    if rule.told_by:
        yield f"told by messages of programs: {quoted(rule.told_by)}"
    if rule.between:
        yield "is between GPUs, or nodes: of a GPU that is alone it moves nothing"
    if has_letters(rule):
        yield f"is, of flags of one letter, about those of {LETTERS[rule.letters]}"
    if rule.over_rdma:
        yield f"needs {NEEDS_RDMA}"
    if rule.enough is not None:
        yield f"enough: {enough(rule.enough)}"


def below(conditions: Iterable[Condition]) -> str:
    return "".join(f"\n  - {marked(condition(one), one.facts)}" for one in conditions)


def marked(text: str, glob: str) -> str:
    before, _, after = text.partition(glob)
    return f"{prose(before)}`{glob}`{prose(after)}"


def prose(text: str) -> str:
    """With what Markdown would take for markup escaped, outside of code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"[*_<]", r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)


def quoted(globs: Iterable[str]) -> str:
    return ", ".join(f"`{glob}`" for glob in globs)


def table() -> Iterator[str]:
    yield from ("| resource | phase | why |", "|---|---|---|")
    for resource, phases in SERVES.items():
        yield from (f"| {resource} | {phase} | {why} |" for phase, why in phases.items())


if __name__ == "__main__":
    sys.stdout.write(page())
