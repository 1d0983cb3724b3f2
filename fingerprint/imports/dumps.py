"""Files and folders of other tools' dumps as one snapshot of the host that they tell of."""

import os
import platform
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from fingerprint.ids import new_id
from fingerprint.imports.counted import uncounted
from fingerprint.imports.files import Content, Walk, content, from_stream, walked
from fingerprint.imports.formats import FORMATS, KERNEL_LOG
from fingerprint.imports.joined import Disagreement, Piece, joined
from fingerprint.imports.recognised import NOTHING, Read, read
from fingerprint.snapshot import Key, Provenance, Snapshot, reading_of
from fingerprint.trouble import Trouble
from fingerprint.version import __version__
from probes.kit.facts import Section
from probes.kit.redact import Redactor

MOST_NAMED = 12
FAR_APART = 600 * 1_000_000_000
"""ns between two dumps of one run, from which on it is said."""
_RANK: Mapping[str, int] = {known.name: rank for rank, known in enumerate(FORMATS)}


class File(NamedTuple):
    """name: for people, below the folder that was named. reads: of each dump in it. says: why none could be looked
    for, or not everywhere."""

    name: str
    modified: int
    reads: tuple[Read, ...] = ()
    says: str = ""

    @property
    def told(self) -> tuple[Read, ...]:
        """None, where nothing but a time is told."""
        told = tuple(one for one in self.reads if one.told)
        return told if any(one.told.sections for one in told if one.told) else ()

    @property
    def formats(self) -> str:
        return ", ".join(dict.fromkeys(one.format for one in self.told))

    @property
    def why_nothing(self) -> str:
        """One sentence's end, of a file that nothing was taken of."""
        refused = dict.fromkeys(f"{one.format}: {one.says or NOTHING}" for one in self.reads)
        return "; ".join(refused) or self.says or "nothing in it is recognised"


class Dumps(NamedTuple):
    """files: those of which something was taken. left: the others. says: what people should know of the whole."""

    files: tuple[File, ...]
    left: tuple[File, ...]
    says: tuple[str, ...] = ()


def from_paths(paths: Sequence[Path], redactor: Redactor, known: Collection[str] = ()) -> Dumps:
    """Raises Trouble for a file that was named and tells nothing, or where nothing at all does; of a folder what is not
    recognised is left. known: files of which something else is taken, which need hold no dump."""
    files: list[File] = []
    says: list[str] = []
    for path in paths:
        if path.is_dir():
            walk = _walked(path)
            found = ((below, _file(below, str(below.relative_to(path)), redactor)) for below in walk.paths)
            files += [file for below, file in found if file.told or str(below) not in known]
            says += filter(None, [walk.says])
        elif str(path) in known:
            files += filter(lambda file: file.told, [_file(path, str(path), redactor)])
        else:
            files.append(_named(path, redactor))
    if not files and known:
        return Dumps((), ())
    return _dumps(files, says, ", ".join(map(str, paths)), known)


def from_standard_input(stream: BinaryIO, redactor: Redactor, *, known: bool = False) -> Dumps:
    """known: as of paths."""
    try:
        given = from_stream(stream, time.time_ns())
    except ValueError as error:
        raise _nothing("standard input", str(error)) from None
    file = _read(given, "standard input", redactor)
    if known and not file.told:
        return Dumps((), ())
    if not file.told:
        raise _nothing(file.name, file.why_nothing)
    return Dumps((file,), ())


def _walked(path: Path) -> Walk:
    try:
        return walked(path)
    except OSError as error:
        raise Trouble(f"{path} cannot be read ({error.strerror}): check its permissions") from None


def _named(path: Path, redactor: Redactor) -> File:
    try:
        given = content(path)
    except OSError as error:
        raise Trouble(f"{path} cannot be read ({error.strerror}): check its name and permissions") from None
    except ValueError as error:
        raise _nothing(str(path), str(error)) from None
    file = _read(given, str(path), redactor)
    if not file.told:
        raise _nothing(str(path), file.why_nothing)
    return file


def _file(path: Path, name: str, redactor: Redactor) -> File:
    """One of many: what is wrong with it is said of it."""
    try:
        given = content(path)
    except OSError as error:
        return File(name, 0, says=f"cannot be read ({error.strerror})")
    except ValueError as error:
        return File(name, 0, says=str(error))
    return _read(given, name, redactor)


def _read(given: Content, name: str, redactor: Redactor) -> File:
    return File(name, given.modified, read(given.text, redactor), given.says)


def _nothing(name: str, why: str) -> Trouble:
    formats = ", ".join(known.name for known in FORMATS if not isinstance(known.read, str))
    return Trouble(
        f"{name} holds no dump that can be taken in ({why}): `fingerprint import` takes what `fingerprint export` "
        f"wrote, logs of engines and results of clients (docs/metrics.md), and what these print: {formats}"
    )


def _dumps(files: Sequence[File], says: Sequence[str], named: str, known: Collection[str]) -> Dumps:
    taken = tuple(file for file in files if file.told)
    if not taken and not known:
        raise _nothing(named, f"none of its {len(files)} files is recognised")
    return Dumps(taken, tuple(file for file in files if not file.told), tuple(says))


class Logged(NamedTuple):
    """What a kernel's log tells, before it had counted anything and at its end."""

    before: Snapshot
    after: Snapshot


class Imported(NamedTuple):
    """notes: where it is from and when it was, what disagreed, what was left out. logged: None where no kernel's log
    is among the dumps."""

    snapshot: Snapshot
    notes: tuple[str, ...]
    logged: Logged | None = None


def imported(dumps: Dumps, *, at: int, host: str, redactor: Redactor) -> Imported:
    """at: ns since 1970, 0 for when the dumps say that it was. host: where no dump names one."""
    pieces = [
        (_RANK[one.format], Piece(f"{file.name} ({one.format})", one.told))
        for file in dumps.files
        for one in file.told
        if one.told
    ]
    pieces.sort(key=lambda ranked: ranked[0])
    ordered = [piece for _, piece in pieces]
    whole = joined(ordered)
    when, by = _moment(dumps, ordered, at)
    name = next((piece.told.host for piece in ordered if piece.told.host), host)
    snapshot = _snapshot(whole.sections, when, name, redactor)
    notes = (
        f"imported: {_listed([f'{file.name}: {file.formats}' for file in dumps.files])}",
        f"time: {by}",
        *_far_apart(ordered),
        *(f"two dumps disagree: {one}" for one in whole.disagreements[:MOST_NAMED]),
        *_more_unlike(whole.disagreements[MOST_NAMED:]),
        *_left_out(dumps),
    )
    return Imported(snapshot, notes, _logged(dumps, whole.sections, snapshot, redactor))


def _logged(dumps: Dumps, sections: Mapping[Key, Section], of: Snapshot, redactor: Redactor) -> Logged | None:
    told = [one.told for file in dumps.files for one in file.told if one.told and one.format == KERNEL_LOG]
    after = {key: sections[key] for one in told for key in one.sections}
    if not after:
        return None
    before = {key: uncounted(section) for key, section in after.items()}
    first, last = (_snapshot(each, of.taken_at, of.host, redactor) for each in (before, after))
    return Logged(first, last)


def _moment(dumps: Dumps, pieces: Iterable[Piece], at: int) -> tuple[int, str]:
    """When it was, and who says so."""
    if at:
        return at, "as --at says"
    told = next((piece for piece in pieces if piece.told.at), None)
    if told:
        return told.told.at, f"as {told.source} says, in UTC where it names no zone"
    newest = max(dumps.files, key=lambda file: file.modified)
    return newest.modified, f"when {newest.name} was written last, for no dump tells one (--at sets it)"


def _far_apart(pieces: Iterable[Piece]) -> Iterator[str]:
    timed = sorted((piece for piece in pieces if piece.told.at), key=lambda piece: piece.told.at)
    if timed and timed[-1].told.at - timed[0].told.at > FAR_APART:
        hours = (timed[-1].told.at - timed[0].told.at) / 3.6e12
        named = f"{timed[0].source} and {timed[-1].source}"
        yield f"{named} are {hours:.1f} h apart: the run holds the state of neither alone"


def _snapshot(sections: Mapping[Key, Section], at: int, host: str, redactor: Redactor) -> Snapshot:
    provenance = Provenance(__version__, platform.python_version(), os.geteuid(), redactor.key_id)
    readings = {key: reading_of(section) for key, section in sorted(sections.items())}
    return Snapshot(new_id(), at, 0, host, provenance, readings)


def _left_out(dumps: Dumps) -> Iterator[str]:
    yield from dumps.says
    for file in dumps.files:
        yield from (f"{file.name}: {one.format}: {one.says}" for one in file.reads if one.says)
        if file.says:
            yield f"{file.name}: {file.says}"
    if dumps.left:
        yield f"left out: {_listed([f'{file.name}: {file.why_nothing}' for file in dumps.left])}"


def _more_unlike(rest: Sequence[Disagreement]) -> Iterator[str]:
    if rest:
        yield f"two dumps disagree in {len(rest)} more facts: are they of one host?"


def _listed(words: Sequence[str]) -> str:
    more = len(words) - MOST_NAMED
    return "; ".join(words[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
