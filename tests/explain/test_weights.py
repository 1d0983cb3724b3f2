"""What a suspect's score is made of."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from fingerprint.diff.compare import compare
from fingerprint.explain import Subject, explain
from fingerprint.explain.circumstances import UNKNOWN, Circumstances
from fingerprint.explain.contract import Suspect
from fingerprint.explain.judged import AS_ANY, SURE, judged
from fingerprint.explain.machine import Machine
from fingerprint.explain.mechanisms import rule as graph_rule
from fingerprint.explain.mechanisms import rules_of
from fingerprint.explain.mechanisms.graph import Reader, Rule
from fingerprint.explain.programs import Programs
from fingerprint.explain.versions import PATCH
from fingerprint.explain.weights import (
    ABOUT_AS_FAR,
    AMPLE,
    AS_MANY,
    JUDGED,
    LINKED,
    ONE_VERSION,
    OWN_CODE,
    PER_HALVING,
    RAN_OUT,
    RARELY,
    TOLD_BY_STATUS,
    TOO_FAR,
    TOO_LITTLE,
    UNLINKED,
    _are_as_many,
    is_alone,
    over_pcie,
    size,
    suspected,
)
from fingerprint.metrics import Metric
from fingerprint.runs.record import BOTH_STREAMS, AnyRecord, Measured, Said
from fingerprint.runs.record import Process as Recorded
from fingerprint.said.heard import Heard
from fingerprint.snapshot import reading_of
from probes.cpu import Cpu
from probes.driver import Driver
from probes.driver.answers import Answers
from probes.driver.module import Module
from probes.kit.facts import Gap, Map, Seen
from probes.kit.paths import parse_path
from probes.libraries.sections import Libraries, Modified, Package
from probes.mapped.sections import Library, Mapped
from probes.process import Process
from probes.process.sections import Cgroup, Program
from tests.explain.subjects import START, reading, subject
from tests.report.cases import metric


def rule(usual: tuple[float, float] | None = None, **more: object) -> Rule:
    told: Any = {"moves": ("sm clock",)} | more
    return Rule(name="r", sees=("*",), why="", confirm="", usual=usual, **told)


def decode(*values: float) -> Measured:
    return Measured(at=START, metric=Metric("decode_ms", "ms", "lower", values, "test"))


def ended(status: float) -> Measured:
    return Measured(at=START, metric=Metric("exit_status", "", "lower", (status,), "test"))


def only(a: Process, b: Process, *metrics: Sequence[AnyRecord]) -> Suspect:
    (found,) = explain(subject("A", None, a, *metrics[0]), subject("B", None, b, *metrics[1])).suspects
    return found


SLOWER = [decode(11.0, 11.1, 10.9)], [decode(15.0, 15.1, 14.9)]
FASTER = SLOWER[::-1]


@pytest.mark.parametrize(("metrics", "part"), [(SLOWER, None), (FASTER, RARELY)])
def test_what_mostly_makes_slower_counts_less_where_it_got_faster(
    metrics: tuple[Sequence[AnyRecord], Sequence[AnyRecord]], part: float | None
) -> None:
    """It is no proof against it: one machine was faster without graphs."""
    found = only(Process(flags=Map({})), Process(flags=Map({"--enforce-eager": ()})), *metrics)
    assert found.parts.get("rarely") == part
    assert found.against == ()


def test_what_always_makes_slower_cannot_have_made_faster() -> None:
    found = only(Process(seccomp="off"), Process(seccomp="filter x 1"), *FASTER)
    assert "rarely" not in found.parts
    assert "should have made decode_ms worse" in found.against[0].says


@pytest.mark.parametrize(("before", "after", "part"), [(1024, 131072, RAN_OUT), (131072, 1024, None)])
def test_the_run_that_did_not_end_well_had_less_of_what_runs_out(before: int, after: int, part: float | None) -> None:
    a, b = (Process(limits=Map({"nofile": (soft, 1048576)})) for soft in (before, after))
    found = only(a, b, [ended(1)], [ended(0)])
    assert found.parts.get("ran out") == part
    assert bool(found.against) is (part is None)


def test_another_wheel_of_one_version_and_an_edited_file_are_somebodys_doing() -> None:
    def read(**told: object) -> Recorded:
        found = Libraries(packages=Map({"vllm": Package(version="0.11.0", **told)}))  # type: ignore[arg-type]
        return Recorded(at=START, area="libraries", target="main", reading=reading_of(found))

    for a, b in (
        (read(record="a"), read(record="b")),
        (read(modified=Modified(digest="clean")), read(modified=Modified(digest="1f"))),
    ):
        (found,) = explain(subject("A", None, None, *SLOWER[0], a), subject("B", None, None, *SLOWER[1], b)).suspects
        assert found.parts["one version"] == ONE_VERSION


@pytest.mark.parametrize(
    ("around", "between", "every"),
    [
        (UNKNOWN, 0, 0),
        (Circumstances(on=Machine(linked=True, gpus=8)), LINKED, 0),
        (Circumstances(on=Machine(linked=False, gpus=2)), UNLINKED, UNLINKED),
        (Circumstances(on=Machine(linked=False, gpus=1)), 0, 0),
        (
            Circumstances(ran=Programs(engines=frozenset(("llama.cpp",))), on=Machine(linked=False, gpus=2)),
            LINKED,
            UNLINKED,
        ),
    ],
)
def test_what_goes_over_pcie_counts_by_whether_nvlink_is_there(
    around: Circumstances, between: float, every: float
) -> None:
    assert over_pcie([rule(over_pcie="between GPUs")], around) == between
    assert over_pcie([rule(over_pcie="all")], around) == every
    assert over_pcie([rule()], around) == over_pcie([], around) == 0


def moved(ratio: float, usual: tuple[float, float]) -> float:
    return size([rule(usual)], metric("decode_ms", "worse", 10, 10 * ratio, unit="ms"), UNKNOWN)


def test_a_narrow_mechanism_that_moves_numbers_just_so_far_stands_before_a_wide_one() -> None:
    assert moved(1.3, (1.2, 1.5)) > moved(1.3, (1.02, 10)) > 0
    assert size([rule()], metric("decode_ms", "worse", 10, 13, unit="ms"), UNKNOWN) == 0, "nobody tells how far"


def test_a_number_that_stands_still_and_a_mechanism_that_moves_none_tell_nothing_of_each_other() -> None:
    assert moved(1.004, (1.08, 45)) == moved(1.004, (1.0, 1.0)) == 0
    assert moved(1.05, (1.0, 1.0)) <= 0, "an address moves no number, however little that moved"


def test_less_and_more_than_usual_speak_against_it_by_how_much() -> None:
    assert moved(1.05, (1.1025, 2)) == pytest.approx(PER_HALVING)
    assert moved(3.0, (1.1, 2)) < 0 < moved(2.1, (1.1, 2)), "about as far is far enough"


@given(st.floats(1.001, 1000), st.floats(1.001, 3), st.floats(1.001, 50))
def test_it_is_the_same_either_way_and_never_without_end(ratio: float, least: float, width: float) -> None:
    usual = (least, least * width)
    assume(all(abs(ratio / edge - 1) > 1e-6 for edge in (*usual, usual[1] ** ABOUT_AS_FAR, 1.01, 1 / 1.01)))
    assert moved(ratio, usual) == pytest.approx(moved(1 / ratio, usual))
    assert min(TOO_FAR, TOO_LITTLE) <= moved(ratio, usual) <= 0.05


# What is suspected before anything is seen.


def test_a_judgement_counts_the_less_the_more_incidents_were_counted() -> None:
    """Of what is suspected little as of what is suspected much."""
    slower = metric("decode_ms", "worse", 11, 15)
    for one, sign in ((graph_rule("clock-lock"), 1), (graph_rule("auto-boost"), -1)):
        parts = [sign * suspected([replace(one, confirmed=count)], slower) for count in (0, 1, 4, 25)]
        assert parts == sorted(parts, reverse=True)
        assert parts[0] >= 5 * parts[-1] > 0
    best = replace(graph_rule("clock-lock"), confirmed=0)
    assert suspected([best], slower) == pytest.approx(
        JUDGED * (judged(best, frozenset(("decode step",))) - AS_ANY) / SURE
    )


@pytest.mark.parametrize(
    ("path", "fact", "bears_its_name"),
    [
        ("/opt/caffe", "env/CAFFE_ANYTHING", True),
        ("/srv/colibri/glm", "env/COLI_NUMA", True),
        ("/opt/caffe", "env/OTHER_ANYTHING", False),
        ("/opt/caffe", "flags/--api-key", False),
        ("/opt/venv/bin/vllm", "env/VLLM_ANYTHING", False),
        ("/opt/llama-server", "env/LLAMA_ANYTHING", False),
    ],
)
def test_what_bears_the_name_of_a_program_that_nobody_knows_is_never_suspected_less_than_any(
    path: str, fact: str, bears_its_name: bool
) -> None:
    """Of a flag and of an engine's variables the rules know."""
    kind, name = fact.split("/")
    told: list[Any] = [Map({name: value if kind == "env" else (value,)}) for value in "01"]
    a, b = (replace(Process(program=Program(path=path)), **{kind: one}) for one in told)
    found = only(a, b, *SLOWER)
    by_rule = suspected(rules_of(parse_path(found.facts[0])), metric("decode_ms", "worse", 11, 15, unit="ms"))
    assert by_rule < 0
    assert found.parts.get("judged", 0) == (0 if bears_its_name else pytest.approx(by_rule, abs=1e-3))


@pytest.mark.parametrize(
    ("path", "library", "bears_its_name"),
    [("/opt/caffe", "libcaffe-nv", True), ("/opt/caffe", "libstdc++", False), ("/opt/venv/bin/vllm", "libvllm", False)],
)
def test_so_is_a_library_in_memory_that_does(path: str, library: str, bears_its_name: bool) -> None:
    def read(name: str, build: str, levels: Sequence[AnyRecord]) -> Subject:
        held = Mapped(libraries=Map({library: Library(build_id=build)}))
        return subject(name, None, Process(program=Program(path=path)), *levels, reading("mapped", held))

    (found,) = explain(read("A", "1f", SLOWER[0]), read("B", "2e", SLOWER[1])).suspects
    assert ("judged" not in found.parts) is bears_its_name
    assert found.parts.get("judged", 0) <= 0


def test_what_is_suspected_more_than_any_stays_so_whatever_name_it_bears() -> None:
    """A package of the framework that ran."""

    def read(name: str, version: str, levels: Sequence[AnyRecord]) -> Subject:
        found = Libraries(packages=Map({"caffe": Package(version=version)}))
        return subject(name, None, Process(program=Program(path="/opt/caffe")), *levels, reading("libraries", found))

    (found,) = explain(read("A", "1.0", SLOWER[0]), read("B", "1.1", SLOWER[1])).suspects
    assert found.parts["own"] == OWN_CODE
    assert found.parts["judged"] > 0


# What speaks against it by what it is.


@pytest.mark.parametrize(
    ("soft", "said", "part"),
    [(1024, (), None), (20_000, (), AMPLE), (65_536, (), AMPLE), (65_536, ("open-files",), None)],
)
def test_of_what_runs_out_more_than_hardly_anything_needs_is_ample(
    soft: int, said: Sequence[str], part: float | None
) -> None:
    """Unless it was said that it ran out."""
    a, b = (Process(limits=Map({"nofile": (limit, 1048576)})) for limit in (soft, 1048576))
    printed, silent = (
        Said(at=START, source=BOTH_STREAMS, messages=dict.fromkeys(it, Heard(1, 7))) for it in (said, ())
    )
    found = only(a, b, [ended(1), printed], [ended(0), silent])
    assert found.parts.get("ample") == part


CPUS = [lambda told: Process(affinity=told), lambda told: Process(cgroup=Cgroup(cpuset_cpus=told))]
UNREADABLE: Seen[str] = Gap("denied", "of another user")


@pytest.mark.parametrize("read", CPUS)
@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("0-3", "8-11", AS_MANY),
        ("0-3", "0,2,4-5", AS_MANY),
        ("0-3", "3-x", None),
        ("0-3", "0-7", None),
        ("0-3,8", "0-3", None),
    ],
)
def test_other_cpus_count_less_where_they_are_as_many(
    read: Callable[[Seen[str]], Process], before: str, after: str, part: float | None
) -> None:
    assert only(read(before), read(after), *SLOWER).parts.get("as many") == part


@pytest.mark.parametrize("read", CPUS)
def test_of_cpus_that_one_run_could_not_read_nobody_says_how_many_they_are(
    read: Callable[[Seen[str]], Process],
) -> None:
    known, dark = (subject("A", None, read(cpus)).state for cpus in ("0-3", UNREADABLE))
    for before, after in ((known, dark), (dark, known)):
        (folded,) = compare(before, after).changes
        assert not _are_as_many(folded)


def test_of_the_cpus_of_a_host_others_that_are_as_many_are_not_the_same_to_everyone() -> None:
    sides = zip("AB", ("0-3", "4-7"), SLOWER, strict=True)
    a, b = (subject(name, Cpu(online=cpus), None, *its, area="cpu") for name, cpus, its in sides)
    (found,) = explain(a, b).suspects
    assert (found.facts, found.parts.get("as many")) == (("cpu/online",), None)


@pytest.mark.parametrize(
    "read", [lambda v: Driver(module=Module(version=v)), lambda v: Driver(nvml=Answers(driver_version=v))]
)
@pytest.mark.parametrize(("version", "part"), [("570.133.20", PATCH), ("580.65.06", None)])
def test_another_driver_of_the_same_branch_is_a_patch(
    read: Callable[[str], Driver], version: str, part: float | None
) -> None:
    before, after = (read(one) for one in ("570.86.15", version))
    a, b = (
        subject(name, made, None, *slow, area="driver")
        for name, made, slow in zip("AB", (before, after), SLOWER, strict=True)
    )
    (found,) = explain(a, b).suspects
    assert found.parts.get("patch") == part


@pytest.mark.parametrize(
    ("adapters", "ranks", "alone"),
    [(0, None, True), (2, None, False), (None, None, False), (2, 8, True), (2, 16, False), (0, 16, False)],
)
def test_what_goes_by_an_adapter_of_rdma_moves_nothing_where_none_is_there_or_asked_for(
    adapters: int | None, ranks: int | None, alone: bool
) -> None:
    """Of ranks that span hosts one may have had what this one was not seen to have."""
    around = Circumstances(ran=Programs(ranks=ranks), on=Machine(gpus=8, adapters=adapters))
    assert is_alone([rule(over_rdma=True)], None, around) is alone
    assert not is_alone([rule()], None, around)
    assert not is_alone([], None, around)


@pytest.mark.parametrize(
    ("engines", "hosts", "alone"),
    [(("llama.cpp",), 1, True), (("llama.cpp",), 2, False), (("vllm",), 1, False), (("llama.cpp", "vllm"), 1, False)],
)
def test_a_model_that_is_split_by_layer_goes_by_no_adapter_of_rdma_unless_it_is_on_several_hosts(
    engines: Sequence[Reader], hosts: int, alone: bool
) -> None:
    ran = Programs(engines=frozenset(engines), hosts=hosts)
    around = Circumstances(ran=ran, on=Machine(gpus=8, adapters=2))
    assert is_alone([rule(over_rdma=True)], None, around) is alone
    assert not is_alone([rule(between=True)], None, around), "by layer they talk all the same"


@pytest.mark.parametrize(("single", "hosts", "alone"), [(True, 1, True), (False, 1, False), (True, 2, False)])
def test_of_several_gpus_a_program_of_one_rank_asks_none_to_say_anything_to_another(
    single: bool, hosts: int, alone: bool
) -> None:
    around = Circumstances(ran=Programs(ranks=1, single=single, hosts=hosts), on=Machine(gpus=8, adapters=2))
    assert around.is_alone is alone
    assert is_alone([rule(between=True)], None, around) is alone
    assert not is_alone([rule()], None, around)


@pytest.mark.parametrize(
    ("name", "engine", "alone"),
    [("decode_ms", "vllm", True), ("busbw", "vllm", False), ("decode_ms", "nccl", False), ("wall_time", "nccl", False)],
)
def test_what_gpus_say_to_each_other_moves_what_measures_it_on_one_gpu_too(
    name: str, engine: Reader, alone: bool
) -> None:
    around = Circumstances(ran=Programs(engines=frozenset((engine,))), on=Machine(gpus=1))
    assert is_alone([rule(between=True)], metric(name, "worse", 1, 2), around) is alone
    assert not is_alone([rule()], metric(name, "worse", 1, 2), around)


@pytest.mark.parametrize(("linked", "alone"), [(False, True), (True, False), (None, False)])
def test_what_is_about_nvlink_moves_nothing_where_none_joins_two(linked: bool | None, alone: bool) -> None:
    around = Circumstances(on=Machine(gpus=8, linked=linked))
    moves_it, moves_it_too = (rule(moves=moves) for moves in (("nvlink",), ("pcie link", "nvlink")))
    assert is_alone([moves_it], None, around) is alone
    assert not is_alone([moves_it_too], None, around)


@pytest.mark.parametrize(("status", "part"), [(137, TOLD_BY_STATUS), (1, None), (139, None)])
def test_a_run_that_was_killed_tells_of_the_hosts_memory(status: int, part: float | None) -> None:
    """The kernel does so where that ran out."""
    a, b = (Process(cgroup=Cgroup(memory_max=size)) for size in (2**34, 2**30))
    assert only(a, b, [ended(0)], [ended(status)]).parts.get("told by status") == part
    assert only(b, a, [ended(status)], [ended(0)]).parts.get("told by status") == part
    assert only(a, b, *SLOWER).parts.get("told by status") is None
