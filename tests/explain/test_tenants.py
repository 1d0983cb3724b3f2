"""Memory of a GPU that others held beside a run, which neither the run nor its server did; and beside which suspects
what held a run up is told and mended first."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from fingerprint.explain import Subject, explain
from fingerprint.explain.answer import Meanwhile, headline
from fingerprint.explain.circumstances import UNKNOWN
from fingerprint.explain.contract import Diff, Evidence, HeldUp, MetricChange, Neighbour, Range, Suspect
from fingerprint.explain.held_up import Held, beside, then_next, told_first, was_seen_at_work, worse_of
from fingerprint.explain.in_force import NOT_IN_FORCE
from fingerprint.explain.tenants import held_by_others
from fingerprint.runs.effective import Borders, Samples
from fingerprint.runs.record import Attached, Distribution
from fingerprint.snapshot import Key
from probes.driver import Driver
from probes.driver.module import Module
from probes.gpu import Gpu, Gpus
from probes.gpu.memory import Memory
from probes.gpu.processes import Process
from probes.kit.facts import Gap, Map
from probes.mapped.sections import Mapped
from tests.explain.subjects import on_host, reading, subject
from tests.explain.test_held_up import samples
from tests.explain.test_programs import ran
from tests.explain.test_weights import SLOWER
from tests.report.cases import metric, suspect

SLOT, OTHER, GB = "0000:17:00.0", "0000:2a:00.0", 10**9
PATH = f"gpu/{SLOT}/unowned_memory"
SAYS = f"others held 40 GB of GPU {SLOT}, 50 % of its memory, beside B; A: 0 %"
SERVED = (Attached(target="vllm-8000", pid=7, started=1, port=8000),)


def gpu(unowned: Any = 0, total: Any = 80 * GB, uuid: str = "", **processes: Any) -> Gpu:
    """processes: bytes, by `p` and the pid."""
    told = Map({pid[1:]: Process(used_memory=size) for pid, size in processes.items()})
    known: dict[str, Any] = {"uuid": uuid} if uuid else {}
    return Gpu(memory=Memory(total=total), unowned_memory=unowned, processes=told, **known)


def gpus(unowned: Any = 0, **told: Any) -> Gpus:
    return Gpus(gpus=Map({SLOT: gpu(unowned, **told)}))


def two(*unowned: float) -> Gpus:
    """GB, of each."""
    return Gpus(gpus=Map({slot: gpu(round(size * GB)) for slot, size in zip((SLOT, OTHER), unowned, strict=True)}))


def side(name: str, before: Gpus, after: Gpus | None = None, samples: Samples | None = None, **more: Any) -> Subject:
    """B is the slower."""
    number = SLOWER[name == "B"]
    return subject(name, before, None, *number, samples=samples or {}, after=after or before, area="gpu", **more)


def series(name: str, *starts: Gpus) -> Subject:
    *earlier, last = (side(name, start) for start in starts)
    return msgspec.structs.replace(last, earlier=tuple(start.state for start in earlier))


def told(b: Subject, a: Subject | None = None) -> Diff:
    return explain(a or side("A", gpus()), b)


def shares(a: Subject, b: Subject) -> list[tuple[str, float | None, float | None]]:
    """By the slot that is named."""
    return [(line.fact.split("/")[1], line.a, line.b) for line in told(b, a).held_up]


def test_what_others_held_stands_with_what_held_a_run_up_and_in_the_headline() -> None:
    diff = told(side("B", gpus(40 * GB)))
    assert diff.held_up == (HeldUp(fact=PATH, a=0.0, b=0.5, by=(), says=SAYS),)
    assert diff.headline.endswith(f"no state changed that could explain it; {SAYS}.")
    assert diff.next[0] == f"Find who holds memory of GPU {SLOT} (fuser -v /dev/nvidia*), and repeat B without them."
    assert diff.blind == ()


def on(side: Subject, version: str) -> Subject:
    """A suspect that nobody saw at work."""
    return on_host(side, driver=Driver(module=Module(version=version)))


def test_a_suspect_that_nobody_saw_at_work_does_not_hide_it() -> None:
    diff = told(on(side("B", gpus(40 * GB)), "580.82.07"), on(side("A", gpus()), "580.65.06"))
    assert "first suspect: driver/module/version" in diff.headline
    assert diff.headline.endswith(f"; {SAYS}.")
    assert "repeat B without them" in diff.next[0]


def test_what_was_held_beside_the_better_run_explains_nothing() -> None:
    """It is told below, and behind what can be done about the suspects."""
    diff = told(on(side("B", gpus()), "580.82.07"), on(side("A", gpus(40 * GB)), "580.65.06"))
    assert [(line.a, line.b) for line in diff.held_up] == [(0.5, 0.0)]
    assert "others held" not in diff.headline
    assert "repeat A without them" in diff.next[-1]
    assert len(diff.next) > 1
    alone = told(side("B", gpus()), side("A", gpus(40 * GB)))  # nothing else is known to have been unlike
    assert alone.headline.endswith("beside A; B: 0 %.")


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        (gpus(40 * GB), gpus(40 * GB), 0.5),  # what a worker that crashed left
        (gpus(40 * GB), gpus(48 * GB), 0.5),
        (gpus(p7=40 * GB), gpus(p7=48 * GB), 0.5),  # another tenant
        (gpus(p7=20 * GB, p8=20 * GB), gpus(p8=20 * GB, p7=20 * GB), 0.5),
        (gpus(20 * GB, p7=20 * GB), gpus(20 * GB, p7=20 * GB), 0.5),
        (gpus(4 * GB), gpus(4 * GB), 0.05),
        (gpus(p7=40 * GB), gpus(p8=40 * GB), None),  # who came and who went may never have met the run
        (gpus(40 * GB), gpus(), None),
        (gpus(), gpus(40 * GB), None),
        (gpus(2 * GB), gpus(2 * GB), None),
        (gpus(Gap("not_observable")), gpus(Gap("not_observable")), None),
        (gpus(40 * GB), gpus(Gap("not_observable")), None),
        (gpus(p7=Gap("unsupported")), gpus(p7=40 * GB), None),
        (gpus(40 * GB, total=0), gpus(40 * GB, total=0), None),
        (gpus(40 * GB, total=Gap("denied")), gpus(40 * GB, total=Gap("denied")), None),
    ],
)
def test_what_was_held_before_and_after_was_held_meanwhile(before: Gpus, after: Gpus, share: float | None) -> None:
    assert [line.b for line in told(side("B", before, after)).held_up] == [share] * (share is not None)


def test_what_was_held_beside_both_is_told_below_and_not_in_the_headline() -> None:
    held = gpus(40 * GB)
    diff = told(side("B", held), side("A", held))
    assert [(line.a, line.b) for line in diff.held_up] == [(0.5, 0.5)]
    assert "others held" not in diff.headline
    assert not any("without them" in step for step in diff.next)


def test_beside_a_run_of_which_nobody_can_say_it_is_not_known_whether_they_are_unlike() -> None:
    diff = told(side("B", gpus(40 * GB)), side("A", gpus(Gap("not_observable"))))
    assert [(line.a, line.b) for line in diff.held_up] == [(None, 0.5)]
    assert diff.held_up[0].says.endswith("beside B; A: not known")
    assert "others held" not in diff.headline


def test_of_snapshots_nothing_is_told() -> None:
    a, b = side("A", gpus()), side("B", gpus(40 * GB))
    for one in (a, b):
        x, y = (msgspec.structs.replace(each, attempts=() if each is one else each.attempts) for each in (a, b))
        assert held_by_others(x, y, UNKNOWN) == ()


def client(name: str, before: Gpus, line: str) -> Subject:
    task = ran("/opt/venv/bin/vllm", line)
    return subject(name, before, task, *SLOWER[name == "B"], samples={}, area="gpu")


@pytest.mark.parametrize("held", [{"unowned": 70 * GB}, {"p7": 70 * GB}])
@pytest.mark.parametrize(("line", "is_other"), [("bench serve", False), ("serve m", True)])
def test_beside_a_client_it_may_be_the_server_that_it_asked(held: Mapping[str, int], line: str, is_other: bool) -> None:
    diff = told(client("B", gpus(**held), line), client("A", gpus(), line))
    assert bool(diff.held_up) is is_other
    assert ("without them" in "".join(diff.next)) is is_other


@pytest.mark.parametrize("held", [{"unowned": 40 * GB}, {"p7": 40 * GB}])
@pytest.mark.parametrize("attached", ["A", "B", "an earlier A"])
def test_the_server_that_either_run_is_attached_to_is_no_other(held: Mapping[str, int], attached: str) -> None:
    a, b = (side(name, gpus(**held), attached=SERVED if name == attached else ()) for name in "AB")
    if attached == "an earlier A":
        served = side("A", gpus(), attached=SERVED)
        a = msgspec.structs.replace(a, attempts=(*served.attempts, *a.attempts))
    assert told(b, a).held_up == ()


@pytest.mark.parametrize(
    ("opened", "busy", "is_other"),
    [
        ((), 0.9, False),  # whoever they worked for may be who it asked
        ((), 0.0, False),  # no GPU had a part in it
        (("/dev/nvidia0",), 0.9, True),
        (("/dev/nvidia0",), 0.0, True),
    ],
)
def test_of_gpus_that_worked_for_nobody_who_was_read_it_is_not_known_whose_it_is(
    opened: Sequence[str], busy: float, is_other: bool
) -> None:
    worked = {f"gpu/{SLOT}/busy": Distribution(100, busy, (busy,) * 7)}

    def started(name: str, before: Gpus) -> Subject:
        mapped = reading("mapped", Mapped(devices=tuple(opened)))
        return subject(name, before, None, *SLOWER[name == "B"], mapped, samples=worked, area="gpu")

    assert bool(told(started("B", gpus(40 * GB)), started("A", gpus())).held_up) is is_other


@pytest.mark.parametrize(("used", "named"), [((90.0, 0.0), SLOT), ((90.0, 5.0), OTHER), ((0.0, 90.0), OTHER)])
def test_what_is_held_of_a_gpu_that_did_no_work_in_either_run_took_nothing_from_it(
    used: Sequence[float], named: str
) -> None:
    worked = {
        f"gpu/{slot}/utilization/gpu": Distribution(100, share, (share,) * 7)
        for slot, share in zip((SLOT, OTHER), used, strict=True)
    }
    found = shares(side("A", two(0, 0), samples=worked), side("B", two(20, 60), samples=worked))
    assert [slot for slot, _, _ in found] == [named]


@pytest.mark.parametrize(
    ("a", "b", "line"),
    [
        ((0, 38), (40, 0), (SLOT, 0.0, 0.5)),  # by its difference, and both of one GPU
        ((38, 0), (0, 40), (OTHER, 0.0, 0.5)),
        ((40, 0), (0, 38), (SLOT, 0.5, 0.0)),
        ((60, 0), (60, 8), (OTHER, 0.0, 0.1)),  # although less of it was held
        ((60, 8), (60, 8), (SLOT, 0.75, 0.75)),
        ((8, 60), (10, 60), (OTHER, 0.75, 0.75)),  # so little is no difference
        ((8, 60), (14, 60), (SLOT, 0.1, 0.175)),
    ],
)
def test_of_several_gpus_the_one_is_told_by_which_the_runs_differ_most(
    a: Sequence[float], b: Sequence[float], line: tuple[str, float, float]
) -> None:
    assert shares(side("A", two(*a)), side("B", two(*b))) == [line]


def test_a_gpu_that_stands_in_another_slot_is_compared_with_itself_and_called_as_its_run_does() -> None:
    a, b = (Gpus(gpus=Map({slot: gpu(held, uuid="GPU-1")})) for slot, held in ((SLOT, 0), (OTHER, 40 * GB)))
    assert shares(side("A", a), side("B", b)) == [(OTHER, 0.0, 0.5)]


@pytest.mark.parametrize(
    ("held", "share"), [((40, 20, 0), 0.25), ((20, 40, 60), 0.5), ((40, 0, 0), 0.0), ((0, 40), 0.5)]
)
def test_of_several_starts_the_middle_one_counts(held: Sequence[int], share: float) -> None:
    """Of an even number the one beside which more was held. B is the slower, and each of its starts is told."""
    found = shares(side("A", gpus()), series("B", *(gpus(size * GB) for size in held)))
    assert found == ([(SLOT, 0.0, share)] if share else [])
    found = shares(series("A", *(gpus(size * GB) for size in held)), side("B", gpus()))
    assert found == ([(SLOT, share, 0.0)] if share else [])


def test_of_a_start_of_which_nobody_can_say_nothing_is_told() -> None:
    starts = gpus(40 * GB), gpus(Gap("not_observable")), gpus(Gap("not_observable"))
    assert shares(side("A", gpus()), series("B", *starts)) == [(SLOT, 0.0, 0.5)]


@pytest.mark.parametrize("name", ["gpus", "processes", "memory", "a process", "a gpu"])
def test_of_what_another_release_stored_in_another_form_nothing_is_told(name: str) -> None:
    def stored(unknown: str) -> bytes:
        process = None if unknown == "a process" else {"used_memory": 40 * GB}
        parts: dict[str, Any] = {"processes": {"items": {"7": process}}, "memory": {"total": 80 * GB}}
        one = (
            None if unknown == "a gpu" else {"unowned_memory": 40 * GB, **parts, **dict.fromkeys({unknown} & {*parts})}
        )
        return msgspec.json.encode({"gpus": None if unknown == "gpus" else {"items": {SLOT: one}}})

    def beside(body: bytes) -> Subject:
        b, key = side("B", gpus()), Key("gpu")
        standing = b.state.sections[key]
        assert standing.blob is not None
        blob, raw = msgspec.structs.replace(standing.blob, body=body), msgspec.Raw(body)
        both = msgspec.structs.replace(standing, blob=blob, borders=Borders(raw, raw, 9.0))
        return msgspec.structs.replace(b, state=msgspec.structs.replace(b.state, sections={key: both}))

    assert [each.line.b for each in held_by_others(side("A", gpus()), beside(stored("")), UNKNOWN)] == [1.0]
    assert held_by_others(side("A", gpus()), beside(stored(name)), UNKNOWN) == ()


def test_what_a_run_waited_for_is_told_before_what_others_held() -> None:
    """Both are told below, and both can be done something about."""
    b = side("B", gpus(40 * GB), samples=samples(waited=0.41, programs={"stress-ng": 1.9}))
    diff = told(b, side("A", gpus(), samples=samples()))
    assert [line.fact for line in diff.held_up] == ["usage/main/run_delay", PATH]
    assert "stress-ng" in diff.headline
    assert "others held" not in diff.headline
    assert ["stress-ng" in step for step in diff.next[:2]] == [True, False]
    assert "repeat B without them" in diff.next[1]


WORSE, BETTER = (
    metric("decode_ms", "worse", 11.0, 15.0, unit="ms"),
    metric("decode_ms", "better", 15.0, 11.0, unit="ms"),
)
SHOWN = (Evidence(fact="x", a=1, b=2, says="it was seen"),)


def one(**more: Any) -> Suspect:
    return suspect(1, "made/mode", "a", "b", **more)


def trouble(a: float | None, b: float | None, *, unlike: bool = True, fact: str = "gpu/17/unowned_memory") -> Held:
    return Held(HeldUp(fact=fact, a=a, b=b, by=(), says=f"{a} and {b}"), unlike, f"mend {a} and {b}")


@pytest.mark.parametrize(
    ("suspects", "told"),
    [
        ((), "; seen; held"),
        ((one(),), "; worse"),
        ((one(likelihood="unlikely"),), "; worse"),
        ((one(likelihood="likely"),), ""),
        ((one(evidence=SHOWN),), ""),
        ((one(), suspect(2, "x", 1, 2, likelihood="likely", evidence=SHOWN)), "; worse"),
        ((one(reaches=False),), "; seen; worse"),
        ((one(explains=Range(low=0.0, high=0.0, unit="ms")),), "; seen; worse"),
    ],
)
def test_beside_a_suspect_the_headline_tells_what_the_worse_run_had_more_of_unless_it_was_seen_at_work(
    suspects: tuple[Suspect, ...], told: str
) -> None:
    meanwhile = Meanwhile("; seen", "; held", "; worse")
    line = headline("", [WORSE], suspects, (), "", meanwhile)
    found = "".join(f"; {word}" for word in ("seen", "held", "worse") if f"; {word}" in line)
    assert found == told
    assert line.endswith(f"{told}.")


@pytest.mark.parametrize(
    ("suspects", "is_seen"),
    [
        ((), False),
        ((one(),), False),
        ((one(likelihood="likely"),), True),
        ((one(evidence=SHOWN),), True),
        ((one(), one(likelihood="likely", evidence=SHOWN)), False),
    ],
)
def test_the_first_suspect_was_seen_at_work_where_it_is_likely_or_has_evidence(
    suspects: tuple[Suspect, ...], is_seen: bool
) -> None:
    assert was_seen_at_work(suspects) is is_seen


@pytest.mark.parametrize(
    ("metrics", "worse", "told"),
    [
        ((WORSE,), "b", "0.1 and 0.3"),
        ((BETTER,), "a", "0.5 and 0.2"),
        ((), "", "0.5 and 0.2"),
        ((metric("decode_ms", "unassessed", 11.0, 15.0, unit="ms"),), "", "0.5 and 0.2"),
        ((metric("size", "changed", 11.0, 15.0),), "", "0.5 and 0.2"),
        ((metric("wall_time", "same", 11.0, 11.0), WORSE), "b", "0.1 and 0.3"),
    ],
)
def test_what_the_worse_run_had_more_of_is_told_by_the_number_that_is_explained(
    metrics: tuple[MetricChange, ...], worse: str, told: str
) -> None:
    every = trouble(0.3, 0.31, unlike=False), trouble(0.5, 0.2), trouble(0.1, 0.3)
    assert worse_of(metrics) == worse
    assert told_first(beside(every, worse)) == f"; {told}"
    assert told_first(every) == "; 0.5 and 0.2"


def test_what_is_not_known_of_one_run_counts_as_nothing() -> None:
    assert [worse for worse in "ab" if beside([trouble(None, 0.3)], worse)] == ["b"]
    assert [worse for worse in "ab" if beside([trouble(0.3, None)], worse)] == ["a"]


@pytest.mark.parametrize(
    ("suspects", "worse", "steps"),
    [
        ((), "b", "AB-"),  # of a run that nothing else explains, both
        ((one(),), "b", "B-A"),
        ((one(),), "a", "A-B"),
        ((one(),), "", "AB-"),
        ((one(likelihood="likely"),), "b", "-AB"),
        ((one(evidence=SHOWN),), "b", "-AB"),
        ((one(parts={"grew": 0.3}),), "b", "-AB"),
        ((one(parts={"lost": 1.0}),), "b", "-AB"),
        ((one(parts={NOT_IN_FORCE: -0.3}),), "b", "-AB"),
        ((one(parts={"prior": 0.3}), one(parts={"grew": 0.3})), "b", "B-A"),
    ],
)
def test_what_others_held_beside_the_worse_run_is_mended_first_unless_the_first_suspect_was_seen(
    suspects: tuple[Suspect, ...], worse: str, steps: str
) -> None:
    every = trouble(0.5, 0.2), trouble(0.3, 0.31, unlike=False), trouble(0.1, 0.3)
    names = {"A": "mend 0.5 and 0.2", "B": "mend 0.1 and 0.3", "-": "set it back"}
    assert then_next(every, ["set it back"], suspects, worse) == tuple(names[step] for step in steps)


def test_a_wait_for_which_nobody_is_named_is_mended_after_what_can_be_set_back() -> None:
    quota = trouble(0.1, 0.3, fact="usage/main/cgroup/throttled_usec")
    assert then_next([quota], ["set it back"], [one()], "b") == ("set it back", quota.remedy)
    blamed = quota._replace(line=msgspec.structs.replace(quota.line, by=(Neighbour(program="make", a=None, b=1.0),)))
    assert then_next([blamed], ["set it back"], [one()], "b") == (quota.remedy, "set it back")
    alike = blamed._replace(unlike=False)  # of both runs: it is told who took CPUs, and last
    assert then_next([alike], ["set it back"], [one()], "b") == ("set it back", quota.remedy)
    assert then_next([quota, quota], [], [], "b") == (quota.remedy,)
