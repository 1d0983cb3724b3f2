"""A year of minutely snapshots of this host while nothing happens to it: how large the store grows, and whether it
answers as on its first day. Prints both as JSON.

    python -m benchmarks.year [--days N]

Of each hour three minutes are saved: the others would only lengthen rows that are there. All that is volatile
moves in every one of them.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from fingerprint.diff.compare import compare
from fingerprint.ids import new_id
from fingerprint.reader import Reader, take_snapshot
from fingerprint.runs.effective import effective_of_snapshot
from fingerprint.snapshot import Job, Reading, Snapshot
from fingerprint.store import Store
from probes.kit.host import Host
from probes.kit.probe import discover

MINUTE_NS = 60_000_000_000
DAY = 24 * 60
STEP = 20
TURNS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    days = parser.parse_args().days
    first = this_host()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fill(path, first, range(STEP, DAY, STEP))
        young = seconds_to_answer(path)
        fill(path, first, range(DAY, days * DAY, STEP))
        old = seconds_to_answer(path)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    print(json.dumps({"days": days, "megabytes": size / 1e6, "young": young, "old": old}))


def this_host() -> Snapshot:
    probes = {area: probe for area, probe in discover().items() if probe.of == "host"}
    reader = Reader(Host(), probes)
    try:
        return take_snapshot(reader, [Job(area) for area in probes], "key", 5)
    finally:
        reader.close()


def fill(path: Path, first: Snapshot, minutes: range) -> None:
    chance = random.Random(minutes.start)
    with Store.open(path) as store:
        for minute in minutes:
            store.save(at(first, minute, chance), keep_volatile=False)


def at(first: Snapshot, minute: int, chance: random.Random) -> Snapshot:
    readings = {key: moved(reading, chance) for key, reading in first.readings.items()}
    return msgspec.structs.replace(first, id=new_id(), taken_at=first.taken_at + minute * MINUTE_NS, readings=readings)


def moved(reading: Reading, chance: random.Random) -> Reading:
    values = _moved(msgspec.json.decode(reading.volatile), chance)
    return msgspec.structs.replace(reading, volatile=msgspec.Raw(msgspec.json.encode(values)))


def _moved(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {name: _moved(item, chance) for name, item in value.items()}
    return value + chance.randrange(1 + abs(value)) if type(value) is int else value


def seconds_to_answer(path: Path) -> float:
    """The newest twenty listed, and the first and last of them compared."""

    def answer() -> None:
        with Store.open(path, readonly=True) as store:
            oldest, *_, newest = store.snapshots(limit=20)
            compare(*(effective_of_snapshot(store.snapshot(row.id)) for row in (oldest, newest)))

    return min(_timed(answer) for _ in range(TURNS))


def _timed(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
