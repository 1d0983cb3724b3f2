"""Processes of serving engines: which is compared with which, and what follows from what."""

from collections.abc import Mapping

import pytest

from fingerprint.diff import Changes, compare
from fingerprint.diff.changes import Paired
from fingerprint.diff.scripted import below_a_script
from fingerprint.runs.effective import Standing
from fingerprint.snapshot import Key
from probes.kit.facts import Gap, Map, Section
from probes.nccl.sections import Nccl
from probes.process import Process
from probes.process.sections import Program
from tests.diff.made_up import Task, known, state_of


def compared(a: Mapping[str, Section], b: Mapping[str, Section]) -> Changes:
    return compare(state_of(a), state_of(b), known=known)


def pairs(changes: Changes) -> list[tuple[str, str]]:
    return [(pair.a, pair.b) for pair in changes.pairing if pair.how == "same engine, another port"]


def told(changes: Changes) -> dict[str, str | None]:
    """By path what it follows."""
    return {change.text: change.follows for change in changes.changes}


def tasks(*targets: str, nice: int = 0) -> dict[str, Section]:
    return {f"process/{target}": Task(nice=nice) for target in targets}


def test_a_server_on_another_port_is_the_same_part_by_part() -> None:
    a = {**tasks("sglang-30000.tp0", nice=1), **tasks("sglang-30000.tp1", nice=2)}
    b = {**tasks("sglang-30001.tp1", nice=2), **tasks("sglang-30001.tp0", nice=3)}
    changes = compared(a, b)
    assert pairs(changes) == [("sglang-30000", "sglang-30001")]
    assert told(changes) == {"process/sglang-30001.tp0/nice": None}


def test_a_server_that_kept_its_port_is_itself_and_the_others_are_paired_in_the_order_of_their_ports() -> None:
    a = tasks("vllm-8000", "vllm-8001", "vllm-10000")
    b = tasks("vllm-10001", "vllm-8001", "vllm-9000")
    assert pairs(compared(a, b)) == [("vllm-8000", "vllm-9000"), ("vllm-10000", "vllm-10001")]


def test_another_engine_and_one_server_more_are_paired_with_nothing() -> None:
    changes = compared(tasks("vllm-8000"), tasks("sglang-8000", "vllm-8000", "vllm-8001"))
    assert pairs(changes) == []
    assert {(change.text, change.first.verdict) for change in changes.changes} == {
        ("process/sglang-8000", "appeared"),
        ("process/vllm-8001", "appeared"),
    }
    assert all(change.first.context for change in changes.changes)


@pytest.mark.parametrize("port", ["30000", "30001"])
def test_a_launcher_below_a_start_script_is_compared_with_one_that_is_none_below(port: str) -> None:
    """Whichever of the two runs had the script, and on whichever port each listened."""
    script = {**tasks("main", nice=9), **tasks("sglang-30000", nice=1), **tasks("sglang-30000.tp0", "main.sleep.1")}
    itself = {**tasks("main", nice=2), **tasks(f"sglang-{port}.tp0")}
    changes = compared(script, itself)
    assert told(changes)["process/main/nice"] is None
    assert {(it.text, it.first.verdict) for it in changes.changes if it.first.context} == {
        ("process/main.start-script", "vanished"),
        ("process/main.sleep.1", "vanished"),
    }
    assert changes.pairing[-1] == Paired("sglang-30000", "main", "same engine, below a start script")

    mirrored = compared(itself, script)
    assert told(mirrored)["process/sglang-30000/nice"] is None
    assert ("process/main.start-script", "appeared") in {(it.text, it.first.verdict) for it in mirrored.changes}


@pytest.mark.parametrize(("program", "pair"), [("/new/llama-server", ("llama-cpp-8080", "main")), ("/bin/sleep", None)])
def test_a_server_of_one_process_is_told_by_its_program(program: str, pair: tuple[str, str] | None) -> None:
    def running(**programs: str) -> Mapping[Key, Standing]:
        of = {target: Process(program=Program(path=path)) for target, path in programs.items()}
        return state_of({f"process/{target.replace('_', '-')}": section for target, section in of.items()}).sections

    script, itself = running(main="/bin/sh", llama_cpp_8080="/old/llama-server"), running(main=program)
    there, back = below_a_script(script, itself), below_a_script(itself, script)
    assert (there and (there.a, there.b), back and (back.b, back.a)) == (pair, pair)


def test_of_two_servers_below_a_script_none_is_the_launcher() -> None:
    script = tasks("main", "sglang-30000", "vllm-8000")
    changes = compared(script, tasks("main", "sglang-30000.tp0", "vllm-8000.tp0"))
    assert all("script" not in pair.how for pair in changes.pairing)


def test_a_rank_is_compared_with_no_other_rank() -> None:
    changes = compared(tasks("vllm-8000.tp0", "vllm-8000.tp1"), tasks("vllm-8000.tp0", "vllm-8000.tp2"))
    assert {(change.text, change.first.verdict) for change in changes.changes} == {
        ("process/vllm-8000.tp1", "vanished"),
        ("process/vllm-8000.tp2", "appeared"),
    }


def test_a_part_follows_its_server_and_what_was_started_and_no_other_server() -> None:
    def server(first: str, second: str, n: str) -> dict[str, Section]:
        return {
            f"process/{first}": Task(env=Map({"TP": n})),
            f"process/{second}": Task(operands=("--tp", n)),
        }

    for first, second, follows in (
        ("vllm-8000", "vllm-8000.tp0", "process/vllm-8000/env/TP"),
        ("main", "vllm-8000.tp0", "process/main/env/TP"),
        ("main", "vllm-8000", "process/main/env/TP"),
        ("main.sh.1", "vllm-8000", "process/main.sh.1/env/TP"),
        ("vllm-8001", "vllm-8000", None),
        ("vllm-8001", "vllm-8000.tp0", None),
        ("vllm-8000.tp0", "vllm-8000", None),
        ("vllm-8000.tp0", "vllm-8000.tp1", None),
        ("vllm-8000.dp0.tp0", "vllm-8000.api-server-1", None),
        ("sglang-30000.detokenizer", "sglang-30000.tp1", None),
        ("vllm-8000.engine-core.dp0", "vllm-8000.dp0.tp1", "process/vllm-8000.engine-core.dp0/env/TP"),
        ("vllm-8000.tp0", "main.ninja.1", "process/vllm-8000.tp0/env/TP"),
    ):
        changes = compared(server(first, second, "1"), server(first, second, "2"))
        assert told(changes)[f"process/{second}/operands"] == follows, (first, second)


def test_what_a_server_and_all_its_parts_have_is_one_change() -> None:
    targets = ("main", "vllm-8000.tp0", "vllm-8000.tp1")
    [change] = compared(tasks(*targets, nice=1), tasks(*targets, nice=2)).changes
    assert (change.text, change.on) == ("process/*/nice", "3/3")


def test_where_a_server_listens_decides_nothing_of_its_parts() -> None:
    def of(port: str, proto: str) -> dict[str, Section]:
        return {
            "process/main": Process(flags=Map({"--port": (port,)})),
            "process/sglang-30000.tp5": Process(env=Map({"NCCL_PROTO": proto})),
        }

    changes = compare(state_of(of("30000", "Simple")), state_of(of("30001", "LL")))
    assert told(changes)["process/sglang-30000.tp5/env/NCCL_PROTO"] is None


def test_what_another_area_says_of_a_part_follows_the_part() -> None:
    def of(proto: str) -> dict[str, Section]:
        return {
            "process/sglang-30000.tp5": Process(env=Map({"NCCL_PROTO": proto})),
            "nccl/sglang-30000.tp5": Nccl(variables=Map({"NCCL_PROTO": proto})),
        }

    changes = told(compare(state_of(of("Simple")), state_of(of("LL"))))
    assert set(changes.values()) == {None, "process/sglang-30000.tp5/env/NCCL_PROTO"}


def test_a_flag_that_only_a_file_which_was_not_read_may_give_is_not_known_to_be_gone() -> None:
    in_file = Process(flags=Map({"--port": ("1",), "--size": ("4",)}), configured=("--size",))
    unread = Process(flags=Map({"--port": ("1",)}), configured=Gap("not_observable", "it was changed since"))
    of_line = Process(flags=Map({"--port": ("1",)}), configured=())
    pairs = ((in_file, unread), (unread, in_file), (in_file, of_line))
    found = (compare(state_of({"process/main": a}), state_of({"process/main": b})).changes for a, b in pairs)
    told = [next(one.first for one in changes if one.text == "process/main/flags/--size") for changes in found]
    assert [(change.verdict, change.leads) for change in told] == [
        ("went dark", False), ("came to light", False), ("vanished", True),
    ]  # fmt: skip
    assert told[0].says == "it was changed since"
