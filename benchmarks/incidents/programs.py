"""What ran, as the process probe tells it of a command: the kind of program that a row's source names."""

import json
from collections.abc import Sequence

import msgspec

from benchmarks.incidents.putting import Plain
from fingerprint.testing import Replay
from probes.kit.interpreters import module_of, named, script_at
from probes.process.program import Started, described

PYTHON = "/usr/bin/python3.11"
OF_A_PROGRAM = (
    "process/main/env/", "process/main/flags/", "process/main/operands", "libraries/", "mapped/", "nccl/", "model/",
    "container/",
)  # fmt: skip
"""What is set for one program, or is its own, and drifts on no other one."""
OF_AN_INTERPRETER = ("process/main/interpreter/",)
_NO_MACHINE = Replay({})


def started(argv: Sequence[str]) -> Plain:
    """The facts of a process's section that its command tells. Of Python, which one it is stands as it was read."""
    python = is_interpreted(argv)
    executable = PYTHON if python else argv[0]
    line = Started(executable, file="", argv=tuple(argv), cwd="/srv", called=argv[0], files=_NO_MACHINE)
    told = described(_NO_MACHINE, line)
    facts: Plain = json.loads(msgspec.json.encode(told._asdict()))
    return {name: facts[name] for name in facts if name != "interpreter" or not python}


def is_interpreted(argv: Sequence[str]) -> bool:
    return named(argv[0]) is not None


def name_of(argv: Sequence[str]) -> str:
    """vllm, all_reduce_perf, llama-server: of the script or the package, where an interpreter runs one."""
    known = named(argv[0])
    if known is None:
        return argv[0].rpartition("/")[2]
    module, at = module_of(argv), script_at(known.family, argv)
    return module.partition(".")[0] if module else "" if at is None else argv[at].rpartition("/")[2]
