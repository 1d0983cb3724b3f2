"""Rounds go on around what hangs, and ask it again."""

from pathlib import Path

import pytest

from fingerprint.reader import Reader
from fingerprint.service import rounds
from fingerprint.service.rounds import Rounds, Waits
from fingerprint.snapshot import Key
from probes.kit.host import Host
from tests.service.listening import Area, a_probe, by_area, fine

MEMORY = Key("memory")


def test_what_hung_is_asked_again_in_the_next_round_and_then_ever_more_seldom() -> None:
    waits = Waits()
    waits.hang([MEMORY], 0.0)
    asked = [at for at in range(60, 2000, 60) if waits.retry([MEMORY], at)]
    assert asked == [60, 180, 420, 840, 1680]


def test_what_answers_once_is_asked_soon_when_it_hangs_again() -> None:
    waits = Waits()
    for at in range(0, 2000, 60):
        waits.retry([MEMORY], at)
    waits.answered([MEMORY])
    waits.hang([MEMORY], 2000.0)
    assert waits.retry([MEMORY], 2060.0) == [MEMORY]


def test_however_long_it_hangs_it_is_asked_once_a_day() -> None:
    waits = Waits()
    asked = [at for at in range(0, 20 * 86_400, 3600) if waits.retry([MEMORY], at)]
    assert {later - at for at, later in zip(asked[-5:], asked[-4:], strict=False)} == {86_400}


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """As long as this file is there a probe hangs."""
    file = tmp_path / "stuck"
    file.touch()
    return file


def test_what_hung_in_one_round_and_is_well_in_the_next_is_read_there(
    stuck: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "FIRST_WAIT_SECONDS", 0.0)

    def read(_: object) -> Area:
        while stuck.exists():
            pass
        return Area(value=1)

    reader = Reader(Host(), by_area(fine("cpu"), a_probe("memory", read, budget=0.3)))
    taken = Rounds(reader, ("cpu", "memory"), "", 5)
    try:
        outcomes = {str(key): it.outcome for key, it in taken.take().readings.items()}
        assert outcomes == {"cpu": "ok", "memory": "timed_out"}
        stuck.unlink()
        assert {it.outcome for it in taken.take().readings.values()} == {"ok"}
        assert not taken.hung
    finally:
        taken.close()
