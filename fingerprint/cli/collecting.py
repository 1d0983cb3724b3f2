"""What `run` reads of a command's results: before each start and after it."""

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fingerprint.metrics.collect import Expected
    from fingerprint.metrics.wanted import Wanted
    from fingerprint.runs.record import AnyRecord
    from probes.kit.redact import Redactor

STANDARD_OUTPUT = 1


class Collecting:
    """Imports the readers only where something is to be read."""

    def __init__(self, texts: Sequence[str], argv: Sequence[str]) -> None:
        """texts: each `--metrics`. Raises Trouble for what no reader could do."""
        from fingerprint.metrics.results import result_files

        self._texts = texts
        self._argv = argv
        self._anything = bool(texts or result_files(argv))
        self._expected: tuple[Expected, ...] = ()
        self.expect()

    @cached_property
    def _wanted(self) -> "tuple[Wanted, ...]":
        from fingerprint.metrics.wanted import wanted

        return wanted(self._texts)

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams whose end has to be kept."""
        return (STANDARD_OUTPUT,) if any(one.file is None for one in self._expected) else ()

    def expect(self) -> None:
        """Notes what the files are before the command starts: only what it writes counts."""
        if not self._anything:
            return
        from fingerprint.metrics.collect import expect

        self._expected = expect(self._wanted, self._argv)

    def records(self, output: bytes, redactor: "Redactor") -> "list[AnyRecord]":
        """What was found, private values redacted; what could not be read is among them as trouble."""
        if not self._anything:
            return []
        from fingerprint.metrics.collect import Output, collect
        from fingerprint.metrics.found import private
        from fingerprint.runs.pump import TAIL
        from fingerprint.runs.record import Asked, Measured, Noted, Trouble

        found = private(collect(self._expected, Output(output, cut=len(output) >= TAIL)), redactor)
        now = time.time_ns()
        return [
            *(Measured(now, metric) for metric in found.metrics),
            *(Asked(now, key, value) for key, value in found.workload.items()),
            *(Noted(now, remark) for remark in found.remarks),
            *(Trouble(now, trouble) for trouble in found.troubles),
        ]


def workload(facts: Sequence[str]) -> Mapping[str, Any]:
    """Of each `--workload KEY=VALUE`. Raises Trouble."""
    if not facts:
        return {}
    from fingerprint.metrics.given import workload_facts

    return workload_facts(facts)
