"""Several servers in one log, as what collects their lines writes it."""

from itertools import chain

import pytest

from fingerprint.metrics.found import NothingRead
from tests.explain.subjects import explained
from tests.metrics.logs import test_llama_cpp, test_tensorrt_llm, test_vllm
from tests.metrics.logs.test_story import side
from tests.metrics.logs.texts import composed, engine, metrics, read, samples, sglang_log, sglang_start

FAST = sglang_log([94.0, 95.0], [2.0, 2.0])
SLOW = sglang_log([60.0, 61.0], [2.0, 2.0], sglang_start("org/other"))


def by_turns(one: list[str], other: list[str]) -> list[str]:
    return list(chain.from_iterable(zip(one, other, strict=True)))


@pytest.mark.parametrize(
    ("before", "names"),
    [
        ("server-{}-1  | ", ("server-a-1", "server-b-1")),
        ("\x1b[36mserver-{}-1  | \x1b[0m", ("server-a-1", "server-b-1")),
        ("server_{}.1.k2j9@node7    | ", ("server_a.1.k2j9@node7", "server_b.1.k2j9@node7")),
        ("0|{}  | ", ("0/a", "0/b")),
        ("10:11:12 {}.1  | ", ("a.1", "b.1")),
        ("[pod/server-{}-7/engine] ", ("server-a-7/engine", "server-b-7/engine")),
        ("Mar 02 10:11:12 node7 server-{}[815]: ", ("node7/server-a", "node7/server-b")),
        ("2026-03-02T10:11:12+0000 node7 server-{}[815]: ", ("node7/server-a", "node7/server-b")),
    ],
)
def test_servers_in_one_log_have_metrics_of_their_own(before: str, names: tuple[str, str]) -> None:
    a, b = ([before.format(name) + line for line in lines] for name, lines in (("a", FAST), ("b", SLOW)))
    found = read(*by_turns(a, b))
    assert samples(found, f"{names[0]}/gen_throughput") == (94.0, 95.0)
    assert samples(found, f"{names[1]}/gen_throughput") == (60.0, 61.0)
    assert "gen_throughput" not in metrics(found)
    assert found.workload[f"sglang/{names[1]}/model"] == "org/other"
    assert found.remarks[0] == (
        f"server.log holds the lines of 2 servers, whose metrics have their names: {names[0]}, {names[1]}"
    )


def test_one_server_is_read_as_if_nothing_stood_before_its_lines() -> None:
    found, alone = read(*composed("server-1", FAST)), read(*FAST)
    assert found == alone


def test_a_server_that_served_nothing_takes_no_name_from_the_other() -> None:
    found = read(*composed("server-a-1", FAST), *composed("server-b-1", [sglang_start()]))
    assert samples(found, "gen_throughput") == (94.0, 95.0)
    assert found.remarks[0].startswith("server-a-1 in server.log: ")


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ([test_vllm.start(), engine(9.0), engine(9.0)], "generation_throughput"),
        ([*test_llama_cpp.START, *test_llama_cpp.timings(1, (10, 5), (100, 10))], "generation_throughput"),
        ([*test_tensorrt_llm.START, *[test_tensorrt_llm.step(12.0)] * 2], "decode_step_ms"),
    ],
)
def test_servers_of_each_engine_are_told_apart(lines: list[str], name: str) -> None:
    found = read(*by_turns(composed("a", lines), composed("b", lines)))
    assert samples(found, f"a/{name}") == samples(found, f"b/{name}") == samples(read(*lines), name)


def test_more_servers_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(NothingRead, match="more than 32 servers"):
        read(*(line for at in range(33) for line in composed(f"server-{at}", FAST)))


def pid(number: int, *lines: str) -> list[str]:
    return [line.replace("pid=7", f"pid={number}") for line in lines]


MIXED = "two servers wrote into it at once"


def test_servers_whose_processes_write_by_turns_are_refused() -> None:
    """Of one that started again the last start counts; of two that ran at once nobody knows whose a line is."""
    one = pid(7, test_vllm.start(), engine(9.0), engine(9.0))
    other = pid(8, test_vllm.start(), engine(5.0), engine(5.0))
    assert samples(read(*one, *other), "generation_throughput") == (5.0,)
    assert samples(read(*one, *other, *one), "generation_throughput") == (9.0,)
    with pytest.raises(NothingRead, match=MIXED):
        read(*one, *other, *pid(7, engine(9.0)))


def test_front_ends_of_one_server_may_write_by_turns() -> None:
    line = (
        "(ApiServer_{0} pid={0}) INFO 03-02 10:11:12 [loggers.py:273] Engine 000: " + engine(9.0).partition("000: ")[2]
    )
    found = read(test_vllm.start(), *(line.format(number) for number in (1, 2, 1, 2)))
    assert samples(found, "generation_throughput") == (9.0,) * 3


def test_servers_that_are_ready_one_after_the_other_are_refused() -> None:
    start, ready = FAST[0], FAST[2]
    assert samples(read(start, ready, *FAST), "gen_throughput") == (94.0, 95.0)
    with pytest.raises(NothingRead, match=MIXED):
        read(start, *FAST, ready, *FAST[3:])


def test_numbers_of_two_servers_are_never_reckoned_as_those_of_one() -> None:
    """One drafts and one does not: its steps are not what the other would do without drafts."""
    plain = sglang_log([82.0, 82.0], [None, None])
    several = [*composed("a", SLOW), *composed("b", plain)]
    assert explained(side("A", several), side("B", several)).arithmetic is None
    alone = explained(side("A", SLOW), side("B", SLOW)).arithmetic
    assert alone is not None
