"""A live process as a recording: what its probes asked and were answered, and what they make of it.

`python -m tests.real.recorded FOLDER [OLD=NEW]... -- COMMAND...` starts a server and records it once it is quiet, with
NEW for each word OLD. With FOLDER alone it writes what the probes make of the recording anew: after one has changed,
when the difference is meant.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fingerprint.testing import RECORDING, SNAPSHOT, Recorder, Replay, anonymised, load, save
from probes.kit.host import Host
from probes.kit.probe import MAIN, Target, discover
from probes.kit.redact import Redactor
from tests.probes.children import running

AREAS = ("model", "process")  # others search with expressions, of which a recording holds no answer once they change
QUIET = 2.0  # seconds


def sections_of(host: Host, pid: int) -> dict[str, Any]:
    """Area -> section, as JSON."""
    target = Target(MAIN, pid)
    sections = {area: probe.read(host, target) for area, probe in discover(AREAS).items()}
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(sections))
    return told


def record(pid: int, folder: Path, stand_ins: Mapping[str, str]) -> None:
    recorder = Recorder(Host(redactor=Redactor(b"replay")))
    sections_of(recorder, pid)
    save(anonymised(recorder.answers, stand_ins), folder)


def replayed(folder: Path) -> dict[str, Any]:
    answers = load(folder)
    (pid,) = {int(key.split("/")[2]) for call, key in answers if call == "arguments"}
    return sections_of(Replay(answers), pid)


def expect(folder: Path) -> None:
    (folder / SNAPSHOT).write_bytes(msgspec.json.format(msgspec.json.encode(replayed(folder)), indent=1) + b"\n")


def main(folder: Path, words: Sequence[str]) -> None:
    if "--" in words:
        at = words.index("--")
        with running(words[at + 1 :], env={"PATH": "/usr/bin:/bin"}) as pid:
            time.sleep(QUIET)
            record(pid, folder, dict(word.split("=", 1) for word in words[:at]))
    expect(folder)
    print(f"{folder / RECORDING}: read it before you hand it on")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
