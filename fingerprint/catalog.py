"""Facts are declared once, on their sections; this is everything that is told about them.

The list of all facts, docs/facts.md, the JSON Schema of a snapshot and `fingerprint explain PATH`.
"""

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from fingerprint.sections import declared, is_one_collection, section_types
from fingerprint.snapshot import Outcome, Provenance
from fingerprint.sources import LOOKED_AT
from probes.kit.facts import Fact, Kind, Section, Settled
from probes.kit.paths import FactPath, parse_glob
from probes.kit.probe import Of, Probe, discover

_KINDS: Mapping[Kind, str] = {
    "identity": "identity: which part, machine or program this is",
    "config": "config: what somebody set",
    "state": "state: what the machine settled on",
    "counter": "counter: what only grows",
    "telemetry": "telemetry: what moves all the time",
}
_COMPARED: Mapping[Kind, str] = {
    "identity": "always: another value is another part",
    "config": "always: a change is always reported",
    "state": "",
    "counter": "by its growth during a run, never by its level",
    "telemetry": "as a distribution during a run: evidence, never a suspect alone",
}
_BELOW = "\n" + " " * 14
_INTRODUCTION = """\
All {count} facts that are read, made by `fingerprint facts --format markdown`. `*` in a path stands for a key or a
target. A *lasting* fact stands until somebody changes it; a change of one is reported. *Context* is never a suspect by
itself.
"""


class CatalogFact(msgspec.Struct, frozen=True, kw_only=True):
    """A Fact and where it stands. `*` in the path stands for a target or a collection's key.

    type     of the value, gaps left out; `Map[...]` is a collection, its own value the set of its keys
    lasting  part of a section's digest; see Fact for the other words
    """

    path: str
    area: str
    of: Of
    kind: Kind
    type: str
    why: str
    source: str
    unit: str
    context: bool
    settled: Settled
    lasting: bool
    tolerance: int
    private: bool
    follows: tuple[str, ...]
    tells: Settled | None
    trouble: bool
    wraps_at: int
    restore: str
    complete_by: str
    renamed_from: tuple[str, ...]

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))


@lru_cache(maxsize=1)
def facts() -> tuple[CatalogFact, ...]:
    """Every declared fact, by area, in declared order."""
    return tuple(fact for probe in discover().values() for fact in facts_of(probe))


def facts_of(probe: Probe[Any]) -> Iterator[CatalogFact]:
    """The facts of one area."""
    head = (probe.area,) if probe.of == "host" else (probe.area, "*")
    for names, fact, type_text in declared(probe.section):
        yield _catalogued("/".join((*head, *names)), probe, fact, type_text)


def _catalogued(path: str, probe: Probe[Any], fact: Fact, type_text: str) -> CatalogFact:
    told = {field: getattr(fact, field) for field in fact.__struct_fields__}
    return CatalogFact(path=path, area=probe.area, of=probe.of, type=type_text, lasting=fact.lasting, **told)


def find(pattern: str) -> tuple[CatalogFact, ...]:
    """The facts that a path or glob can mean: `kernel/modules/kvm/version`, `process/*/env/NCCL_*`, `cpu/**`.

    Raises ValueError for a malformed pattern.
    """
    parse_glob(pattern)
    segments = pattern.split("/")
    return tuple(fact for fact in facts() if can_mean(segments, fact))


def can_mean(segments: Sequence[str], fact: CatalogFact) -> bool:
    """Whether some path of the fact, or of one key of it, is matched by the pattern's segments."""
    if not _names(segments[0], fact.area):
        return False  # of most facts, at once
    if _meets(segments, fact.segments):
        return True
    return fact.type.startswith("Map[") and _meets(segments, (*fact.segments, "*"))


def _meets(pattern: Sequence[str], declared_segments: Sequence[str]) -> bool:
    """Whether some path is matched by both; the second holds names and single stars only."""
    if not pattern:
        return not declared_segments
    if pattern[0] == "**":
        return _meets(pattern[1:], declared_segments) or (
            bool(declared_segments) and _meets(pattern, declared_segments[1:])
        )
    return (
        bool(declared_segments)
        and _names(pattern[0], declared_segments[0])
        and _meets(pattern[1:], declared_segments[1:])
    )


def _names(segment: str, declared_segment: str) -> bool:
    """Declared names hold nothing that is escaped in a pattern."""
    if declared_segment in ("*", segment):
        return True
    return "*" in segment and parse_glob(segment).matches(FactPath((declared_segment,)))


Row = tuple[str, str]


def explain(path: str, more: Callable[[CatalogFact], Iterable[Row]] | None = None) -> str:
    """What is known of a fact, under fixed headings, and `more` of each.

    Raises LookupError with a sentence that names the nearest.
    """
    try:
        found = find(path)
    except ValueError as error:
        raise LookupError(str(error)) from None
    if not found:
        near = nearest(path)
        told = f"; nearest: {', '.join(near)}" if near else "; `fingerprint facts` lists all"
        raise LookupError(f"No fact is called '{path}'{told}.")
    return "\n\n".join(in_rows(fact.path, (*_explained(fact), *(more(fact) if more else ()))) for fact in found)


def nearest(path: str) -> list[str]:
    """Up to three paths that may have been meant by one that is not declared."""
    paths = [fact.path for fact in facts()]
    below = [known for known in paths if known.startswith(path.rstrip("/") + "/")]
    last = path.rpartition("/")[2]
    same_name = [known for known in paths if known.rpartition("/")[2] == last]
    return (below or same_name or difflib.get_close_matches(path, paths, n=3))[:3]


def in_rows(head: str, rows: Iterable[Row]) -> str:
    """Titles and texts below their head; a text's further lines stand below its first."""
    return "\n".join((head, *(f"  {title:<12}{text.replace(chr(10), _BELOW)}" for title, text in rows)))


def _explained(fact: CatalogFact) -> tuple[Row, ...]:
    return (
        ("What", f"{_KINDS[fact.kind]}{_asides(fact)}"),
        ("Why", fact.why),
        ("Where", fact.source),
        ("Type", fact.type),
        ("Unit", fact.unit or "none"),
        ("Compared", _compared(fact)),
        ("Follows", ", ".join(fact.follows) or "nothing that is declared"),
        ("Followed by", ", ".join(_followers(fact)) or "nothing that is declared"),
        ("Check", _check(fact)),
        ("Restore", fact.restore or "no single command sets it back"),
    )


def _asides(fact: CatalogFact) -> str:
    asides = [
        "context for other facts, never a suspect" if fact.context else "",
        "leaves the host only as a keyed digest" if fact.private else "",
        f"tells whether this is: {fact.tells}" if fact.tells else "",
        "told where it grew in one of two runs" if fact.trouble else "",
        f"complete where {fact.complete_by} is told" if fact.complete_by else "",
        f"earlier called {', '.join(fact.renamed_from)}" if fact.renamed_from else "",
    ]
    return "".join(f"; {aside}" for aside in asides if aside)


def _compared(fact: CatalogFact) -> str:
    when = _COMPARED[fact.kind] or ("always" if fact.settled == "always" else f"where settled: {fact.settled}")
    return f"{when}; differences up to {fact.tolerance} {fact.unit} are none" if fact.tolerance else when


def _followers(fact: CatalogFact) -> list[str]:
    return [
        other.path
        for other in facts()
        if other.path != fact.path and any(can_mean(glob.split("/"), fact) for glob in other.follows)
    ]


def _check(fact: CatalogFact) -> str:
    file = re.search(r"(?<!\S)/(?:proc|sys|etc|boot|dev)/[^\s,;:()]+", fact.source)
    if file is None:
        return f"as its source tells: {fact.source}"
    path = file.group()
    if path in LOOKED_AT:
        return LOOKED_AT[path]
    return f"grep -sH -d skip '' {path} {path}/*" if fact.type.startswith("Map[") else f"grep -H '' {path}"


def markdown() -> str:
    """docs/facts.md."""
    listed = facts()
    parts = ["# Facts\n", _INTRODUCTION.format(count=len(listed))]
    for area, probe in discover().items():
        title = (sys.modules[probe.read.__module__].__doc__ or "").strip().partition("\n")[0]
        parts += [f"## {area}\n", f"{title}\n", _table(fact for fact in listed if fact.area == area)]
    return "\n".join(parts)


def _table(listed: Iterable[CatalogFact]) -> str:
    rows = ["| fact | kind | type | why | where |", "|---|---|---|---|---|"]
    for fact in listed:
        cells = (f"`{fact.path}`", _kind_cell(fact), _type_cell(fact), _why_cell(fact), fact.source)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def _kind_cell(fact: CatalogFact) -> str:
    words = (fact.kind, "lasting" if fact.lasting else "", "context" if fact.context else "", _condition(fact))
    return ", ".join(word for word in words if word)


def _condition(fact: CatalogFact) -> str:
    return "" if fact.settled == "always" else f"while {fact.settled}"


def _type_cell(fact: CatalogFact) -> str:
    return f"{fact.type}, {fact.unit}" if fact.unit else fact.type


def _why_cell(fact: CatalogFact) -> str:
    follows = f" Follows {', '.join(f'`{glob}`' for glob in fact.follows)}." if fact.follows else ""
    restore = f" Restore: `{fact.restore}`." if fact.restore else ""
    return f"{fact.why}{'.' if (follows or restore) and not fact.why.endswith('.') else ''}{follows}{restore}"


def schema() -> dict[str, Any]:
    """JSON Schema of a snapshot as `fingerprint snapshot --format json` gives it.

    A section stands under its area, or under AREA/TARGET. Each property that is a fact carries kind,
    unit, why and source beside msgspec's own words.
    """
    probes = discover()
    types = [kind for probe in probes.values() for kind in section_types(probe.section)]
    refs, components = msgspec.json.schema_components([*types, Provenance, Outcome], ref_template="#/$defs/{name}")
    names = {kind: ref["$ref"].rpartition("/")[2] for kind, ref in zip(types, refs, strict=False)}
    for kind, name in names.items():
        _annotate(components[name], kind)
    sections = {
        f"^{area}$" if probe.of == "host" else f"^{area}/.+$": _reading(_facts(probe.section, names), refs[-1])
        for area, probe in probes.items()
    }
    return _snapshot_schema(sections, refs[-2], components)


def _annotate(component: dict[str, Any], kind: type[Section]) -> None:
    for field, fact in kind.__facts__.items():
        told = {"kind": fact.kind, "unit": fact.unit, "why": fact.why, "source": fact.source}
        component["properties"][field].update({word: text for word, text in told.items() if text})


def _facts(section: type[Section], names: Mapping[type[Section], str]) -> str:
    """Where the schema of the area's facts stands: one collection and nothing else is that collection."""
    whole = f"#/$defs/{names[section]}"
    return f"{whole}/properties/{section.__struct_fields__[0]}" if is_one_collection(section) else whole


def _reading(facts: str, outcome: Mapping[str, Any]) -> dict[str, Any]:
    properties = {
        "outcome": outcome,
        "detail": {"type": "string", "description": "why there are no facts"},
        "duration_ms": {"type": "number"},
        "facts": {"$ref": facts},
    }
    return {"type": "object", "required": ["outcome"], "properties": properties}


def _snapshot_schema(
    sections: Mapping[str, Any], provenance: Mapping[str, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fingerprint.snapshot/1",
        "type": "object",
        "required": ["schema", "id", "taken_at", "host", "sections"],
        "properties": {
            "schema": {"const": "fingerprint.snapshot/1"},
            "id": {"type": "string", "description": "a ULID"},
            "taken_at": {"type": "integer", "description": "ns since 1970"},
            "duration_ms": {"type": "number"},
            "host": {"type": "string", "description": "the host's stable name"},
            "provenance": provenance,
            "sections": {"type": "object", "patternProperties": sections, "additionalProperties": False},
        },
        "$defs": components,
    }
