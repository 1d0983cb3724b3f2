"""Several runs ask one reader in turn."""

import os
from collections.abc import Iterator

import pytest

from fingerprint.reader import Reader
from fingerprint.runs.readers import rest_of
from fingerprint.service.turns import IDLE_SECONDS, READ_SECONDS, Shared, Turn
from fingerprint.snapshot import Job, Key
from probes.kit.host import Host
from probes.kit.probe import MAIN, Target, discover

HERE = Target(MAIN, os.getpid())


@pytest.fixture
def shared() -> Iterator[Shared]:
    found = Shared(Reader(Host(), discover(["kernel", "memory", "usage", "process"])))
    yield found
    found.close()


def test_who_asks_while_another_waits_takes_nothing_from_him(shared: Shared) -> None:
    one, other = Turn(shared), Turn(shared)
    assert one.begin([Job("kernel"), Job("memory")], 10) == []
    assert other.begin([Job("usage", HERE)], 10) == []
    assert (one.busy, other.busy) == (True, True)
    assert [key for key, _ in rest_of(other)] == [Key("usage", MAIN)]
    assert [key for key, _ in rest_of(one)] == [Key("kernel"), Key("memory")]
    assert (one.busy, other.busy) == (False, False)


def test_a_tree_is_told_between_two_questions(shared: Shared) -> None:
    one, other = Turn(shared), Turn(shared)
    one.begin([Job("kernel")], 10)
    assert other.tree(HERE)[0] == HERE
    assert [(key, reading.outcome) for key, reading in rest_of(one)] == [(Key("kernel"), "ok")]


def test_what_hung_in_one_run_is_asked_for_in_another(shared: Shared) -> None:
    one, other = Turn(shared), Turn(shared)
    one.hung[Key("process", MAIN)] = "02:00:00"
    [(_, skipped)] = one.begin([Job("process", HERE)], 10)
    assert skipped.outcome == "skipped"
    other.begin([Job("process", HERE)], 10)
    assert [reading.outcome for _, reading in rest_of(other)] == ["ok"]


def test_a_process_that_has_read_is_let_go_sooner_than_one_that_told_a_tree(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    monkeypatch.setattr(shared.reader, "release", lambda seconds: asked.append(seconds) or True)
    one = Turn(shared)
    one.begin([Job("kernel")], 10)
    assert list(rest_of(one))
    shared.release()
    assert one.tree(HERE)
    shared.release()
    assert asked == [READ_SECONDS, IDLE_SECONDS]


def test_one_question_at_a_time(shared: Shared) -> None:
    one = Turn(shared)
    one.begin([Job("kernel")], 10)
    with pytest.raises(RuntimeError):
        one.begin([Job("kernel")], 10)
