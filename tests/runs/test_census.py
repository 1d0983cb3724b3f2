"""Which readings count, by what a reader finds at each moment, and whose environment is read."""

from collections.abc import Hashable, Iterator, Sequence

import pytest

from fingerprint.runs.census import MOST, MOST_ENVIRONMENTS, Areas, Census, Moments, Roots, Telling, Writing
from fingerprint.runs.readers import Finished
from fingerprint.runs.timetable import Timetable
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Job, Key, Reading, reading_of
from probes.kit.probe import Target
from tests.diff.made_up import Task

MAIN, CHILD = Target("main", 1), Target("main.sh.1", 2)
MOMENTS = (0.0, 0.05, 0.2, 1.0, 5.0)
ROOTS = Roots((MAIN,), 0.0, lambda: True)


class Found:
    """A reader that finds one process with one `nice` after the other."""

    busy = False

    def __init__(self, target: Target, nices: Sequence[int]) -> None:
        self._target = target
        self.hung: dict[Key, str] = {}
        self._nices: Iterator[int] = iter(nices)

    def fileno(self) -> int:
        raise AssertionError("it is never busy")

    def timeout(self) -> float | None:
        return None

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        return [(job.key, reading_of(Task(nice=next(self._nices)))) for job in jobs if job.target == self._target]

    def step(self) -> list[Finished]:
        return []

    def tree(self, root: Target, budget: float) -> tuple[Target, ...]:
        return (MAIN, CHILD)


def timetables(looks: Sequence[float] = ()) -> Moments:
    return Moments(Timetable(iter((*MOMENTS, 30.0)), 0.0), Timetable(iter((*looks, 60.0)), 0.0))


def nice_of(reading: Reading) -> int:
    assert reading.lasting
    return int(decoder_of(Task)(reading.lasting.body).nice)


WRAPPER = 19  # the nice value of a made-up program that becomes another


def kept(target: Target, *nices: int) -> list[int]:
    """What was written of a process that was found at as many moments, and of no more."""
    written: list[int] = []

    def write(_: Key, reading: Reading) -> None:
        written.append(nice_of(reading))

    census = Census(
        ROOTS, Areas(["process"]), Found(target, nices), timetables(), Writing(write),
        Telling(lambda _, reading: nice_of(reading) == WRAPPER),
    )  # fmt: skip
    for moment in MOMENTS[: len(nices) + (target != MAIN)]:  # at the first only the command is looked for
        census.step(moment)
    return written


@pytest.mark.parametrize(
    ("nices", "counts"),
    [
        ((1,), []),  # `env X=1 true`: nobody knows whether it was env or true
        ((1, 1), [1]),
        ((1, 2), []),
        ((1, 2, 2), [2]),  # a start script that became the program
        ((1, 1, 2), [1, 2]),
        ((1, 2, 3), []),
        ((1, 2, 3, 3), [3]),
        ((1, 2, 3, 4), [4]),  # after a second it is what it is
        ((1, 1, 1, 1, 5), [1, 5]),
        ((WRAPPER, WRAPPER), []),  # starved of CPU time, it has not become the program yet
        ((WRAPPER, WRAPPER, 2, 2), [2]),
        ((WRAPPER, WRAPPER, WRAPPER, WRAPPER), [WRAPPER]),  # after a second it is what stays: timeout, sudo
    ],
)
def test_an_early_reading_counts_when_the_next_finds_the_same(nices: tuple[int, ...], counts: list[int]) -> None:
    assert kept(MAIN, *nices) == counts


@pytest.mark.parametrize(
    ("nices", "counts"),
    [
        ((1, 2), []),
        ((1, 1), [1]),
        ((1, 2, 3), [2]),  # at one second it is still there
        ((1, 1, 3), [1]),
        ((1, 2, 3, 4), [2, 3]),
    ],
)
def test_an_early_reading_of_a_descendant_counts_when_the_next_finds_the_same(
    nices: tuple[int, ...], counts: list[int]
) -> None:
    assert kept(CHILD, *nices) == counts


class Busy(Found):
    """Finds one nice value of each process, and has not answered on environments when the command ends."""

    def __init__(self, environments: int) -> None:
        super().__init__(MAIN, ())
        self.asked: list[Job] = []
        self._left = environments

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        asked = [job for job in jobs if job.area == "libraries"]
        self.asked += asked
        if len(self.asked) > self._left:
            self.busy = True
            return []
        return [(job.key, reading_of(Task(nice=job.target.pid))) for job in jobs]

    def step(self) -> list[Finished]:
        self.busy = False
        return [(job.key, reading_of(Task(nice=7))) for job in self.asked[-1:]]

    def fileno(self) -> int:
        return 2  # any that is open


def environments_of(reader: Busy, environment: Hashable | None, moments: Sequence[float]) -> list[Key]:
    """Of which processes' environments something was written, both processes being in `environment`."""
    written: list[Key] = []
    areas = Areas(["process"], ["libraries"])
    telling = Telling(environment=lambda key, _: environment)
    census = Census(ROOTS, areas, reader, timetables(), Writing(lambda key, _: written.append(key)), telling)
    for moment in moments:
        census.step(moment)
    reader.timeout = lambda: 0.0  # type: ignore[method-assign]
    census.finish()
    return [key for key in written if key.area == "libraries"]


def test_the_environment_of_a_process_is_read_once_a_reading_of_it_counts() -> None:
    assert environments_of(Busy(9), "venv", MOMENTS[:1]) == []
    assert environments_of(Busy(9), "venv", MOMENTS[:2]) == [Key("libraries", "main")]


def test_an_environment_that_several_processes_share_is_read_once() -> None:
    reader = Busy(9)
    assert environments_of(reader, "venv", MOMENTS) == [Key("libraries", "main")]
    assert [job.target for job in reader.asked] == [MAIN]


def test_what_is_in_none_has_none_read() -> None:
    reader = Busy(9)
    assert environments_of(reader, None, MOMENTS) == []
    assert reader.asked == []


def test_an_environment_counts_although_its_process_has_ended_meanwhile() -> None:
    assert environments_of(Busy(0), "venv", MOMENTS[:2]) == [Key("libraries", "main")]


class Environments(Busy):
    """Finds in the environment of each process what the test says is there now."""

    there = 1

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        self.asked += (asked := [job for job in jobs if job.area == "libraries"])
        found = self.there if asked else 0
        return [(job.key, reading_of(Task(nice=found))) for job in jobs]


@pytest.mark.parametrize(
    ("there", "written"),
    [
        ((1, 2), [1, 2]),
        ((1, 1), [1]),
        ((1, -1), [1]),  # its process ended before it was read
        ((-1, 2), [-1, 2]),
    ],
)
def test_an_environment_is_read_again_when_everything_is(there: tuple[int, int], written: list[int]) -> None:
    found: list[int] = []
    reader, areas = Environments(9), Areas(["process"], ["libraries"])
    telling = Telling(
        environment=lambda _key, _reading: "venv",
        gone=lambda key, reading: key.area == "libraries" and nice_of(reading) < 0,
    )
    writing = Writing(lambda key, reading: found.append(nice_of(reading)) if key.area == "libraries" else None)
    census = Census(ROOTS, areas, reader, timetables(), writing, telling)
    reader.there = there[0]
    for moment in MOMENTS[:2]:
        census.step(moment)
    reader.there = there[1]
    census.be_due()
    census.step(0.1)
    assert len(reader.asked) == 2
    assert found == written


def test_of_a_process_that_has_ended_the_environment_is_not_read_again() -> None:
    child, roots = Target("main.python.1", 2), Roots((MAIN,), 0.0, lambda: True, started=True)
    reader, living = Environments(9), [MAIN, child]
    reader.tree = lambda _root, _budget: tuple(living)  # type: ignore[assignment,method-assign]
    telling = Telling(environment=lambda key, _: key.target)
    areas = Areas(["process"], ["libraries"])
    census = Census(roots, areas, reader, timetables(), Writing(lambda _key, _reading: None), telling)
    for moment in MOMENTS[:2]:
        census.step(moment)
    living.remove(child)
    census.step(MOMENTS[2])
    census.be_due()
    census.step(0.3)
    assert [job.target for job in reader.asked] == [MAIN, child, MAIN]


class Engine:
    """A reader whose tree is what the test says, and that finds of each process its pid."""

    busy = False

    def __init__(self, *members: Target) -> None:
        self.members = members
        self.hung: dict[Key, str] = {}
        self.asked: list[list[Target]] = []

    def fileno(self) -> int:
        raise AssertionError("it is never busy")

    def timeout(self) -> float | None:
        return None

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        self.asked.append([job.target for job in jobs])
        return [(job.key, reading_of(Task(nice=job.target.pid))) for job in jobs]

    def step(self) -> list[Finished]:
        return []

    def tree(self, root: Target, budget: float) -> tuple[Target, ...]:
        return (root, *(member for member in self.members if member.name.startswith(root.name) or root == MAIN))


class Written:
    """What a census wrote: sections by key, and names."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.renamed: list[tuple[str, str]] = []

    @property
    def writing(self) -> Writing:
        return Writing(lambda key, _: self.keys.append(key), lambda was, name: self.renamed.append((was, name)))


UNTITLED, RANK = Target("main.python.1", 2), Target("sglang-30000.tp0", 2)
LOOKS = (5.0, 10.0, 15.0)
STARTED = Roots((MAIN,), 0.0, lambda: True, started=True)


def census_of(reader: Engine, written: Written, roots: Roots = STARTED) -> Census:
    return Census(roots, Areas(["process"]), reader, timetables(LOOKS), written.writing)


def test_of_a_server_that_runs_already_the_whole_tree_is_read_at_first_sight() -> None:
    reader, written = Engine(RANK), Written()
    census_of(reader, written).step(0.0)
    assert reader.asked == [[MAIN, RANK]]
    assert written.keys == [Key("process", "main")]


def test_of_thousands_of_processes_the_first_are_read_and_that_there_are_more_is_told_once() -> None:
    told: list[str] = []
    reader = Engine(*(Target(f"main.cc1.{number}", number) for number in range(2, 5000)))
    writing = Writing(lambda _key, _reading: None, left_out=told.append)
    census = Census(STARTED, Areas(["process"]), reader, timetables(LOOKS), writing)
    for moment in MOMENTS:
        census.step(moment)
    assert {len(asked) for asked in reader.asked} == {MOST}
    assert reader.asked[0][0] == MAIN
    assert len(told) == 1
    assert told[0].startswith(f"more than {MOST} processes ran at once")


def test_that_more_environments_were_at_work_than_are_read_is_told_once() -> None:
    told: list[str] = []
    telling = Telling(environment=lambda key, _reading: key.target)
    reader = Engine(*(Target(f"sglang-30000.tp{rank}", 2 + rank) for rank in range(20)))
    areas = Areas(["process"], ["libraries"])
    census = Census(STARTED, areas, reader, timetables(LOOKS), Writing(lambda *_: None, left_out=told.append), telling)
    for moment in (*MOMENTS, 5.0, 10.0):
        census.step(moment)
    assert len(told) == 1
    assert f"more than {MOST_ENVIRONMENTS} Python environments" in told[0]


def test_a_look_reads_newcomers_alone_and_the_next_one_lets_them_count() -> None:
    reader, written = Engine(), Written()
    census = census_of(reader, written)
    for moment in MOMENTS:
        census.step(moment)
    reader.members = (RANK,)
    reader.asked.clear()
    census.step(10.0)
    assert reader.asked == [[RANK]]
    assert Key("process", RANK.name) not in written.keys
    census.step(15.0)
    assert Key("process", RANK.name) in written.keys
    assert reader.asked == [[RANK]]


def test_a_process_that_gets_its_title_has_been_it_all_the_time() -> None:
    reader, written = Engine(UNTITLED), Written()
    census = census_of(reader, written)
    for moment in (*MOMENTS, 10.0):
        reader.members = (UNTITLED,) if moment < 10 else (RANK,)
        census.step(moment)
    assert written.renamed == [(UNTITLED.name, RANK.name)]
    assert written.keys.count(Key("process", RANK.name)) == 0, "it is what is known of it"


def test_what_is_due_is_read_at_the_next_step() -> None:
    reader, written = Engine(RANK), Written()
    census = census_of(reader, written)
    census.step(0.0)
    census.be_due()
    assert census.timeout(0.01) == 0
    census.step(0.01)
    assert reader.asked == [[MAIN, RANK]] * 2
    census.step(0.02)
    assert len(reader.asked) == 2


def test_the_ports_of_servers_are_told_by_their_names() -> None:
    census = census_of(Engine(RANK, Target("main.python.1", 3), Target("vllm-8000", 4)), Written())
    census.step(0.0)
    assert census.ports == {30000, 8000}


def test_each_of_several_servers_has_a_tree_of_its_own() -> None:
    one, other = Target("sglang-30000", 1), Target("vllm-8000", 9)
    reader, written = Engine(RANK, Target("vllm-8000.tp0", 10)), Written()
    census_of(reader, written, Roots((one, other), 0.0, lambda: True, started=True)).step(0.0)
    assert {target.name for target in reader.asked[0]} == {
        "sglang-30000", "vllm-8000", "sglang-30000.tp0", "vllm-8000.tp0"
    }  # fmt: skip
