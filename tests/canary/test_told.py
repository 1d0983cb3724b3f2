"""What a diff says of the canary: the host, its GPUs, or only the command."""

from msgspec.structs import replace

from fingerprint.diff.known import probe_of
from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Diff, MetricChange
from fingerprint.metrics import Better
from fingerprint.runs.record import AnyRecord, Attached, Measured
from probes.cpu import Cpu
from probes.cpu.frequency import Policy
from probes.kit.facts import Map
from probes.process.sections import Cgroup, Process
from tests.explain.subjects import explained, subject
from tests.runs.recorded import measured

GPU = "gpu/0000:17:00.0"
STEPS = (0.995, 1.0, 1.004, 0.998, 1.001, 1.003)


def ends(before: float = 1.0, after: float = 1.0, **works: float) -> list[AnyRecord]:
    """Of each work its time, in both ends; before, after: how many times as long each took. `gpu_`: GB/s of a GPU."""
    return [record for moment, times in (("before", before), ("after", after)) for record in _end(moment, times, works)]


def _end(moment: str, times: float, works: dict[str, float]) -> list[AnyRecord]:
    found: list[AnyRecord] = []
    for work, value in works.items():
        better: Better = "higher" if work.startswith("gpu_") else "lower"
        name = f"canary/{moment}/{work.replace('gpu_', GPU + '/')}"
        samples = [value * step * (times if better == "lower" else 1) for step in STEPS]
        found.append(measured(name, *samples, unit="us" if better == "lower" else "GB/s", better=better))
    return found


def step(*milliseconds: float) -> AnyRecord:
    return measured("step_ms", *milliseconds, unit="ms")


def side(name: str, *records: AnyRecord) -> Subject:
    return subject(name, None, None, *records)


def said(diff: Diff) -> str:
    return diff.comparable.says.partition("Canary: ")[2]


FAST, SLOW = [10.0, 10.1, 9.9, 10.0, 10.05], [20.0, 20.1, 19.9, 20.2, 20.0]


def test_a_host_that_was_slower_is_told_from_a_command_that_was() -> None:
    a = side("a", *ends(cpu=7, wake_up=5), step(*FAST))
    both = explained(a, side("b", *ends(cpu=14, wake_up=10), step(*SLOW)))
    assert said(both).startswith("CPU work 2.00x [")
    assert said(both).endswith("slower: the host was slower.")
    alone = explained(a, side("b", *ends(cpu=7, wake_up=5), step(*SLOW)))
    assert said(alone).startswith("CPU work and wake-ups as fast within ")
    assert said(alone).endswith(": the host itself was as fast, only the command was slower.")


def test_work_of_gpus_is_told_from_work_of_the_host() -> None:
    a = side("a", *ends(cpu=7, gpu_copy=3000), step(*FAST))
    gpus = said(explained(a, side("b", *ends(cpu=7, gpu_copy=1500), step(*SLOW))))
    assert gpus.startswith("copies within a GPU 2.00x [")
    assert "slower on 0000:17:00.0, CPU work as fast within" in gpus
    assert gpus.endswith(": GPUs were slower, the host was not.")
    host = said(explained(a, side("b", *ends(cpu=14, gpu_copy=3000), step(*SLOW))))
    assert host.endswith(": the host was slower, GPUs were not.")


def test_no_number_is_scaled_and_none_of_the_canarys_is_the_one_to_be_explained() -> None:
    a, b = side("a", *ends(cpu=7), step(*FAST)), side("b", *ends(cpu=28), step(*SLOW))
    diff = explained(a, b)
    assert [metric.name for metric in diff.metrics] == ["step_ms"]
    assert diff.metrics[0].ratio == 2.0
    [cpu] = diff.canary
    assert (cpu.name, cpu.verdict, cpu.ratio) == ("canary/cpu", "worse", 4.0)
    without = explained(side("a", step(*FAST)), side("b", step(*SLOW)))
    assert (diff.headline, diff.metrics, diff.next) == (without.headline, without.metrics, without.next)


def test_it_may_be_asked_for_by_its_name() -> None:
    a, b = side("a", *ends(cpu=7), step(*FAST)), side("b", *ends(cpu=28), step(*FAST))
    [asked] = explain(a, b, metric="canary/before/cpu").metrics
    assert (asked.name, asked.verdict) == ("canary/before/cpu", "worse")


def test_a_host_that_changed_while_a_run_ran_is_said() -> None:
    a, b = side("a", *ends(cpu=7)), side("b", *ends(1.0, 2.0, cpu=7))
    told = said(explained(a, b))
    assert "From one end of b to the other the host was not the same: CPU work." in told
    assert "slower" not in told, "one end of b was as fast as a"


def test_ends_of_one_run_that_lie_as_far_apart_as_the_runs_show_that_the_host_moves_by_itself() -> None:
    a = side("a", *ends(cpu=7))
    [mingled] = explained(a, side("b", *ends(1.3, 2.0, cpu=7))).canary
    assert (mingled.verdict, mingled.says.endswith("but the ends of one run lie as far apart")) == ("unassessed", True)
    [apart] = explained(a, side("b", *ends(1.8, 2.0, cpu=7))).canary
    assert apart.verdict == "worse"


def test_samples_that_scatter_tell_nothing_apart() -> None:
    wild = [measured(f"canary/{end}/cpu", 5.0, 9.0, 6.0, 12.0, unit="us") for end in ("before", "after")]
    more = [measured(f"canary/{end}/cpu", 8.0, 11.0, 5.0, 10.0, unit="us") for end in ("before", "after")]
    assert said(explained(side("a", *wild), side("b", *more))).startswith("CPU work not told apart")


def test_what_another_release_did_is_not_compared_and_that_is_said() -> None:
    a, b = (
        side(name, *ends(cpu=7), *_by(release, *ends(gpu_copy=speed)))
        for name, release, speed in (("a", "torch 2.8", 3000), ("b", "torch 2.9", 1500))
    )
    told = said(explained(a, b))
    assert "copies within a GPU not comparable: measured in two ways, torch 2.8 and torch 2.9" in told


def _by(release: str, *records: AnyRecord) -> list[AnyRecord]:
    return [replace(it, metric=replace(it.metric, source=release)) for it in records if isinstance(it, Measured)]


def test_where_it_ran_in_one_alone_that_is_said() -> None:
    assert said(explained(side("a"), side("b", *ends(cpu=7)))) == "not measured in a."
    assert "Canary" not in explained(side("a"), side("b")).comparable.says


def governor(name: str, word: str, *records: AnyRecord) -> Subject:
    return subject(name, Cpu(policies=Map({"policy0": Policy(scaling_governor=word)})), None, *records, area="cpu")


def evidence(diff: Diff) -> list[str]:
    return [one.fact for one in diff.suspects[0].evidence]


def _suspects(a: Subject, b: Subject) -> Diff:
    return explain(a, b, known=probe_of)


def test_work_that_waits_for_the_same_supports_a_suspect_of_the_host() -> None:
    a = governor("a", "performance", *ends(cpu=7), step(*FAST))
    slower = _suspects(a, governor("b", "powersave", *ends(cpu=14), step(*SLOW)))
    assert slower.suspects[0].facts == ("cpu/policies/policy0/scaling_governor",)
    assert evidence(slower) == ["canary/cpu"]
    assert "CPU work of the canary 2.00x" in slower.suspects[0].evidence[0].says
    same = _suspects(a, governor("b", "powersave", *ends(cpu=7), step(*SLOW)))
    assert evidence(same) == []
    assert same.suspects[0].against == slower.suspects[0].against, "that it was not slower says nothing"
    assert slower.suspects[0].score > same.suspects[0].score


def test_a_quota_of_the_command_is_the_canarys_as_well_and_that_of_a_server_is_not() -> None:
    quotas = [Process(cgroup=Cgroup(cpu_max=text)) for text in ("max", "15000 100000")]
    for attached, expected in ((), ["canary/cpu"]), ((Attached("main", 7, 1),), []):
        a, b = (
            subject(name, None, quota, *ends(cpu=cpu), step(*times), attached=attached)
            for name, quota, cpu, times in (("a", quotas[0], 7, FAST), ("b", quotas[1], 14, SLOW))
        )
        diff = _suspects(a, b)
        assert diff.suspects[0].facts == ("process/main/cgroup/cpu_max",)
        assert evidence(diff) == expected


def test_work_that_was_faster_is_no_evidence_of_what_made_slower() -> None:
    a = governor("a", "performance", *ends(cpu=14), step(*FAST))
    assert evidence(_suspects(a, governor("b", "powersave", *ends(cpu=7), step(*SLOW)))) == []


def test_a_change_is_published_as_that_of_a_metric() -> None:
    [change] = explained(side("a", *ends(cpu=7)), side("b", *ends(cpu=7))).canary
    assert isinstance(change, MetricChange)
    assert (change.verdict, change.a and change.a.n) == ("same", 12)
