"""A Run is the fold of its records."""

import pytest

from fingerprint.runs.record import Asked, Closed, Marked, Noted, Passed, Process, Renamed, Sampled, Snapped, Trouble
from fingerprint.runs.run import ended, fold, state_of
from fingerprint.snapshot import Key, Reading, reading_of
from probes.kit.facts import Gap
from tests.diff.made_up import Task
from tests.runs.recorded import closed, measured, opened, run


def test_each_kind_of_record_is_found_in_the_run() -> None:
    folded = run(
        Snapped(at=1, moment="before", snapshot="s1"),
        Snapped(at=2, moment="during", snapshot="s2"),
        Snapped(at=3, moment="during", snapshot="s3"),
        Sampled(at=4, ticks=1, missed=0, facts={}),
        Sampled(at=5, ticks=2, missed=1, facts={}),
        measured("wall_time", 1.0),
        measured("wall_time", 2.0),
        Asked(at=6, key="prompts", value=512),
        Trouble(at=7, what="the sampler stopped"),
        Noted(at=8, text="new cable"),
        Marked(at=9, good=True),
        closed(),
    )
    assert folded.snapshots == {"before": ("s1",), "during": ("s2", "s3")}
    assert folded.samples is not None
    assert folded.samples.ticks == 2
    assert folded.metrics["wall_time"].samples == (2.0,)
    assert folded.workload == {"prompts": 512}
    assert (folded.troubles, folded.notes, folded.good) == (("the sampler stopped",), ("new cable",), True)
    assert folded.closed is not None


def test_the_last_mark_counts() -> None:
    assert not run(Marked(at=1, good=True), Marked(at=2, good=False)).good


def test_a_run_is_open_while_its_opener_lives_and_interrupted_when_that_is_gone() -> None:
    assert state_of(None, opener_alive=True) == "open"
    assert state_of(None, opener_alive=False) == "interrupted"
    assert state_of(closed(), opener_alive=False) == "closed"
    assert state_of(Closed(at=1, how="killed", status=15, interrupted=True), opener_alive=False) == "interrupted"


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Closed(at=1, how="exited", status=3), "exited 3"),
        (Closed(at=1, how="killed", status=9), "killed by signal 9"),
        (Closed(at=1, how="killed", status=15, interrupted=True), "killed by signal 15, interrupted"),
        (Closed(at=1, how="not found", status=127, detail="x: no such file"), "not found: x: no such file"),
    ],
)
def test_how_a_run_ended_is_told_in_words(record: Closed, words: str) -> None:
    assert ended(record, "closed") == words


def test_a_run_that_was_not_closed_is_open_or_its_fingerprint_is_gone() -> None:
    assert ended(None, "open") == "still open"
    assert ended(None, "interrupted") == "interrupted: fingerprint ended before the run did"


@pytest.mark.parametrize("records", [(), (opened(), opened())], ids=["none", "two"])
def test_records_that_do_not_open_exactly_one_run_are_refused(records: tuple[object, ...]) -> None:
    with pytest.raises(ValueError, match="run 01A has"):
        fold("01A", records)  # type: ignore[arg-type]


def test_only_later_attempts_carry_their_number() -> None:
    assert (run().label, run(attempt=2).label) == ("run-A", "run-A#2")


WHOLE = reading_of(Task(nice=1, weight=1))
LATER = reading_of(Task(nice=2, weight=1))
ENDED = reading_of(Task(nice=3, weight=Gap("absent", "the process ended")))
FAILED = Reading("failed", "why")


@pytest.mark.parametrize(
    ("readings", "kept"),
    [
        ((WHOLE, LATER), LATER),
        ((WHOLE, ENDED), WHOLE),
        ((ENDED, LATER), LATER),
        ((FAILED, ENDED), ENDED),
        ((WHOLE, FAILED), WHOLE),
        ((FAILED, FAILED), FAILED),
    ],
)
def test_the_last_complete_reading_of_a_process_counts(readings: tuple[Reading, ...], kept: Reading) -> None:
    folded = run(*(Process(at=n, area="process", target="main", reading=r) for n, r in enumerate(readings)))
    assert folded.processes == {Key("process", "main"): kept}


def test_what_was_read_of_a_process_is_kept_under_the_name_that_its_engine_gives_it() -> None:
    folded = run(
        Process(at=1, area="process", target="main.python.3", reading=WHOLE),
        Process(at=2, area="nccl", target="main.python.3", reading=WHOLE),
        Renamed(at=3, was="main.python.3", target="sglang-30000.tp3"),
        Process(at=4, area="process", target="sglang-30000.tp3", reading=LATER),
    )
    assert folded.processes == {Key("process", "sglang-30000.tp3"): LATER, Key("nccl", "sglang-30000.tp3"): WHOLE}


def test_what_exec_was_given_stands_by_area() -> None:
    assert run(Passed(at=1, area="process", reading=WHOLE)).passed == {"process": WHOLE}
