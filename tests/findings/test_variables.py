"""Variables that one rank has otherwise, or that were lost between the launcher and the ranks."""

import pytest

from probes.kit.facts import Gap, Map, Redacted
from probes.process.sections import Process
from tests.findings.servers import RANKS, SHARED, env, found, process, server, told


def test_a_server_whose_ranks_are_alike_shows_nothing() -> None:
    assert told(server()) == []


def test_a_variable_that_the_launcher_has_and_one_rank_lacks() -> None:
    [finding] = found(server(tp3=env(NCCL_PROTO=None)))
    assert finding.identity == ("variable-lost-on-the-way", "NCCL_PROTO")
    assert finding.says == "sglang-30000 has NCCL_PROTO=LL, and tp3 is without it."
    assert finding.values["sglang-30000.tp3"] == {"gap": "absent"}
    assert finding.values["sglang-30000"] == finding.values["sglang-30000.tp0"] == "LL"
    assert finding.facts[:2] == ("process/sglang-30000/env/NCCL_PROTO", "process/sglang-30000.tp0/env/NCCL_PROTO")


def test_a_variable_that_reached_no_rank() -> None:
    ranks = {rank: env(OMP_NUM_THREADS=None) for rank in RANKS}
    [finding] = found(server(ranks))
    assert finding.says == "sglang-30000 has OMP_NUM_THREADS=8, and all 8 processes below it are without it."


def test_a_variable_that_did_not_reach_the_only_rank() -> None:
    [finding] = found(server(ranks=("tp0",), tp0=env(OMP_NUM_THREADS=None)))
    assert finding.says == "sglang-30000 has OMP_NUM_THREADS=8, and tp0 is without it."


def test_what_was_lost_on_the_way_to_every_role_is_one_finding() -> None:
    ranks = {rank: env(OMP_NUM_THREADS=None) for rank in RANKS}
    sections = {**server(ranks), "process/sglang-30000.detokenizer": env(OMP_NUM_THREADS=None)}
    [finding] = found(sections)
    assert finding.says == "sglang-30000 has OMP_NUM_THREADS=8, and all 9 processes below it are without it."


def test_a_variable_that_is_another_on_one_rank() -> None:
    [finding] = found(server(tp5=env(OMP_NUM_THREADS="1")))
    assert finding.identity == ("variable-changed-on-the-way", "OMP_NUM_THREADS")
    assert finding.says == "sglang-30000 has OMP_NUM_THREADS=8; it is 1 on tp5."


def test_what_only_ranks_have_is_held_against_the_other_ranks() -> None:
    [finding] = found(server(tp5=env(NCCL_P2P_DISABLE="1")))
    assert finding.identity == ("variable-unlike-other-ranks", "NCCL_P2P_DISABLE")
    assert finding.says == "NCCL_P2P_DISABLE is 1 on tp5, not set on tp0, tp1, tp2 and 4 more."
    assert "sglang-30000" not in finding.values


def test_two_halves_of_a_server_are_told_too() -> None:
    halves = {f"tp{rank}": env(NCCL_ALGO="Ring") for rank in range(4)}
    [finding] = found(server(halves))
    assert finding.identity == ("variable-unlike-other-ranks", "NCCL_ALGO")


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES", "VLLM_DP_RANK", "PMIX_RANK"])
def test_what_numbers_the_ranks_differs_because_it_must(name: str) -> None:
    halves = {f"tp{rank}": env(**{name: "0" if rank < 4 else "1"}) for rank in range(8)}
    assert told(server(halves, launcher=env(**{name: "7"}))) == []


def test_what_no_two_ranks_have_alike_was_given_to_each() -> None:
    own = {f"tp{rank}": env(UCX_NET_DEVICES=f"mlx5_{rank}:1") for rank in range(8)}
    assert told(server(own)) == []
    assert told(server(own, launcher=env(UCX_NET_DEVICES="all"))) == []


def test_of_two_ranks_nobody_can_tell_what_was_meant_and_both_values_are_told() -> None:
    pair = server(ranks=("tp0", "tp1"), launcher=process({}), tp0=env(NCCL_ALGO="Ring"), tp1=env(NCCL_ALGO="Tree"))
    says = {finding.about: finding.says for finding in found(pair)}
    assert says["NCCL_ALGO"] == "NCCL_ALGO is Ring on tp0, Tree on tp1."


def test_private_values_are_compared_and_never_told() -> None:
    one, other = Redacted("k", "aa"), Redacted("k", "bb")
    ranks = {rank: process({"MY_MODE": other if rank == "tp2" else one}) for rank in RANKS}
    [finding] = found(server(ranks, launcher=process({})))
    assert finding.says == "MY_MODE is (private) on tp2, another (private) on tp0, tp1, tp3 and 4 more."
    assert finding.values["sglang-30000.tp2"] == {"redacted": True}
    assert "aa" not in finding.says + str(finding.values)


def test_an_environment_that_may_not_be_read_is_no_empty_one() -> None:
    assert told(server(tp3=Process(env=Gap("denied")))) == []


def test_a_variable_that_could_not_be_read_is_not_one_that_is_missing() -> None:
    unread = Process(env=Map({**SHARED, "NCCL_PROTO": Gap("failed")}))
    assert told(server(tp3=unread)) == []


def test_roles_are_held_apart() -> None:
    sections = server()
    sections["process/sglang-30000.detokenizer"] = process({"OMP_NUM_THREADS": "1"})
    sections["process/sglang-30000.python.2"] = process({"OMP_NUM_THREADS": "2", "RANK": ""})
    assert [about for rule, about in told(sections) if rule == "variable-unlike-other-ranks"] == []


def test_ranks_of_a_group_of_two_dimensions_are_one_role() -> None:
    ranks = ("dp0.tp0", "dp0.tp1", "dp1.tp0", "dp1.tp1")
    [finding] = found(server({"dp1.tp0": env(NCCL_ALGO="Tree")}, ranks=ranks))
    assert finding.says.startswith("NCCL_ALGO is Tree on dp1.tp0, not set on dp0.tp0, dp0.tp1, dp1.tp1")


def test_of_what_a_run_started_itself_the_launcher_is_called_main() -> None:
    [finding] = found(server(name="vllm-8000", top="main", tp1=env(NCCL_PROTO=None)))
    assert finding.says.startswith("main has NCCL_PROTO=LL")


def test_a_script_that_started_two_servers_is_the_launcher_of_neither() -> None:
    sections = server({rank: env(NCCL_PROTO=None) for rank in RANKS}, "vllm-8000", "main")
    assert told({**sections, **server(name="vllm-8001", top="main")}) == []


class TestRanksOfTorchrun:
    """No engine tells them: their environment numbers them."""

    @staticmethod
    def workers(**others: str) -> dict[str, Process]:
        numbered = {f"process/main.python.{rank + 1}": process({**SHARED, "RANK": str(rank)}) for rank in range(4)}
        numbered["process/main.python.3"] = process({**SHARED, "RANK": "2", **others})
        return {"process/main": process({}), **numbered}

    def test_alike(self) -> None:
        assert told(self.workers()) == []

    def test_one_is_unlike_the_others(self) -> None:
        [finding] = found(self.workers(NCCL_PROTO="Simple"))
        assert finding.says == "NCCL_PROTO is Simple on rank 2, LL on rank 0, rank 1, rank 3."

    def test_what_a_rank_starts_has_its_number_and_is_no_rank(self) -> None:
        compiler = {"process/main.python.9": process({"RANK": "2", "NCCL_PROTO": "none"})}
        assert told({**self.workers(), **compiler}) == []

    def test_programs_without_a_number_are_nobodys_ranks(self) -> None:
        loose = {f"process/main.make.{at}": Process(env=Map({"MAKELEVEL": str(at % 2)})) for at in range(4)}
        assert told({"process/main": process({}), **loose}) == []
