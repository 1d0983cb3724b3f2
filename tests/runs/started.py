"""`python -m tests.runs.started RECORDS [--streams 1,2] [--fail WHAT] -- CMD`: a run whose records go to a file, one JSON line each."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any, Callable, Sequence

import msgspec

from fingerprint.ids import new_id
from fingerprint.reader import Job, Reader, take_snapshot
from fingerprint.runs.record import AnyRecord, Opened
from fingerprint.runs.session import Means, Plan, run
from fingerprint.runs.wrap import leave
from fingerprint.snapshot import Snapshot
from probes.kit.host import Host
from probes.kit.probe import discover
from probes.kit.redact import Redactor
from probes.process.given import given


class Lines:
    """A journal of JSON lines; opened for each, so that a test may read what is there at any moment."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open_run(self, name: str, make: Callable[[int], Opened]) -> str:
        self.append(make(1))
        return new_id()

    def append(self, record: AnyRecord) -> None:
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")

    def save(self, snapshot: Snapshot) -> None:
        assert snapshot.id


def failing(*_: Any) -> Any:
    raise RuntimeError("staged")


def means_of(records: Path, fail: Sequence[str] = ()) -> Means:
    host = Host(redactor=Redactor(b"k" * 32))
    probes = discover(["pressure", "usage", "process"])
    reader, sampler = Reader(host, probes), Reader(host, probes)
    means = Means(
        probes, reader, sampler, Lines(records), host,
        lambda: take_snapshot(reader, [Job("pressure")], host.redactor.key_id, 5.0),
        partial(given, host, os.getpid()),
    )  # fmt: skip
    for part in fail:
        if part in ("snapshot", "given"):
            means = means._replace(**{part: failing})
        else:
            getattr(means, part).begin = failing
    return means


def main(argv: list[str]) -> None:
    cut = argv.index("--")
    options = dict(zip(argv[1:cut:2], argv[2:cut:2], strict=True))
    streams = tuple(int(stream) for stream in options.get("--streams", "").split(",") if stream)
    fail = [part for part in options.get("--fail", "").split(",") if part]
    plan = Plan(name="run-A", argv=tuple(argv[cut + 1 :]), host="here", streams=streams)
    finished = run(plan, means_of(Path(argv[0]), fail))
    if kept := options.get("--output"):
        Path(kept).write_bytes(finished.output)
    leave(finished.ended)


if __name__ == "__main__":
    main(sys.argv[1:])
