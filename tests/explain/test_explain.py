"""The five answers: real or not, which suspects, what is ruled out, what is not known, what to do."""

from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from fingerprint.diff.section import ENDED_UNREAD
from fingerprint.explain import Subject, exit_status
from fingerprint.runs.effective import effective_of_snapshot
from fingerprint.runs.record import (
    Asked,
    Closed,
    Distribution,
    Growth,
    Passed,
    Process,
)
from fingerprint.snapshot import Reading, reading_of
from probes.kit.facts import Gap, Map, Redacted
from tests.diff.made_up import Cgroup, Device, Made, Task, snapshot
from tests.diff.test_properties import facts
from tests.explain.subjects import START, STEADY, explained, subject, wall
from tests.runs.recorded import SECOND


def test_nothing_changed_is_said_first_and_sets_no_exit_status() -> None:
    diff = explained(wall("A", 4.0), wall("B", 4.1))
    assert diff.headline.startswith("Nothing changed: 1 fact was seen equal in both")
    assert (diff.suspects, diff.changes, exit_status(diff)) == ((), (), 0)


def test_one_change_is_the_first_suspect_and_what_follows_from_it_stands_under_it() -> None:
    diff = explained(
        subject("A", Made(mode="a", after_mode=1)), subject("B", Made(mode="b", after_mode=2), at=START + 60 * SECOND)
    )
    (suspect,) = diff.suspects
    assert (suspect.facts, suspect.before, suspect.after) == (("made/mode",), "a", "b")
    assert suspect.consequences == ("made/after_mode",)
    assert suspect.mechanism == ("a mode",)
    assert suspect.check == "cat /sys/made/up/mode"
    assert suspect.restore == "echo a > /sys/made/up/mode"
    assert suspect.bracket == ("2023-11-14T22:13:29Z", "2023-11-14T22:14:20Z")
    assert [(c.fact, c.follows, c.suspect) for c in diff.changes] == [
        ("made/mode", None, 1),
        ("made/after_mode", "made/mode", 1),
    ]
    assert diff.headline.startswith("made/mode a -> b")
    assert exit_status(diff) == 1


def test_a_change_of_context_is_said_and_is_no_suspect_and_no_drift() -> None:
    diff = explained(subject("A", Made(name="x")), subject("B", Made(name="y")))
    assert [(change.fact, change.context) for change in diff.changes] == [("made/name", True)]
    assert (diff.suspects, exit_status(diff)) == ((), 0)


@pytest.mark.parametrize("after", [Gap("denied"), Redacted("other", "2")])
def test_what_nobody_saw_change_is_no_suspect_and_no_drift(after: Any) -> None:
    a, b = (
        subject(name, Made(variables=Map({"X": value}))) for name, value in (("A", Redacted("k", "1")), ("B", after))
    )
    diff = explained(a, b)
    assert len(diff.changes) == 1
    assert (diff.suspects, exit_status(diff)) == ((), 0)
    assert "Nothing is known to have changed" in diff.headline


def test_what_was_declared_is_intended_and_no_drift() -> None:
    diff = explained(subject("A", Made(mode="a")), subject("B", Made(mode="b"), vary=("made/*",)))
    assert [change.fact for change in diff.intended] == ["made/mode"]
    assert diff.headline.startswith("Nothing but what was declared changed: ")
    assert (diff.changes, diff.suspects, exit_status(diff)) == ((), (), 0)


def test_what_changed_during_a_run_shows_both_values_and_outranks_what_only_differs() -> None:
    diff = explained(
        subject("A", Made(mode="a", bytes=1)), subject("B", Made(mode="a", bytes=2), after=Made(mode="b", bytes=2))
    )
    assert [suspect.facts[0] for suspect in diff.suspects] == ["made/mode", "made/bytes"]
    assert diff.suspects[0].after == {"during": ["a", "b"]}
    assert diff.changes[0].verdict == "changed during the run"


def test_suspects_are_ordered_by_how_often_their_kind_was_the_confirmed_cause() -> None:
    a = subject("A", Made(), Task(nice=0, operands=("x",), env=Map({"OMP_NUM_THREADS": "1"})))
    b = subject("B", Made(), Task(nice=5, operands=("y",), env=Map({"OMP_NUM_THREADS": "2"})))
    assert [suspect.facts[0] for suspect in explained(a, b).suspects] == [
        "process/main/operands", "process/main/env/OMP_NUM_THREADS", "process/main/nice",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("grown", "likelihood", "first"),
    [((0, 40), "likely", "process/main/cgroup/cpu_max"), ((0, 0), "unlikely", "process/main/env/X")],
)
def test_a_limit_counts_where_it_was_seen_to_bind(grown: tuple[int, int], likelihood: str, first: str) -> None:
    counter = "usage/main/cgroup/nr_throttled"
    a, b = (
        subject(
            name, None, Task(cgroup=Cgroup(cpu_max=quota), env=Map({"X": quota})),
            samples={counter: Growth(first=0, last=number, grown=number, seconds=10.0)},
        )
        for name, quota, number in (("A", "max 100000", grown[0]), ("B", "50000 100000", grown[1]))
    )  # fmt: skip
    diff = explained(a, b)
    assert diff.suspects[0].facts == (first,)
    quota = next(suspect for suspect in diff.suspects if suspect.facts == ("process/main/cgroup/cpu_max",))
    assert quota.likelihood == likelihood
    assert [evidence.fact for evidence in (*quota.evidence, *quota.against)] == [counter]
    assert ("grew" in [change.verdict for change in diff.changes]) == (likelihood == "likely")


def test_of_several_servers_a_limit_binds_where_its_own_server_reached_it() -> None:
    def two_servers(name: str, quota: str, throttled: int) -> Subject:
        reading = reading_of(Task(cgroup=Cgroup(cpu_max=quota)))
        samples = {f"usage/{server}/cgroup/nr_throttled": grown(0) for server in ("sglang-1", "vllm-2")}
        samples["usage/sglang-1/cgroup/nr_throttled"] = grown(throttled)
        return subject(name, None, None, Process(START, "process", "sglang-1", reading), samples=samples)

    def grown(number: int) -> Growth:
        return Growth(first=0, last=number, grown=number, seconds=10.0)

    for throttled, likelihood in ((40, "likely"), (0, "unlikely")):
        diff = explained(two_servers("A", "max 100000", 0), two_servers("B", "50000 100000", throttled))
        [quota] = [it for it in diff.suspects if it.facts == ("process/sglang-1/cgroup/cpu_max",)]
        assert quota.likelihood == likelihood
        assert [it.fact for it in (*quota.evidence, *quota.against)] == ["usage/sglang-1/cgroup/nr_throttled"]


def test_restoring_many_devices_names_each_and_quotes_what_a_shell_would_read() -> None:
    a, b = (
        subject(name, Made(mode=mode, devices=Map({key: Device(limit=limit) for key in ("0 1", "2")})))
        for name, mode, limit in (("A", "a; reboot", 600), ("B", "b", 450))
    )
    assert [suspect.restore for suspect in explained(a, b).suspects] == [
        "set '0 1' 600; set 2 600",
        "echo 'a; reboot' > /sys/made/up/mode",
    ]


def test_restoring_more_devices_than_a_line_holds_goes_over_all_of_them() -> None:
    a, b = (
        subject(name, Made(devices=Map({f"{key} x": Device(limit=limit) for key in range(6)})))
        for name, limit in (("A", 600), ("B", 450))
    )
    [suspect] = explained(a, b).suspects
    assert suspect.restore == ("for key in '0 x' '1 x' '2 x' '3 x' '4 x' '5 x'; do set \"$key\" 600; done")


def test_there_is_nothing_to_restore_where_there_was_no_value() -> None:
    diff = explained(subject("A", Made(mode=Gap("absent"))), subject("B", Made(mode="b")))
    assert diff.suspects[0].restore is None


def test_a_private_value_is_marked_and_kept_back() -> None:
    a, b = (subject(n, None, Task(env=Map({"KEY": Redacted("k", d)}))) for n, d in (("A", "1"), ("B", "2")))
    (suspect,) = explained(a, b).suspects
    assert (suspect.before, suspect.after) == ({"redacted": True}, {"redacted": True})


def test_a_variable_known_to_steer_something_comes_before_a_private_one() -> None:
    a, b = (subject(n, None, Task(env=Map({"A": Redacted("k", n), "OMP_NUM_THREADS": n}))) for n in ("A", "B"))
    assert [suspect.facts[0] for suspect in explained(a, b).suspects] == [
        "process/main/env/OMP_NUM_THREADS",
        "process/main/env/A",
    ]


def test_another_workload_is_said_before_any_suspect() -> None:
    asked = [Asked(at=START, key="prompts", value=n) for n in (256, 512)]
    diff = explained(subject("A", Made(mode="a"), None, asked[0]), subject("B", Made(mode="b"), None, asked[1]))
    assert diff.headline.startswith("Not the same experiment. made/mode")
    assert "the workload differs in prompts" in diff.comparable.says
    assert diff.comparable.same_workload is False


def test_what_is_not_known_to_be_the_same_is_none_and_a_crossed_boot_is_named() -> None:
    same = explained(subject("A", boot_id="1"), subject("B", boot_id="2")).comparable
    assert (same.same_host, same.same_command, same.same_workload, same.same_gpus) == (True, True, None, None)
    assert same.epochs_crossed == ("boot",)


def test_another_command_and_another_host_are_said() -> None:
    diff = explained(subject("A"), subject("B", argv=("other",), host="other"))
    same = diff.comparable
    assert diff.headline.startswith("Not the same host. ")
    assert (same.same_host, same.same_command) == (False, False)
    assert "Two hosts" in same.says
    assert "The commands differ." in same.says


def test_that_a_run_is_on_both_sides_is_said() -> None:
    a, b = subject("A"), subject("B")
    series = replace(a, attempts=(*a.attempts, *b.attempts))
    assert explained(a, a).comparable.says.startswith("A and B are the same run: nothing can differ.")
    assert explained(series, series).comparable.says.startswith("A and B are the same runs: nothing can differ.")
    assert explained(series, b).comparable.says.startswith("1 attempt is in both A and B: their")
    longer = replace(a, attempts=(*series.attempts, *subject("C").attempts))
    assert explained(series, longer).comparable.says.startswith("2 attempts are in both A and B: their")
    unlike = explained(a, b).comparable.says
    assert "both" not in unlike
    assert "nothing can differ" not in unlike


def test_that_a_snapshot_is_on_both_sides_is_said() -> None:
    one, other = (
        Subject(name=name, state=effective_of_snapshot(snapshot({"made": Made(mode="a")}, id_=name)))
        for name in ("s1", "s2")
    )
    same = "A and B are the same snapshot: nothing can differ."
    assert explained(one, one).comparable.says.startswith(same)
    for unlike in (explained(one, other), explained(subject("s1"), one), explained(subject("s1"), subject("s1"))):
        assert same not in unlike.comparable.says


@pytest.mark.parametrize(
    ("exit_on", "drift", "moved", "better"),
    [("any", 1, 1, 1), ("facts", 1, 0, 0), ("metrics", 0, 1, 1), ("worse", 0, 1, 0), ("nothing", 0, 0, 0)],
)
def test_exit_on_chooses_what_counts(exit_on: Any, drift: int, moved: int, better: int) -> None:
    assert exit_status(explained(subject("A", Made(mode="a")), subject("B", Made(mode="b"))), exit_on) == drift
    assert exit_status(explained(wall("A", 4.0), wall("B", 9.0), STEADY), exit_on) == moved
    assert exit_status(explained(wall("A", 9.0), wall("B", 4.0), STEADY), exit_on) == better


def test_a_section_that_failed_is_not_known_with_its_reason_and_a_next_step() -> None:
    diff = explained(subject("A", Made(mode="a")), subject("B", Reading("timed_out", "hung since 21:04")))
    assert [(u.fact, u.a, u.b, u.says) for u in diff.not_known] == [("made", "seen", "timed_out", "hung since 21:04")]
    assert any("See why made could not be read" in step for step in diff.next)


def test_each_gap_comes_with_its_remedy_and_what_could_have_been_known_comes_first() -> None:
    dark = Made(mode=Gap("denied"), bytes=Gap("denied"), ratio=Gap("absent"))
    diff = explained(subject("A", dark), subject("B", dark))
    assert [(u.fact, u.a, u.says) for u in diff.not_known] == [
        ("made/bytes", "denied", "read it as root"),
        ("made/mode", "denied", "read it as root"),
    ]
    assert diff.ruled_out.absent == ("made/ratio",)
    assert any("root" in step for step in diff.next)


def test_what_went_dark_because_it_was_denied_is_to_be_read_as_root() -> None:
    diff = explained(subject("A", Made(mode="a")), subject("B", Made(mode=Gap("denied"))))
    assert [change.verdict for change in diff.changes] == ["went dark"]
    assert any("root" in step for step in diff.next)


def distribution(value: float) -> Distribution:
    return Distribution(count=9, mean=value, quantiles=(value,) * 7)


def test_only_what_was_clearly_unlike_is_shown_of_what_was_observed() -> None:
    a = subject("A", samples={"made/heat": distribution(10), "made/events": Growth(0, 10, 10, 10.0)})
    b = subject("B", samples={"made/heat": distribution(90), "made/events": Growth(0, 11, 11, 10.0)})
    diff = explained(a, b)
    assert [(d.fact, d.says) for d in diff.during] == [("made/heat", "median 10 -> 90")]
    assert diff.suspects == ()


def test_a_counter_of_the_host_that_fell_was_reset() -> None:
    diff = explained(subject("A"), subject("B", samples={"made/events": Growth(9, 1, 1, 10.0, resets=1)}))
    assert [(c.fact, c.verdict) for c in diff.changes] == [("made/events", "was reset")]
    assert exit_status(diff) == 0


def test_a_snapshot_compares_with_a_run_and_has_neither_command_nor_metrics() -> None:
    taken = Subject(
        name="snap", state=effective_of_snapshot(snapshot({"made": Made(mode="b")}, at=START + 60 * SECOND))
    )
    diff = explained(wall("A", 4.0), taken)
    assert (diff.b.attempts, diff.comparable.same_command) == ((), None)
    assert diff.metrics == ()
    assert [suspect.facts[0] for suspect in diff.suspects] == ["made/mode"]


def test_a_snapshot_lacks_no_process() -> None:
    taken = Subject(name="snap", state=effective_of_snapshot(snapshot({"made": Made(mode="a")})))
    diff = explained(subject("A", Made(mode="a"), Task(nice=0)), taken)
    assert (diff.not_known, diff.headline) == ((), "Nothing changed: 1 fact was seen equal in both.")


def test_that_one_did_not_end_as_the_other_is_said_first() -> None:
    diff = explained(subject("A"), subject("B", None, None, Closed(at=START, how="not found", status=127)))
    assert diff.headline.startswith("A exited 0, B not found. Nothing changed")


def test_what_exec_was_given_is_compared_when_no_reading_was_possible() -> None:
    a, b = (
        subject(n, None, None, Passed(at=START, area="process", reading=reading_of(Task(nice=k))))
        for n, k in (("A", 0), ("B", 5))
    )
    assert [suspect.facts[0] for suspect in explained(a, b).suspects] == ["process/main/nice"]


def test_that_nobody_read_a_process_is_said_where_nothing_changed() -> None:
    a, b = (
        subject(n, None, None, Passed(at=START, area="process", reading=reading_of(Task(nice=0)))) for n in ("A", "B")
    )
    diff = explained(a, b)
    assert diff.headline.startswith("Nothing changed in what was read: 2 facts were seen equal in both; not read in")
    assert [(line.fact, line.says) for line in diff.not_known] == [("process/main", ENDED_UNREAD)]


@given(facts, facts)
def test_every_diff_is_valid_under_the_published_schema(a: dict[str, Any], b: dict[str, Any]) -> None:
    explained(subject("A", Made(**a)), subject("B", Made(**b)))
