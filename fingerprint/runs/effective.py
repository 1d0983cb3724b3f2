"""The effective state of a run: one answer per fact to "what was it while the command ran?".

A reading under load stands alone. Else `before` stands where it equals `after`; a fact that does not is
*unsteady*, it changed during the run. What `run` gave to exec stands for `main` until a reading replaces it.
States that settle in a condition are what the samples held that were taken while it did.
Bodies stay undecoded until somebody resolves a section: most are pruned by digest.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Union

import msgspec

from fingerprint.lost import told_whole
from fingerprint.runs.record import Held, Moment, Sample, Uncounted
from fingerprint.runs.run import Run
from fingerprint.sections import Blob, blob_of, decoder_of
from fingerprint.snapshot import NOTHING, Key, Outcome, Reading, Snapshot
from fingerprint.walk import MISSING, Difference, Names, differences, overlaid, two_keys, value_at
from probes.kit.facts import NOT_READ, Gap, Section
from probes.kit.paths import parse_path
from probes.kit.probe import MAIN

Samples = Mapping[str, Sample]
Holding = Union[Held, Uncounted]


class Borders(msgspec.Struct, frozen=True):
    """The volatile halves of a section before and after, and the seconds between them."""

    before: msgspec.Raw
    after: msgspec.Raw
    seconds: float


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What stands for one section, undecoded.

    blob        its lasting half; None: no reading is `ok`, and `outcome` with `detail` says why
    later       `after`, where its digest is not that of `blob`
    given       what exec was given; `blob` itself where there is no reading at all
    volatile    the other half, for states that settle only under load
    under_load  read while the command ran
    held        what samples say of states, by names
    borders     for counters that nobody sampled; None unless it was read before and after
    """

    outcome: Outcome = "ok"
    detail: str = ""
    blob: Blob | None = None
    later: Blob | None = None
    given: Blob | None = None
    volatile: msgspec.Raw = NOTHING
    under_load: bool = False
    held: Mapping[Names, Holding] = {}
    borders: Borders | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Equal parts under equal schemas are equal sections."""
        blobs = (self.blob, self.later, self.given)
        return tuple(f"{blob.schema}/{blob.digest}" if blob else "" for blob in blobs)


class Resolved(msgspec.Struct, frozen=True):
    """A decoded section.

    unsteady  what changed during the run, before -> after; `section` holds the value before
    given     what exec was given, whole
    assumed   names of facts that only stand in `section` because exec was given them
    """

    section: Section
    unsteady: Mapping[Names, Difference]
    given: Section | None
    assumed: frozenset[Names]

    @property
    def blob(self) -> Blob:
        return blob_of(self.section)


class Effective(msgspec.Struct, frozen=True, kw_only=True):
    """host: its stable name. first, last: ns since 1970, of the first and the last snapshot. samples: by fact path."""

    host: str
    first: int
    last: int
    sections: Mapping[Key, Standing]
    vary: tuple[str, ...] = ()
    samples: Samples = {}


def effective(run: Run, snapshots: Mapping[str, Snapshot]) -> Effective:
    """The effective state of a run; `snapshots` holds, by id, those that the run names and that could be loaded."""
    samples = run.samples.facts if run.samples else {}
    before, during, after = (_readings(run, snapshots, moment) for moment in ("before", "during", "after"))
    sections = {
        key: _standing(before.get(key), during.get(key), after.get(key)) for key in {**before, **during, **after}
    }
    for key, held in _held(samples, sections).items():
        sections[key] = msgspec.structs.replace(sections[key], held=held)
    for key, reading in run.processes.items():
        sections[key] = _alone(reading, under_load=True)
    for area, reading in run.passed.items():
        key = Key(area, MAIN)
        sections[key] = _with_given(sections.get(key), reading)
    taken = [snapshots[id_].taken_at for ids in run.snapshots.values() for id_ in ids if id_ in snapshots]
    return Effective(
        host=run.opened.host,
        first=min(taken, default=run.opened.at),
        last=max(taken, default=run.opened.at),
        sections=sections,
        vary=run.opened.vary,
        samples=samples,
    )


def effective_of_snapshot(snapshot: Snapshot) -> Effective:
    """A snapshot as it stands: nothing was under load, nothing could be unsteady."""
    sections = {key: _alone(reading, under_load=False) for key, reading in snapshot.readings.items()}
    return Effective(host=snapshot.host, first=snapshot.taken_at, last=snapshot.taken_at, sections=sections)


class _Taken(NamedTuple):
    """A reading, and when its snapshot was taken: ns since 1970."""

    reading: Reading
    at: int


def _readings(run: Run, snapshots: Mapping[str, Snapshot], moment: Moment) -> dict[Key, _Taken]:
    """The last reading of each section at one moment, an `ok` one where there is any."""
    found: dict[Key, _Taken] = {}
    for id_ in run.snapshots.get(moment, ()):
        for key, reading in snapshots[id_].readings.items() if id_ in snapshots else ():
            if reading.lasting is not None or key not in found:
                found[key] = _Taken(reading, snapshots[id_].taken_at)
    return found


def _held(samples: Samples, sections: Iterable[Key]) -> Mapping[Key, Mapping[Names, Holding]]:
    """Of each section that was read, by names."""
    found: dict[Key, dict[Names, Holding]] = {}
    known = set(sections)
    for path, sample in samples.items():
        if isinstance(sample, (Held, Uncounted)):
            area, *names = parse_path(path)
            key = next((key for key in (Key(area), Key(area, "".join(names[:1]))) if key in known), None)
            if key is not None:
                found.setdefault(key, {})[tuple(names[bool(key.target) :])] = sample
    return found


def _standing(before: _Taken | None, during: _Taken | None, after: _Taken | None) -> Standing:
    if during is not None and during.reading.lasting is not None:
        under_load = _alone(during.reading, under_load=True)
        return msgspec.structs.replace(under_load, borders=_borders(before, after))
    seen = [taken.reading for taken in (before, after) if taken is not None and taken.reading.lasting is not None]
    if not seen:
        return _alone(_any(after, before, during), under_load=False)
    first, last = seen[0], seen[-1]
    assert first.lasting is not None
    assert last.lasting is not None
    same = (first.lasting.digest, first.lasting.schema) == (last.lasting.digest, last.lasting.schema)
    later = None if same else last.lasting
    return Standing(blob=first.lasting, later=later, volatile=last.volatile, borders=_borders(before, after))


def _borders(before: _Taken | None, after: _Taken | None) -> Borders | None:
    if before is None or after is None or before.reading.lasting is None or after.reading.lasting is None:
        return None
    return Borders(before.reading.volatile, after.reading.volatile, (after.at - before.at) / 1e9)


def _any(*taken: _Taken | None) -> Reading:
    return next(one.reading for one in taken if one is not None)


def _alone(reading: Reading, *, under_load: bool) -> Standing:
    return Standing(
        outcome=reading.outcome,
        detail=reading.detail,
        blob=reading.lasting,
        volatile=reading.volatile,
        under_load=under_load,
    )


def _with_given(read: Standing | None, passed: Reading) -> Standing:
    if passed.lasting is None:
        return read or _alone(passed, under_load=True)
    if read is None or read.blob is None:
        return Standing(blob=passed.lasting, given=passed.lasting, under_load=True)
    return msgspec.structs.replace(read, given=passed.lasting)


def resolve(standing: Standing, cls: type[Section]) -> Resolved:
    """Decodes what stands. Raises msgspec.ValidationError where a stored section no longer fits its type."""
    assert standing.blob is not None
    decode = decoder_of(cls)
    section = decode(standing.blob.body)
    unsteady: dict[Names, Difference] = {}
    if standing.later is not None:
        after = decode(standing.later.body)
        told, _ = told_whole([*differences(section, after)], section, after)
        unsteady = {d.names: d for d in told if _is_unsteady(d)}
        section = overlaid(section, after)
    given = None if standing.given is None else decode(standing.given.body)
    if given is None or standing.given is standing.blob:
        return Resolved(section, unsteady, given, _seen(differences(type(section)(), given) if given else ()))
    assumed = _seen(d for d in differences(section, given) if isinstance(d.before, Gap) and d.before is not MISSING)
    return Resolved(overlaid(section, given), unsteady, given, assumed)


def _is_unsteady(difference: Difference) -> bool:
    """Where one side is a gap the other stands, unless a key came or went, or the device was lost. Digests under two
    keys, of a service before and of the run itself after, tell nothing."""
    before, after = difference.before, difference.after
    if before is MISSING or after is MISSING:
        return not (isinstance(before, Gap) and isinstance(after, Gap))
    if two_keys(before, after):
        return False
    return not isinstance(before, Gap) and (not isinstance(after, Gap) or after.code == "lost")


def _seen(found: Iterable[Difference]) -> frozenset[Names]:
    return frozenset(d.names for d in found if not isinstance(d.after, Gap))


def assumed_of(resolved: Resolved, names: Names) -> bool:
    """Whether this value, or the collection that it stands in, is only what exec was given."""
    return any(names[:end] in resolved.assumed for end in range(len(names) + 1))


def given_at(resolved: Resolved, names: Names) -> Any:
    """What exec was given there; MISSING for a key that it was not given, another gap where that is not known."""
    return NOT_READ if resolved.given is None else value_at(resolved.given, names)
