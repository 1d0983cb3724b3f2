"""What one rank was granted otherwise than the others."""

import pytest

from probes.kit.facts import Gap, Map
from probes.mapped.sections import Mapped, Memory
from probes.process.sections import Cgroup, Process
from tests.findings.servers import RANKS, SHARED, found, process, server, told


def bound(*lists: str) -> dict[str, Process]:
    return {rank: process(affinity=lists[at % len(lists)]) for at, rank in enumerate(RANKS)}


def test_one_rank_that_may_run_on_two_cpus_alone() -> None:
    [finding] = found(server(tp5=process(affinity="0-1")))
    assert finding.identity == ("granted-unlike-other-ranks", "affinity")
    assert finding.says == "affinity is 0-1 on tp5, 0-63 on tp0, tp1, tp2 and 4 more."
    assert finding.facts[5] == "process/sglang-30000.tp5/affinity"


def test_ranks_bound_to_the_sockets_of_their_gpus_are_as_they_should_be() -> None:
    assert told(server(bound("0-31", "32-63"))) == []


def test_ranks_bound_to_cpus_of_their_own_have_as_many_each() -> None:
    own = bound(*(f"{8 * at}-{8 * at + 7}" for at in range(8)))
    assert told(server(own)) == []
    [finding] = found(server(own, tp5=process(affinity="40-41")))
    assert finding.says == "tp5 may run on 2 CPUs and each other rank on 8."


@pytest.mark.parametrize(
    ("other", "about"),
    [
        (process(nice=10), "nice"),
        (process(policy="fifo"), "policy"),
        (process(cgroup=Cgroup(cpu_max="200000 100000")), "cgroup/cpu_max"),
        (process(limits=Map({"nofile": (1024, 4096), "memlock": ("unlimited", "unlimited")})), "limits/nofile"),
    ],
)
def test_what_no_launcher_gives_one_rank_alone(other: Process, about: str) -> None:
    others = {rank: process(policy="other") for rank in RANKS} if about == "policy" else {}
    assert told(server(others, tp4=other)) == [("granted-unlike-other-ranks", about)]


def test_what_was_not_read_of_one_rank_is_not_otherwise() -> None:
    assert told(server(tp2=Process(env=Map({**SHARED}), affinity=Gap("denied")))) == []


def with_memory(*memories: Memory) -> list[tuple[str, str]]:
    mapped = {
        f"mapped/sglang-30000.{rank}": Mapped(memory=memories[at % len(memories)]) for at, rank in enumerate(RANKS)
    }
    return told({**server(), **mapped})


def test_the_pages_of_one_rank_lie_elsewhere() -> None:
    near, far = Memory(policies=("bind:0",), node=0), Memory(policies=(), node="several")
    assert with_memory(near) == []
    assert with_memory(near, Memory(policies=("bind:1",), node=1)) == []
    assert with_memory(*[near] * 7, far) == [
        ("memory-unlike-other-ranks", "memory/policies"),
        ("memory-unlike-other-ranks", "memory/node"),
    ]


def test_what_is_preloaded_into_some_ranks_only() -> None:
    mapped = {
        f"mapped/sglang-30000.{rank}": Mapped(preloaded=("libjemalloc.so.2",) if at < 4 else ())
        for at, rank in enumerate(RANKS)
    }
    assert told({**server(), **mapped}) == [("library-unlike-other-ranks", "preloaded")]
