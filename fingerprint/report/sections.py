"""The sections of a snapshot or a run, as the published documents hold them: counted, and their facts listed."""

from collections.abc import Iterator

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.report.layout import FACT, Command, heading, rows, said
from fingerprint.report.leaves import Section, Sections, is_a, of_section, worded
from fingerprint.words import clean
from probes.kit.paths import parse_glob

_WIDEST = 60  # columns of a path; a longer one moves its value to the right


def overview(sections: Sections) -> Iterator[ConsoleRenderable]:
    """A line each: how many values, and why others are missing."""
    yield heading("Sections")
    yield from rows([_counted(name, section) for name, section in sections.items()], indent=2)


def facts(sections: Sections, pattern: str) -> Iterator[ConsoleRenderable]:
    """The facts that match a glob, with their values, a line each: for grep, and to copy a path from."""
    yield heading("Facts", pattern)
    glob = parse_glob(pattern)
    every = ((path, value) for name, section in sections.items() for path, value in of_section(name, section))
    found = [(str(path), worded(value)) for path, value in every if glob.matches(path)]
    widest = min(max((len(path) for path, _ in found), default=0), _WIDEST)
    for path, value in found:
        line = Command("  ")
        yield line.append(clean(path).ljust(widest), FACT).append(f"  {clean(value)}")


def _counted(name: str, section: Section) -> tuple[Text, str, str]:
    if section["facts"] is None:
        return said(name, FACT), section["outcome"].replace("_", " "), section["detail"]
    values = [value for _, value in of_section(name, section)]
    gaps = [value["code"] for value in values if is_a(value, "gap")]
    counted = ", ".join(f"{gaps.count(code)} {code.replace('_', ' ')}" for code in sorted(set(gaps)))
    return said(name, FACT), f"{len(values) - len(gaps)} values", counted
