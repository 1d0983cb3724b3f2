"""A run as a process; its records go to a file, one JSON line each.

python -m tests.runs.started RECORDS [--streams 1,2] [--output FILE] [--fail PART,...] [--stop READER,...]
    [--before SECONDS] [--first-sample SECONDS] [--also AREA,...] [--repeat N] -- CMD

--first-sample: a rack is sampled in a way of its own, and takes so long to begin with.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fingerprint.ids import new_id
from fingerprint.reader import Reader, read_given, take_snapshot, with_given
from fingerprint.runs.plan import Plan
from fingerprint.runs.record import AnyRecord, Opened
from fingerprint.runs.recording import Means
from fingerprint.runs.session import run
from fingerprint.runs.wrap import inherited_environment, leave, working_directory
from fingerprint.snapshot import Job, Snapshot
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Probe, Target, discover
from probes.kit.redact import Redactor
from tests.diff.made_up import Card, Rack, rack


class Lines:
    """A journal of JSON lines; opened for each, so that a test may read what is there at any moment."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open_run(self, name: str, make: Callable[[int], Opened]) -> str:
        self._write(make(1))
        return new_id()

    def append(self, record: AnyRecord) -> None:
        self._write(record)

    def _write(self, record: AnyRecord) -> None:
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")

    def save(self, snapshot: Snapshot) -> None:
        assert snapshot.id


def failing(*_: Any) -> Any:
    raise RuntimeError("staged")


def racks(first: float) -> Probe[Section]:
    seconds = iter([first])

    def what_moves(_host: Host, _target: Target) -> Rack:
        time.sleep(next(seconds, 0))
        return rack(x=Card(busy=1, clock=5))

    return Probe("rack", "host", Rack, failing, 2.0, "border", what_moves)


def means_of(plan: Plan, records: Path, options: Mapping[str, str]) -> Means:
    host = Host(redactor=Redactor(b"k" * 32))
    also = filter(None, options.get("--also", "").split(","))
    probes = dict(discover(["pressure", "usage", "process", *also]))
    if "--first-sample" in options:
        probes = {"rack": racks(float(options["--first-sample"])), **probes}
    before = float(options.get("--before", "0"))
    reader = Reader(host, with_given(probes, plan.argv, plan.env, plan.cwd))
    sampler = Reader(host, {area: probe.at_samples for area, probe in probes.items()})
    means = Means(
        probes, reader, sampler, Lines(records), host,
        lambda: (time.sleep(before), take_snapshot(reader, [Job("pressure")], host.redactor.key_id, 5.0))[1],
        lambda: read_given(reader),
    )  # fmt: skip
    for part in filter(None, options.get("--fail", "").split(",")):
        if part in ("snapshot", "given"):
            failures: dict[str, Any] = {part: failing}
            means = means._replace(**failures)
        else:
            setattr(getattr(means, part), "append" if part == "journal" else "begin", failing)
    return means


def held() -> tuple[list[str], str]:
    """Our open descriptors and children."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return os.listdir("/proc/self/fd"), children.read_text() if children.exists() else ""


def main(argv: list[str]) -> None:
    cut = argv.index("--")
    options = dict(zip(argv[1:cut:2], argv[2:cut:2], strict=True))
    streams = tuple(int(stream) for stream in options.get("--streams", "").split(",") if stream)
    plan = Plan(
        name="run-A", argv=tuple(argv[cut + 1 :]), env=inherited_environment(), cwd=working_directory(), host="here",
        streams=streams,
    )  # fmt: skip
    means = means_of(plan, Path(argv[0]), options)
    for part in filter(None, options.get("--stop", "").split(",")):
        os.kill(getattr(means, part)._worker.pid, signal.SIGSTOP)
    before = held()
    for _ in range(int(options.get("--repeat", "1"))):
        finished = run(plan, means)
        assert held() == before or "--repeat" not in options, "a run leaves nothing behind"
    if kept := options.get("--output"):
        Path(kept).write_bytes(finished.output)
    if finished.unwritten:
        print(finished.unwritten, file=sys.stderr)
    leave(finished.ended)


if __name__ == "__main__":
    main(sys.argv[1:])
