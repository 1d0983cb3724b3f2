"""Who stands beside whom: the ranks of one role of one server, and the launcher above them.

What differs between ranks because it must is no finding. That is known in four ways:

- The engine, torchrun, MPI or Slurm numbers the ranks by it: `BY_RANK`, from their documentation and source.
- It is no variable of the program but of the session or job (kit/redact.py, SESSION_NAMES), which `process/*/env` does
  not hold at all: MASTER_PORT, SLURM_JOB_ID.
- Three ranks or more, and no two have the same value: somebody gave each its own (a port, a cache folder, a NIC).
- Of what binding by GPU sets on purpose (CPUs, memory nodes, their policies) only a rank that is alone with its value
  among four or more is told; two halves are two sockets.
"""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar, get_args

from fingerprint.snapshot import Key
from probes.kit.engines import Role
from probes.kit.facts import Gap
from probes.kit.lazy import lazy_regex
from probes.kit.probe import MAIN
from probes.process.sections import Process

V = TypeVar("V", bound=Hashable)

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
BY_RANK = frozenset(
    # torchrun (torch/distributed/elastic/agent/server/local_elastic_agent.py), accelerate, TGI's launcher
    "RANK LOCAL_RANK GROUP_RANK ROLE_RANK NODE_RANK LOCAL_PROCESS_INDEX"
    # MPI and Slurm
    " OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_NODE_RANK OMPI_MCA_orte_ess_vpid PMIX_RANK"
    " PMI_RANK MPI_LOCALRANKID SLURM_PROCID SLURM_LOCALID SLURM_NODEID"
    # which device is a rank's own
    " CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES ASCEND_RT_VISIBLE_DEVICES ZE_AFFINITY_MASK"
    # vLLM (v1/engine/utils.py, v1/executor), SGLang (srt/managers/data_parallel_controller.py), LMDeploy
    " VLLM_DP_RANK VLLM_DP_RANK_LOCAL VLLM_PORT SGLANG_DP_RANK SGLANG_BLOCK_NONZERO_RANK_CHILDREN"
    " SGL_IS_FIRST_RANK_ON_NODE LMDEPLOY_DP_RANK".split()
)
FEWEST_TOLD_APART = 3
FEWEST_BOUND = 4
_RANK = lazy_regex(r"(?:attn-cp|moe-dp|dcp|pcp|dp|pp|tp|ep|rank)\d+")
_ROLES = frozenset(get_args(Role))
_NUMBER = lazy_regex(r"-?\d+$")


class Seat(NamedTuple):
    """A process among its like. label: its name within the server, `tp3`. role: that without numbers, `dp.tp`."""

    target: str
    server: str
    role: str
    label: str


class Group(NamedTuple):
    """The ranks of one role, or all that is below one launcher. launcher: its target; empty where it was not read."""

    seats: tuple[Seat, ...]
    launcher: str

    def of(self, values: Mapping[str, V]) -> Mapping[Seat, V]:
        """Of those that have a value."""
        return {seat: values[seat.target] for seat in self.seats if seat.target in values}


def groups(processes: Mapping[str, Process]) -> tuple[Group, ...]:
    """By role; one that is alone in its role included."""
    found: dict[tuple[str, str], dict[str, Seat]] = {}
    for target, process in processes.items():
        if told := seat_of(target, process):
            rank, seat = told
            found.setdefault((seat.server, seat.role), {}).setdefault(rank, seat)
    servers = {server for server, _ in found} - {MAIN}
    return tuple(
        Group(tuple(seats[rank] for rank in sorted(seats, key=_order)), _launcher(server, servers, processes))
        for (server, _), seats in found.items()
    )


def below_launchers(roles: Iterable[Group]) -> tuple[Group, ...]:
    """Of each launcher that was read all seats, whatever their role."""
    found: dict[str, list[Seat]] = {}
    for role in roles:
        found.setdefault(role.launcher, []).extend(role.seats)
    return tuple(Group(tuple(seats), launcher) for launcher, seats in found.items() if launcher)


def seat_of(target: str, process: Process) -> tuple[str, Seat] | None:
    """Its rank, and its seat; None of a launcher, and of a program of which nothing tells that it is one of several.

    A program that no engine told by name is a rank where its environment numbers it; what it starts itself has the same
    number and is passed over.
    """
    server, _, label = target.partition(".")
    first = label.partition(".")[0]
    if _RANK.fullmatch(first) or _NUMBER.sub("", first) in _ROLES:
        return label, Seat(target, server, _without_numbers(label), label)
    rank = next((value for name in RANKS if isinstance(value := variables(process).get(name), str)), None)
    return None if not label or rank is None else (rank, Seat(target, server, first, f"rank {rank}"))


def _without_numbers(label: str) -> str:
    return ".".join(filter(None, (_NUMBER.sub("", part) for part in label.split("."))))


def _order(rank: str) -> tuple[object, ...]:
    """`tp10` behind `tp9`."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", rank))


def _launcher(server: str, servers: Iterable[str], processes: Mapping[str, Process]) -> str:
    """The process that the server is named after; where a run started it itself that is called `main`."""
    if server in processes:
        return server
    return MAIN if MAIN in processes and set(servers) == {server} else ""


def variables(process: Process) -> Mapping[str, object]:
    """Of an environment that could not be read none."""
    return {} if isinstance(process.env, Gap) else process.env.items


def partition(values: Mapping[Seat, V]) -> Sequence[tuple[V, Sequence[str]]]:
    """Each value with the labels that have it, the rarest first; empty where all have the same."""
    found: dict[V, list[str]] = {}
    for seat, value in values.items():
        found.setdefault(value, []).append(seat.label)
    return sorted(found.items(), key=lambda item: len(item[1])) if len(found) > 1 else ()


def each_its_own(parts: Sequence[tuple[V, Sequence[str]]]) -> bool:
    return len(parts) >= FEWEST_TOLD_APART and all(len(labels) == 1 for _, labels in parts)


def one_alone(parts: Sequence[tuple[V, Sequence[str]]]) -> bool:
    """Whether one rank has another value than all others, which are three or more."""
    return len(parts) == 2 and len(parts[0][1]) == 1 and len(parts[1][1]) >= FEWEST_BOUND - 1


def paths(area: str, targets: Iterable[str], *names: str) -> tuple[str, ...]:
    return tuple(str(Key(area, target).path(names)) for target in targets)
