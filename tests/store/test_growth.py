"""A store that is always on stays small."""

import random
from pathlib import Path

import msgspec

from fingerprint.snapshot import Key, Snapshot, reading_of
from probes.kit.facts import Map, Section, Seen, config, counter, telemetry
from tests.store.samples import MINUTE, snapshot, store_at


class Card(Section):
    limit: Seen[int] = config("a lower limit lowers clocks", "sample")
    clock: Seen[int] = telemetry("it decides the speed", "sample")
    errors: Seen[int] = counter("replays cost bandwidth", "sample")


class Cards(Section):
    cards: Seen[Map[Card]] = config("which cards there are", "sample")


def minute(number: int, chance: random.Random) -> Snapshot:
    """Eight areas of 40 items whose volatile values all move: 640 such values, 320 lasting ones."""
    readings = {}
    for area in range(8):
        cards = {f"{i:04x}": Card(limit=i, clock=chance.getrandbits(11), errors=number * i) for i in range(40)}
        readings[Key(f"area{area}")] = reading_of(Cards(cards=Map(cards)), chance.random())
    return msgspec.structs.replace(snapshot(number * MINUTE), readings=readings)


def test_a_quiet_month_of_minutes_grows_by_its_hours_only(tmp_path: Path) -> None:
    """A twelfth of the year whose budget is 200 MB, and of a twelfth of its size."""
    chance = random.Random(1)
    store = store_at(tmp_path)
    day = [minute(number, chance) for number in range(1, 1 + 24 * 60, 20)]
    for number in range(30):
        for quiet in day:
            at = quiet.taken_at + number * 24 * 60 * MINUTE
            fresh = msgspec.structs.replace(quiet, id=f"{number:02}{quiet.id[2:]}", taken_at=at)
            store.save(fresh, keep_volatile=False)
    rows = store.snapshots()
    assert len(rows) == 30 * 24
    assert len({row.manifest for row in rows}) == 1
    store.close()
    assert store.path.stat().st_size < 200e6 / 12
