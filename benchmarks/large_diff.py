"""Two runs of 50,000 facts each in a store, 10 of them changed: to Changes, loading included; and DeepDiff on the
loaded dictionaries. Prints both, in seconds, as JSON. Imports are not counted on either side.

    python -m benchmarks.large_diff
"""

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import deepdiff
import msgspec

from fingerprint.diff.changes import Changes
from fingerprint.diff.compare import compare
from fingerprint.ids import new_id
from fingerprint.runs.effective import Effective, effective
from fingerprint.runs.record import Closed, Opened, Opener, Snapped
from fingerprint.runs.run import fold
from fingerprint.snapshot import Key, Provenance, Snapshot, reading_of
from fingerprint.store import Store
from probes.kit.facts import Map, Section, Seen, config, counter, identity
from probes.kit.host import Host
from probes.kit.probe import Probe, Target

AREAS = 30
DEVICES = 186
CHANGED = 10


class Device(Section):
    serial: Seen[str] = identity("which unit this is", "made up")
    power_limit: Seen[int] = config("caps the clock", "made up", "mW")
    clock_limit: Seen[int] = config("caps the clock too", "made up", "MHz")
    mode: Seen[str] = config("another path is taken", "made up")
    enabled: Seen[bool] = config("off is slower", "made up")
    lanes: Seen[int] = config("half of them carry half", "made up")
    firmware: Seen[str] = config("another one behaves differently", "made up")
    order: Seen[tuple[str, ...]] = config("what comes first wins", "made up")
    errors: Seen[int] = counter("each costs a retry", "made up")


class Rack(Section):
    devices: Seen[Map[Device]] = identity("what is there", "made up")
    release: Seen[str] = config("another one, other code", "made up")


def rack(host: Host, target: Target) -> Rack:
    raise NotImplementedError("made up, never read")


PROBE: Probe[Any] = Probe("rack", "host", Rack, rack, 1.0, "border")


def section(area: int, power_limit: int) -> Rack:
    limits = [power_limit if number == DEVICES // 2 else 600_000 for number in range(DEVICES)]
    devices = {f"0000:{area:02x}:{number:02x}.0": device(number, limit) for number, limit in enumerate(limits)}
    return Rack(devices=Map(devices), release="6.18.1-generic")


def device(number: int, power_limit: int) -> Device:
    return Device(
        serial=f"SN{number:08}", power_limit=power_limit, clock_limit=1980, mode="default", enabled=True, lanes=16,
        firmware="96.00.74.00.01", order=("first", "second"), errors=number,
    )  # fmt: skip


def snapshot(power_limit: int) -> Snapshot:
    """`power_limit` is that of one device in each of ten areas."""
    limits = [power_limit if area < CHANGED else 600_000 for area in range(AREAS)]
    readings = {Key(f"area{area}"): reading_of(section(area, limit)) for area, limit in enumerate(limits)}
    return Snapshot(new_id(), time.time_ns(), 1.0, "host", Provenance("0", "3", 0, "key"), readings)


def store_run(store: Store, name: str, power_limit: int) -> str:
    """A run with its snapshots before and after."""
    opened = Opened(time.time_ns(), name, 1, "b", "host", Opener(1, 1, "boot"))
    run_id = store.open_run(name, lambda attempt: msgspec.structs.replace(opened, attempt=attempt))
    for moment in ("before", "after"):
        taken = snapshot(power_limit)
        store.append(run_id, Snapped(time.time_ns(), moment, store.save(taken)))
    store.append(run_id, Closed(time.time_ns(), "exited", 0))
    return run_id


def loaded(store: Store, run_id: str) -> Effective:
    run = fold(run_id, store.records(run_id))
    return effective(run, {id_: store.snapshot(id_) for ids in run.snapshots.values() for id_ in ids})


def changes(path: Path, a: str, b: str) -> Changes:
    with Store.open(path, readonly=True) as store:
        return compare(loaded(store, a), loaded(store, b), known=lambda _area: PROBE)


def dictionaries(power_limit: int) -> dict[str, Any]:
    readings = snapshot(power_limit).readings
    return {str(key): msgspec.to_builtins(reading.section(Rack)) for key, reading in readings.items()}


def main() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with Store.open(path) as store:
            a, b = store_run(store, "run-A", 600_000), store_run(store, "run-B", 450_000)
        began = time.perf_counter()
        found = changes(path, a, b)
        ours = time.perf_counter() - began
    told = sum(found.ruled_out.values())
    before, after = dictionaries(600_000), dictionaries(450_000)
    began = time.perf_counter()
    theirs = deepdiff.DeepDiff(before, after)
    deep = time.perf_counter() - began
    assert len(theirs["values_changed"]) == CHANGED
    print(json.dumps({"ours": ours, "deepdiff": deep, "changes": len(found.changes), "ruled_out": told}))


if __name__ == "__main__":
    main()
