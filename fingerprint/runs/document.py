"""The published form of a run, `fingerprint.run/1`: what `show` prints and `--format json` gives."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fingerprint.places import place_of
from fingerprint.runs.borders import grown_between
from fingerprint.runs.effective import Effective, Standing, assumed_of, resolve
from fingerprint.runs.run import Run, State, ended
from fingerprint.said.heard import Heard
from fingerprint.said.message import Message
from fingerprint.sections import decoder_of, leaves, published, units
from fingerprint.snapshot import Key
from fingerprint.walk import explained
from probes.kit.facts import Section
from probes.kit.paths import parse_path

Types = Mapping[str, type[Section]]


def document(
    run: Run, state: State, standing: Effective, types: Types, findings: Iterable[msgspec.Struct] = ()
) -> dict[str, Any]:
    """types: area -> section type; of an area that is not in it only the outcome is told. findings: what the run shows
    by itself. Times: ns since 1970."""
    opened = run.opened
    plain: dict[str, Any] = msgspec.to_builtins(
        {
            "schema": "fingerprint.run/1",
            "id": run.id,
            "name": opened.name,
            "attempt": opened.attempt,
            "benchmark": opened.benchmark,
            "host": opened.host,
            "argv": opened.argv,
            "cwd": opened.cwd,
            "vary": opened.vary,
            "attached": [whole(server) for server in opened.attached],
            "detached": opened.detached,
            "opened_at": opened.at,
            "state": state,
            "ended": ended(run.closed, state),
            "closed": whole(run.closed) if run.closed else None,
            "good": run.good,
            "metrics": {name: whole(metric) for name, metric in run.metrics.items()},
            "workload": run.workload,
            "samples": _samples(standing, types),
            "snapshots": run.snapshots,
            "said": _said(run),
            "troubles": run.troubles,
            "notes": run.notes,
            "findings": tuple(findings),
        }
    )
    sections = {str(key): _section(key, it, types) for key, it in standing.sections.items()}
    return {**plain, "sections": sections}


def _said(run: Run) -> dict[str, Any]:
    """By the text that was searched, what each message means included."""
    if not run.said:
        return {}
    from fingerprint.said.catalogue import CATALOGUE

    texts = {f"{source}, the end of it" if text.cut else source: text for source, text in run.said.items()}
    return {source: [_line(CATALOGUE, *it) for it in text.messages.items()] for source, text in texts.items()}


def _line(known: Mapping[str, Message], message: str, heard: Heard) -> dict[str, Any]:
    """A message of another release means nothing here."""
    says, source = (known[message].says, known[message].source) if message in known else ("", "")
    return {"message": message, "lines": heard.lines, "first": heard.first, "says": says, "source": source}


def _samples(standing: Effective, types: Types) -> dict[str, Any]:
    """By fact path, with the fact's unit and condition; counters that were read at the borders alone included."""
    found = {**grown_between(standing, types.get), **standing.samples}
    return {path: {**msgspec.to_builtins(sample), **_about(path, types)} for path, sample in sorted(found.items())}


def _about(path: str, types: Types) -> dict[str, str]:
    """Empty where this release declares no such fact."""
    area, *names = parse_path(path)
    cls = types.get(area)
    below = (tuple(names), tuple(names[1:])) if cls else ()  # of the host, or of a target
    place = next((place for each in below if cls and (place := place_of(cls, each))), None)
    return {"unit": place.fact.unit, "condition": place.fact.settled} if place else {"unit": "", "condition": "always"}


def whole(struct: msgspec.Struct) -> dict[str, Any]:
    """Every field, those with their default value included."""
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _section(key: Key, standing: Standing, types: Types) -> dict[str, Any]:
    """The effective state of one section. units: by names below area and target, `*` for a key. given: facts that only
    stand because exec was given them."""
    said: dict[str, Any] = {"outcome": standing.outcome, "detail": standing.detail, "under_load": standing.under_load}
    nothing = {**said, "facts": None, "units": {}, "changed_during": {}, "given": []}
    if standing.blob is None or key.area not in types:
        return nothing
    try:
        resolved = resolve(standing, types[key.area])
        told = explained(resolved.section, decoder_of(types[key.area])(standing.volatile))
    except msgspec.ValidationError as error:
        return {**nothing, "detail": f"stored by another release: {error}"}
    changed = {str(key.path(names)): [_plain(d.before), _plain(d.after)] for names, d in resolved.unsteady.items()}
    given = [str(key.path(leaf.names)) for leaf in leaves(resolved.section) if assumed_of(resolved, leaf.names)]
    facts = {"facts": published(told), "units": units(types[key.area])}
    return {**said, **facts, "changed_during": changed, "given": given}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else msgspec.to_builtins(value)
