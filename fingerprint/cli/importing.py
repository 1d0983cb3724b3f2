"""What other tools, engines and clients wrote, as a run: dumps tell of its host's state, logs and results what it
measured."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from fingerprint.imports.dumps import from_paths, from_standard_input, imported
from fingerprint.imports.files import walked
from fingerprint.metrics.alone import Alone, of_content, of_files
from fingerprint.metrics.found import NothingRead, private
from fingerprint.metrics.source import LARGEST, load
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.imports.dumps import Dumps
    from fingerprint.runs.record import AnyRecord, Said
    from fingerprint.store import Store

_STANDARD_INPUT = "standard input"
_MOST_NAMED = 12


class Others:
    """Files of one host. Raises Trouble for one that was named and tells nothing, or where nothing at all does.

    notes: where each is from, when it was, what disagreed, what was left out.
    """

    def __init__(self, invocation: "Invocation", files: Sequence[Path], host: str, at: int) -> None:
        """host: where no dump names one. at: ns since 1970, 0 for when they say that it was."""
        self._invocation = invocation
        redactor = invocation.redactor
        measured, dumps = self._read(files)
        self._found = private(measured.found, redactor)
        self._said = [record for file in measured.formats if file != _STANDARD_INPUT for record in _said(file)]
        told = imported(dumps, at=at, host=host, redactor=redactor) if dumps.files else None
        self._snapshot = told.snapshot if told else None
        self._logged = told.logged if told else None
        self._at, when = (told.snapshot.taken_at, "") if told else _moment(measured, at)
        self._host = told.snapshot.host if told else host
        self.notes = (*(told.notes if told else ()), *_notes(measured, when))

    def _read(self, files: Sequence[Path]) -> "tuple[Alone, Dumps]":
        redactor = self._invocation.redactor
        if str(files[0]) == "-":
            content = sys.stdin.buffer.read(LARGEST + 1)
            measured = of_content(content, _STANDARD_INPUT)
            return measured, from_standard_input(BytesIO(content), redactor, known=bool(measured.formats))
        measured = _with_messages(of_files(map(str, _each(files))))
        try:
            return measured, from_paths(files, redactor, measured.formats)
        except Trouble:
            if why := next((measured.refused[str(file)] for file in files if str(file) in measured.refused), ""):
                raise Trouble(why) from None
            raise

    @property
    def what(self) -> str:
        """The areas of its state, how much was measured, and how many known messages its logs hold."""
        areas = [str(key) for key in self._snapshot.readings] if self._snapshot else []
        said = {message for record in self._said for message in record.messages}
        counts = ((len(self._found.metrics), "metric"), (len(said), "known message"))
        return ", ".join([*areas, *(f"{count} {of}{'s' * (count > 1)}" for count, of in counts if count)])

    def record(self, store: "Store", name: str) -> str:
        """The id of a run that began and ended when they were written."""
        from msgspec.structs import replace

        from fingerprint.runs.opener import opener
        from fingerprint.runs.record import Closed, Opened, Snapped
        from fingerprint.version import __version__

        at = self._at
        holder = replace(opener(self._invocation.host), boot_id="")  # it was not measured in this host's boot
        run = store.open_run(
            name, lambda attempt: Opened(at, name, attempt, "imported", self._host, holder, fingerprint=__version__)
        )
        if self._snapshot:
            store.append(run, Snapped(at, "before", store.save(self._snapshot)))
        if self._logged:
            store.append(run, Snapped(at, "before", store.save(self._logged.before)))
            store.append(run, Snapped(at, "after", store.save(self._logged.after)))
        for record in self._records():
            store.append(run, record)
        store.append(run, Closed(at, "imported"))
        return run

    def _records(self) -> "Iterator[AnyRecord]":
        from msgspec.structs import replace

        from fingerprint.runs.record import Asked, Measured, Noted

        found = self._found
        yield from (Measured(self._at, metric) for metric in found.metrics)
        yield from (Asked(self._at, key, value) for key, value in found.workload.items())
        yield from (Noted(self._at, note) for note in (*self.notes, *found.remarks, *found.troubles))
        yield from (replace(said, at=self._at) for said in self._said)


def _with_messages(measured: Alone) -> Alone:
    """The log of a server that failed tells of no request: what is known of it is what it said."""
    saying = [file for file in measured.refused if any(record.messages for record in _said(file))]
    return measured._replace(formats={**measured.formats, **dict.fromkeys(saying, "known messages")})


def _said(file: str) -> "Iterator[Said]":
    from fingerprint.cli.listening import said_in

    with suppress(NothingRead, OSError):
        yield from said_in(file, load(file).chunks())


def _each(files: Sequence[Path]) -> Iterator[Path]:
    """What is wrong with a folder the dumps say."""
    for file in files:
        if file.is_dir():
            with suppress(OSError):
                yield from walked(file).paths
        else:
            yield file


def _moment(measured: Alone, at: int) -> tuple[int, str]:
    """When it was, and who says so."""
    if at:
        return at, "time: as --at says"
    if _STANDARD_INPUT in measured.formats:
        return time.time_ns(), "time: now, for nothing tells one (--at sets it)"
    at, newest = max((Path(file).stat().st_mtime_ns, file) for file in measured.formats)
    return at, f"time: when {newest} was written last (--at sets it)"


def _notes(measured: Alone, when: str) -> Iterator[str]:
    if measured.formats:
        yield f"imported: {_listed([f'{file}: {form}' for file, form in measured.formats.items()])}"
    if when:
        yield when
    if measured.refused:
        yield f"no metric was read: {_listed(list(measured.refused.values()))}"


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _MOST_NAMED
    return "; ".join(words[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
