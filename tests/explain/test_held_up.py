"""What held a run up, and who is named for it: only somebody that can have been what the run waited for."""

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Diff, HeldUp, Neighbour
from fingerprint.metrics import Metric
from fingerprint.runs.effective import effective
from fingerprint.runs.record import Distribution, Growth, Measured, Process, Sampled
from fingerprint.runs.run import Run
from fingerprint.snapshot import reading_of
from probes.kit.facts import Map
from probes.process.sections import Process as ProcessSection
from tests.runs.recorded import SECOND, closed, measured, run

START = 1_700_000_000 * SECOND
SECONDS = 10.0
VALID = jsonschema.Draft202012Validator(msgspec.json.schema(Diff))
MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def grown(count: float, seconds: float = SECONDS, first: int = 1000) -> Growth:
    return Growth(first=first, last=first + round(count), grown=round(count), seconds=seconds)


def samples(
    *,
    waited: float | None = 0.0,
    used: float = 0.3,
    cpus: int = 2,
    stolen: float = 0.0,
    throttled: float = 0.0,
    moved: float = 0.0,
    stalls: Mapping[str, float] | None = None,
    programs: Mapping[str, float] | None = None,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """Of a run. waited, throttled, stalls: shares of its time; used: CPUs; stolen: a share of all CPUs; moved: B/s."""
    ticks = dict.fromkeys(MODES, 0.0) | {"idle": cpus * (1 - stolen), "steal": cpus * stolen}
    return {
        **({} if waited is None else {"usage/main/run_delay": grown(waited * seconds * 1e9, seconds)}),
        "usage/main/user": grown(used * seconds * 1000, seconds),
        "usage/main/system": grown(0, seconds),
        "usage/main/read_bytes": grown(moved * seconds, seconds),
        "usage/main/cgroup/throttled_usec": grown(throttled * seconds * 1e6, seconds),
        **{f"pressure/cpu_time/{mode}": grown(100 * share * seconds, seconds) for mode, share in ticks.items()},
        **{f"pressure/{what}/some/total": grown(s * seconds * 1e6, seconds) for what, s in (stalls or {}).items()},
        **{f"neighbours/main/{name}/cpu": took(share) for name, share in (programs or {}).items()},
    }


def took(cpus: float, readings: int = 3) -> Distribution:
    return Distribution(count=readings, mean=1000 * cpus, quantiles=(1000 * cpus,) * 7)


def subject(
    name: str,
    nice: int = 0,
    affinity: str = "0-127",
    wall: float = 4.0,
    allocator: str = "",
    more: Mapping[str, Distribution | Growth] | None = None,
    **told: Any,
) -> Subject:
    """A run with a reading of `main`, its wall time and `samples`; `more` of them by path."""
    of_main = reading_of(ProcessSection(nice=nice, affinity=affinity, env=Map({"MALLOC_ARENA_MAX": allocator})))
    records = (
        Process(at=START, area="process", target="main", reading=of_main),
        Sampled(at=START, ticks=9, missed=0, facts={**samples(**told), **(more or {})}),
        Measured(at=START, metric=Metric("wall_time", "s", "lower", (wall,))),
        closed(),
    )
    folded = run(*records, id_=f"01{name}", name=name, at=START)
    return Subject(name=name, state=effective(folded, {}), attempts=(folded,))


def explained(a: Subject, b: Subject, history: tuple[Run, ...] = ()) -> Diff:
    diff = explain(a, b, history)
    VALID.validate(json.loads(msgspec.json.encode(diff)))
    return diff


def held(a: Subject, b: Subject) -> dict[str, HeldUp]:
    return {line.fact.rpartition("main/")[2]: line for line in explained(a, b).held_up}


def test_who_took_the_cpus_that_a_run_waited_for_is_named_first_of_all() -> None:
    diff = explained(
        subject("A", programs={"sshd": 0.02}),
        subject("B", waited=0.41, programs={"stress-ng": 1.9, "sshd": 0.02}),
    )
    (line,) = diff.held_up
    assert (line.fact, line.a, line.b) == ("usage/main/run_delay", 0.0, 0.41)
    assert line.by == (Neighbour(program="stress-ng", a=None, b=1.9),)
    assert line.says == "B waited 41 % of its time for a CPU while stress-ng took 1.9 CPUs; A: 0 %"
    assert diff.headline.startswith("Nothing changed")
    assert diff.headline.endswith(f"; {line.says}.")
    assert diff.next[0] == "Run B again without stress-ng beside it, or pin each to CPUs of its own (taskset -c)."


def test_of_several_servers_it_is_what_their_trees_waited_together() -> None:
    def served(name: str, waited: float) -> Subject:
        told = samples(waited=waited, throttled=waited, used=0.2)
        facts = {
            path.replace("/main/", f"/{server}/"): sample
            for path, sample in told.items()
            for server in ("sglang-1", "vllm-2")
        }
        records = (Sampled(at=START, ticks=9, missed=0, facts=facts), closed())
        folded = run(*records, id_=f"01{name}", name=name, at=START)
        return Subject(name=name, state=effective(folded, {}), attempts=(folded,))

    delay, quota = explained(served("A", 0), served("B", 0.3)).held_up
    assert (quota.fact, quota.b) == ("usage/*/cgroup/throttled_usec", 0.3)  # they may share the group of one quota
    assert (delay.fact, delay.b) == ("usage/*/run_delay", 0.3)  # of which the quota accounts for a half


def test_it_is_said_of_whichever_run_waited() -> None:
    a, b = subject("A", waited=0.5, programs={"make": 0.9}), subject("B")
    assert held(a, b)["run_delay"].says == "A waited 50 % of its time for a CPU while make took 90 % of a CPU; B: 0 %"


def test_beside_a_suspect_it_is_evidence_and_does_not_take_its_place() -> None:
    diff = explained(subject("A"), subject("B", nice=5, waited=0.41, programs={"stress-ng": 1.9}))
    assert (len(diff.suspects), len(diff.held_up)) == (1, 1)
    assert "stress-ng" not in diff.headline
    assert "stress-ng" in diff.next[-1]


@pytest.mark.parametrize(
    ("beside_a", "likelihood"),
    [({}, "possible"), ({"stress-ng": 1.9}, "likely")],
    ids=["who came to it", "who was there all along"],
)
def test_a_wait_that_others_account_for_makes_no_setting_likely(beside_a: dict[str, float], likelihood: str) -> None:
    """Who took as much beside the other run did not hold this one up by himself: what it was granted did."""
    told: dict[str, Any] = {"waited": 0.41, "programs": {"stress-ng": 1.9}}
    [suspect] = explained(subject("A", programs=beside_a), subject("B", nice=5, wall=8.0, **told)).suspects
    assert suspect.likelihood == likelihood
    assert [one.fact for one in suspect.evidence] == ["usage/main/run_delay"]
    assert bool(suspect.against) == (likelihood == "possible")


def test_a_busy_neighbour_of_a_run_that_did_not_wait_is_named_nowhere() -> None:
    diff = explained(subject("A"), subject("B", used=0.0, programs={"stress-ng": 1.9}, stalls={"cpu": 0.9}))
    assert diff.held_up == ()
    assert "stress-ng" not in msgspec.json.encode(diff).decode()


def test_nor_in_a_long_run_among_what_was_seen_while_they_ran() -> None:
    path = "neighbours/main/stress-ng/cpu"
    a, b = (subject(name, more={path: took(cpus, readings=9)}) for name, cpus in (("A", 0.1), ("B", 1.9)))
    assert "stress-ng" not in msgspec.json.encode(explained(a, b)).decode()


def test_a_program_that_took_too_little_to_have_been_it_is_not_named() -> None:
    line = held(subject("A"), subject("B", waited=0.8, programs={"cron": 0.1}))["run_delay"]
    assert (line.by, line.b) == ((), 0.8)


def test_a_run_that_filled_its_cpus_by_itself_was_held_up_by_nobody_else() -> None:
    a = subject("A", affinity="1")
    diff = explained(a, subject("B", affinity="1", waited=1.9, used=0.97, programs={"make": 0.9}))
    (line,) = diff.held_up
    assert line.by == ()
    assert line.says == (
        "B waited 190 % of its time for a CPU (summed over its processes) while its own threads used 0.97 of the 1 "
        "it may use; A: 0 %"
    )
    assert diff.next[0] == "Start fewer threads in B, or let it use more CPUs."


def test_what_a_quota_held_back_is_no_waiting_for_others() -> None:
    lines = held(subject("A"), subject("B", waited=0.78, throttled=0.76, programs={"make": 0.9}))
    assert list(lines) == ["cgroup/throttled_usec"]
    assert lines["cgroup/throttled_usec"].says == "a quota held CPUs of B back for 76 % of its time; A: 0 %"


@pytest.mark.parametrize(("dark", "who"), [(("A", "B"), "A and B"), (("B",), "B")])
def test_a_run_whose_waiting_is_not_counted_says_so_and_names_nobody(dark: tuple[str, ...], who: str) -> None:
    a, b = (subject(n, waited=None if n in dark else 0.01, programs={"make": 0.9}) for n in "AB")
    (line,) = explained(a, b).held_up
    assert line.says == f"whether {who} waited for a CPU is not known: the kernel does not count it"
    assert (line.b, line.by) == (None, ())


def test_nothing_but_zeros_of_a_run_that_used_a_cpu_is_not_counted_either() -> None:
    assert held(subject("A"), subject("B", more={"usage/main/run_delay": grown(0, first=0)}))["run_delay"].b is None


def test_where_the_run_cannot_tell_the_host_does() -> None:
    lines = explained(subject("A", stalls={"cpu": 0.1}), subject("B", waited=None, stalls={"cpu": 0.9})).held_up
    assert [line.says for line in lines if line.b] == [
        "tasks of the host waited 90 % of the time for a CPU while B ran; A: 10 %"
    ]


def test_a_run_of_less_than_a_second_is_silent() -> None:
    assert held(subject("A"), subject("B", waited=0.9, programs={"make": 0.9}, seconds=0.6)) == {}


def test_the_hypervisor_and_the_host_hold_up_a_run_at_work_and_no_sleeper() -> None:
    troubled: dict[str, Any] = {"stolen": 0.3, "stalls": {"memory": 0.2, "io": 0.4}}
    assert held(subject("A"), subject("B", used=0.0, **troubled)) == {}
    assert [line.says for line in explained(subject("A"), subject("B", used=0.5, **troubled)).held_up] == [
        "the hypervisor gave 30 % of the CPU time to others while B ran; A: 0 %",
        "tasks of the host waited 20 % of the time for memory while B ran; A: not known",
        "tasks of the host waited 40 % of the time for a disk while B ran; A: not known",
    ]
    assert "pressure/io/some/total" in held(subject("A"), subject("B", used=0.0, moved=1e8, **troubled))


def test_two_runs_that_waited_alike_are_told_below_and_not_in_the_headline() -> None:
    a, b = (subject(name, waited=0.4, programs={"make": 1.0}) for name in "AB")
    diff = explained(a, b)
    assert [n.program for n in diff.held_up[0].by] == ["make"]
    assert "waited" not in diff.headline


def test_a_program_counts_by_its_share_of_the_whole_run() -> None:
    brief = {"neighbours/main/brief/cpu": took(0.9, readings=1)}
    assert held(subject("A"), subject("B", waited=0.4, programs={"make": 0.9}, more=brief))["run_delay"].by == (
        Neighbour(program="make", a=None, b=0.9),
        Neighbour(program="brief", a=None, b=0.3),
    )


def test_who_took_little_beside_another_is_not_named() -> None:
    programs = {"make": 1.0, "rcu": 0.1}
    assert [n.program for n in held(subject("A"), subject("B", waited=0.1, programs=programs))["run_delay"].by] == [
        "make"
    ]


def test_many_that_took_little_each_are_named_where_they_took_much_together() -> None:
    fleet = {f"worker{nth}": 0.19 for nth in range(5)}
    line = held(subject("A"), subject("B", waited=0.8, programs=fleet))["run_delay"]
    assert [n.program for n in line.by] == ["worker0", "worker1", "worker2"]
    one = dict(list(fleet.items())[:1])
    assert held(subject("A"), subject("B", waited=0.8, programs=one))["run_delay"].by == ()


def test_whoever_was_in_the_way_of_the_other_run_is_not_blamed_for_this_one() -> None:
    a = subject("A", waited=0.3, programs={"make": 1.0, "rsync": 0.02})
    for b, says in (
        (subject("B", waited=0.8, programs={"make": 0.1, "rsync": 0.5}), "while rsync took 50 % of a CPU"),
        (subject("B", waited=0.8, used=1.9, programs={"make": 0.1}), "while its own threads used 1.90 of the 2"),
    ):
        diff = explained(a, b)
        assert says in diff.held_up[0].says
        assert "make" in [n.program for n in diff.held_up[0].by]
        assert "make" not in diff.held_up[0].says
        assert "make" not in "".join(diff.next)


def test_a_large_job_elsewhere_hides_nobody() -> None:
    programs = {"job": 40.0, "stress-ng": 1.0}
    by = held(subject("A"), subject("B", waited=0.5, used=0.5, cpus=64, programs=programs))["run_delay"].by
    assert [n.program for n in by] == ["job", "stress-ng"]


def test_three_in_the_way_of_one_run_do_not_crowd_out_those_of_the_other() -> None:
    a = subject("A", waited=0.3, programs={f"big{nth}": 0.9 for nth in range(3)})
    diff = explained(a, subject("B", waited=0.8, programs={"small": 0.3}))
    assert "while small took 30 % of a CPU" in diff.held_up[0].says
    assert diff.next[0].startswith("Run B again without small beside it")
    assert [n.program for n in diff.held_up[0].by] == ["big0", "big1", "big2", "small"]


def test_of_several_starts_the_middle_one_counts() -> None:
    def series(name: str, *waits: float) -> Subject:
        *earlier, last = (subject(name, waited=w, programs={"make": 1 + w}) for w in waits)
        return replace(last, earlier=tuple(start.state for start in earlier))

    assert held(series("A", 0.0, 0.01, 0.0), series("B", 0.9, 0.0, 0.02)) == {}
    line = held(series("A", 0.0, 0.01, 0.0), series("B", 0.9, 0.5, 0.02))["run_delay"]
    assert (line.b, line.by) == (0.5, (Neighbour(program="make", a=1.0, b=1.5),))


def test_a_snapshot_waits_for_nothing() -> None:
    b = replace(subject("B", waited=0.5), earlier=(subject("B", waited=0.5).state,))
    assert held(replace(subject("A"), attempts=()), b) == {}


def test_a_metric_that_moved_without_a_suspect_is_told_with_the_waiting() -> None:
    calm = {"cpu": 0.01}
    steady = tuple(
        run(measured("wall_time", s), closed(), id_=f"01other{n}")
        for n, s in enumerate((4.0, 4.1, 4.05, 3.9, 4.0, 4.1))
    )
    diff = explained(
        subject("A", stalls=calm), subject("B", wall=9.0, waited=0.4, stalls=calm, programs={"make": 1.0}), steady
    )
    assert "no state changed that could explain it; B waited 40 % of its time for a CPU while make" in diff.headline


@pytest.mark.parametrize(("waits", "is_told"), [((0.0, 0.4), True), ((0.4, 0.0), False)])
def test_beside_a_suspect_the_wait_of_the_better_run_explains_nothing(
    waits: tuple[float, float], is_told: bool
) -> None:
    steady = tuple(
        run(measured("wall_time", s), closed(), id_=f"01other{n}")
        for n, s in enumerate((4.0, 4.1, 4.05, 3.9, 4.0, 4.1))
    )
    a, b = (
        subject(name, allocator=arenas, wall=wall, waited=waited, stalls={"cpu": 0.01}, programs={"make": 1.0})
        for name, arenas, wall, waited in zip("AB", ("8", "1"), (4.0, 9.0), waits, strict=True)
    )
    diff = explained(a, b, steady)
    assert len(diff.held_up) == 1
    assert "MALLOC_ARENA_MAX" in diff.headline
    assert ("waited 40 %" in diff.headline) is is_told
    assert ("without make beside it" in diff.next[0]) is is_told
