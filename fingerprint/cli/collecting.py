"""What a run reads of results and logs: noted before each start, read after it."""

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fingerprint.metrics.collect import Expected
    from fingerprint.metrics.found import Found
    from fingerprint.metrics.wanted import Wanted
    from fingerprint.runs.record import AnyRecord
    from fingerprint.runs.run import Run
    from fingerprint.store import Journal
    from probes.kit.redact import Redactor

STANDARD_OUTPUT, STANDARD_ERROR = 1, 2


class Collecting:
    """Imports the readers only where something is to be read."""

    def __init__(self, texts: Sequence[str], argv: Sequence[str] | None) -> None:
        """texts: each `--metrics`. argv: None where the run starts nothing. Raises Trouble for what cannot be read."""
        from fingerprint.metrics.results import result_files

        self._texts = texts
        self._argv = argv
        self._anything = bool(texts or (argv and result_files(argv)))
        self._expected: tuple[Expected, ...] = ()
        self.expect()

    @cached_property
    def _wanted(self) -> "tuple[Wanted, ...]":
        from fingerprint.metrics.wanted import wanted

        return wanted(self._texts)

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams whose end has to be kept."""
        printed = [one.wanted.reader for one in self._expected if one.file is None]
        return (STANDARD_OUTPUT, STANDARD_ERROR)[: 1 + ("said" in printed)] if printed else ()

    def expect(self) -> None:
        """Notes what the files are before the command starts: only what is written from then on counts."""
        if not self._anything:
            return
        from fingerprint.metrics.collect import expect, expect_of_others

        of_others = self._argv is None
        self._expected = expect_of_others(self._wanted) if of_others else expect(self._wanted, self._argv or ())

    def into(self, journal: "Journal", output: bytes, redactor: "Redactor") -> list[str]:
        """Records what was measured; what could not be read of it, in sentences."""
        from fingerprint.runs.record import Trouble

        records = self.records(output, redactor)
        for record in records:
            journal.append(record)
        return [record.what for record in records if isinstance(record, Trouble)]

    def records(self, output: bytes, redactor: "Redactor") -> "list[AnyRecord]":
        """What was found, private values redacted; what could not be read is among them as trouble."""
        if not self._anything:
            return []
        from fingerprint.cli.listening import said
        from fingerprint.metrics.collect import Output, collect
        from fingerprint.runs.pump import TAIL

        kept = Output(output, cut=len(output) >= TAIL)
        return [*_records(collect(self._expected, kept), redactor), *said(self._expected, kept)]


def results_of(texts: Sequence[str], run: "Run", redactor: "Redactor") -> "list[AnyRecord]":
    """What results tell that were written since the run began, as of `Collecting.records`. Raises Trouble for a log: of
    which part the run is nobody knows afterwards."""
    from fingerprint.cli.listening import said
    from fingerprint.metrics.alone import log_of
    from fingerprint.metrics.collect import Output, collect, expect_of_others
    from fingerprint.metrics.wanted import wanted
    from fingerprint.trouble import Trouble

    asked = wanted(texts)
    if log := next((one.file for one in asked if log_of(one.file)), ""):
        raise Trouble(
            f"{log} is a log, and how far it was when {run.label} began is not known: name it by --metrics where a run "
            "begins, or import it alone"
        )
    others = {name: metric.source for name, metric in run.metrics.items()}
    expected = expect_of_others(asked, run.opened.at)
    return [*_records(collect(expected, Output(), others), redactor), *said(expected, Output())]


def _records(found: "Found", redactor: "Redactor") -> "list[AnyRecord]":
    from fingerprint.metrics.found import private
    from fingerprint.runs.record import Asked, Measured, Noted, Trouble

    told = private(found, redactor)
    now = time.time_ns()
    return [
        *(Measured(now, metric) for metric in told.metrics),
        *(Asked(now, key, value) for key, value in told.workload.items()),
        *(Noted(now, remark) for remark in told.remarks),
        *(Trouble(now, trouble) for trouble in told.troubles),
    ]


def workload(facts: Sequence[str]) -> Mapping[str, Any]:
    """Of each `--workload KEY=VALUE`. Raises Trouble."""
    if not facts:
        return {}
    from fingerprint.metrics.given import workload_facts

    return workload_facts(facts)
