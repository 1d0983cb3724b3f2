"""What ran, and on what: a variable that the program does not read is no cause of what it did, nor is what GPUs say to
each other where there is but one."""

from collections.abc import Sequence
from typing import NamedTuple

from fingerprint.explain.loaded import Loaded, loaded
from fingerprint.explain.machine import Machine, machine
from fingerprint.explain.mechanisms.graph import Resource, Rule
from fingerprint.explain.programs import Programs, programs
from fingerprint.explain.said import Spoken, spoken
from fingerprint.explain.subject import Subject
from fingerprint.snapshot import Key

OF_GPUS: frozenset[Resource] = frozenset(
    (
        "sm clock", "memory clock", "gpu compute", "gpu memory bandwidth", "gpu memory", "gpu initialisation",
        "launch latency", "nvlink",
    )
)  # fmt: skip
BESIDE_GPUS: frozenset[Resource] = frozenset(("availability", "collective", "pcie link", "kernel choice"))
"""What moves with them, and by itself is no sign of one."""


class Circumstances(NamedTuple):
    """compared: sections of processes that were read in both runs. loaded: what either run had in memory; None where
    nobody can say. said: what one run alone printed, of the messages that are known."""

    ran: Programs = Programs()
    on: Machine = Machine()
    compared: frozenset[Key] = frozenset()
    loaded: Loaded | None = None
    said: tuple[Spoken, ...] = ()

    @property
    def is_alone(self) -> bool:
        """Whether there are no two GPUs that could say anything to each other, or none was asked to, nor those of
        another host."""
        few = self.ran.single or (self.on.gpus is not None and self.on.gpus < 2)
        return few and not self.ran.others and not self.spans_hosts

    @property
    def spans_hosts(self) -> bool | None:
        """Whether it was told of other hosts, or divided into more ranks than this one has GPUs; None where nobody can
        say."""
        if self.ran.hosts > 1:
            return True
        gpus, ranks = self.on.gpus, self.ran.ranks
        if not gpus or ranks is None:
            return None
        return True if ranks > gpus else None if self.ran.others else False

    @property
    def by_layer(self) -> bool:
        """Whether the model is split over GPUs by layer: one hands the next what it has, and none waits for all."""
        return self.ran.engines == {"llama.cpp"}


UNKNOWN = Circumstances()


def circumstances(a: Subject, b: Subject) -> Circumstances:
    states = (a.state, b.state)
    return Circumstances(programs(states), machine(a, b), _read(a) & _read(b), loaded(states), spoken(a, b))


def _read(side: Subject) -> frozenset[Key]:
    found = side.state.sections.items()
    return frozenset(key for key, standing in found if key.target and standing.blob and standing.blob.seen)


def looked_through(rules: Sequence[Rule], target: str, around: Circumstances) -> str:
    """The areas in which what the value stands for was compared itself, by the rule that knows it best."""
    members = rules[0].members if rules else ()
    return " and ".join(members) if members and {Key(area, target) for area in members} <= around.compared else ""


def is_between(rules: Sequence[Rule], around: Circumstances) -> bool:
    """Whether it is about what GPUs say to each other, by the rule that knows it best, where none has another."""
    return bool(rules) and rules[0].between and around.is_alone


def needs_a_gpu(rules: Sequence[Rule]) -> bool:
    """Whether the mechanism that knows it best moves a GPU's resources, and nothing that work without one waits for."""
    moves = frozenset(rules[0].moves) if rules else frozenset()
    return bool(moves & OF_GPUS) and moves <= OF_GPUS | BESIDE_GPUS
