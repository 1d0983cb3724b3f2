"""What ran, of all that was read of it: which engines, on how many GPUs they were told to, and what is their own."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from fingerprint.explain.mechanisms.graph import Letters, Reader
from fingerprint.explain.program import Program, words
from fingerprint.explain.stored import Items, sections_of
from fingerprint.runs.effective import Effective
from probes.kit.paths import FactPath

_VLLM, _SGLANG, _LLAMA_CPP = (frozenset[Reader]((name,)) for name in ("vllm", "sglang", "llama.cpp"))
_OF_FLASHINFER = frozenset[Reader](("tensorrt-llm", "vllm", "sglang"))
"""Who calls the kernels that TensorRT-LLM and FlashInfer share."""
_STARTS: Mapping[str, frozenset[Reader]] = {
    "VLLM_": _VLLM,
    "SGLANG_": _SGLANG,
    "SGL_": _SGLANG,
    "TRTLLM_": _OF_FLASHINFER,
    "TLLM_": _OF_FLASHINFER,
    "GGML_": _LLAMA_CPP,
    "LLAMA_": _LLAMA_CPP,
    "OLLAMA_": _LLAMA_CPP,
}
_RUN_OTHERS = frozenset(("python", "python3", "torchrun"))
_LEAST_NAME = 4
Kind = TypeVar("Kind", bound=str)


class Programs(NamedTuple):
    """Of either run. engines: that were recognised. compiled: names of the programs, where none is run by an
    interpreter. called: words of the names of programs and of the modules that an interpreter was told to run.
    folders: words of those that hold them. ranks: the most that any was divided into by its flags; None where none
    tells. single: whether each is an engine that is known to be divided into none. astray: whether each ran from
    elsewhere than the git tree that is told of it. hosts: the most that any was told of. others: whether any may work
    with others that nobody told of. asks: whether each is a client of an engine. unseen: whether any starts others
    where nobody looked. letters, reads, named: by target, whose its flags of one letter are, which engine it is, or may
    hand on to, and what these are called; of what is none nobody knows what it reads."""

    engines: frozenset[Reader] = frozenset()
    compiled: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    ranks: int | None = None
    single: bool = False
    astray: bool = False
    hosts: int = 1
    others: bool = False
    asks: bool = False
    unseen: bool = False
    letters: Mapping[str, frozenset[Letters]] = {}
    reads: Mapping[str, frozenset[Reader]] = {}
    named: Mapping[str, frozenset[str]] = {}

    @property
    def scripted(self) -> bool:
        """Whether an interpreter runs something of one's own, and no engine that is known."""
        return bool(self.called) and not self.engines and not self.compiled


def programs(states: Iterable[Effective]) -> Programs:
    states = tuple(states)
    by_target = [(target, program) for state in states for target, program in _of(state)]
    every = [program for _, program in by_target]
    working = [program for state in states for program in _working(state)]
    installed = frozenset[str]().union(*map(_installed, states))
    unseen = any(program.hands_on for program in working)
    engines = frozenset(engine for program in every for engine in program.engines)
    named = frozenset(name for program in working for name in program.named)
    known = all(program.is_compiled for program in every) and not unseen
    return Programs(
        engines=engines,
        compiled=frozenset(program.name for program in working) if known else frozenset(),
        called=frozenset(word for program in every for word in program.called),
        folders=frozenset(word for program in every for word in program.folders),
        ranks=max((told for program in every if (told := program.ranks)), default=None),
        single=bool(working) and all(program.is_alone for program in working),
        astray=bool(every) and all(program.is_astray(installed) for program in every),
        hosts=max((program.hosts for program in every), default=1),
        others=any(program.is_told_of_others for program in working),
        asks=bool(working) and all(program.asks for program in working),
        unseen=unseen,
        letters=_joined((target, program.letters) for target, program in by_target),
        reads=_joined((target, engines if program.hands_on else program.engines) for target, program in by_target),
        named=_joined((target, named if program.hands_on else program.named) for target, program in by_target),
    )


def _of(state: Effective) -> Iterator[tuple[str, Program]]:
    """By target."""
    decoder = msgspec.json.Decoder(Program)
    for key, standing in state.sections.items():
        blob = standing.blob or standing.given
        if key.area == "process" and blob is not None:
            yield key.target, decoder.decode(blob.body)


def _working(state: Effective) -> list[Program]:
    """Those that do something: a shell beside what it started is none."""
    every = [program for _, program in _of(state)]
    return [program for program in every if not program.is_wrapper] or every


def _joined(told: Iterable[tuple[str, Iterable[Kind]]]) -> Mapping[str, frozenset[Kind]]:
    found: dict[str, frozenset[Kind]] = {}
    for target, kinds in told:
        found[target] = found.get(target, frozenset()) | frozenset(kinds)
    return found


class _Libraries(msgspec.Struct, frozen=True):
    packages: Items = Items()
    origins: Items = Items()


def _installed(state: Effective) -> Iterator[str]:
    """Packages of its environments that came from an index: not from a checkout, whose code runs where it lies."""
    for read in filter(None, sections_of(state, "libraries", _Libraries)):
        yield from read.packages.items.keys() - read.origins.items.keys()


def readers_of(variable: str) -> frozenset[Reader]:
    """The engines that read it, by its first letters; none of what any may read."""
    return next((engines for start, engines in _STARTS.items() if variable.startswith(start)), frozenset())


def own_by(path: FactPath, ran: Programs) -> bool:
    """Whether it is the program's own: a flag of its command line, or a variable that bears its name, or how that
    begins."""
    if path[0] != "process" or path[-2:-1] not in (("env",), ("flags",)):
        return path[0] == "process" and path[-1] == "operands"
    name = path[-1].partition("_")[0].lower()
    names = {*ran.engines, *ran.called} - _RUN_OTHERS
    readers = readers_of(path[-1])
    if path[-2] == "flags" or (readers and readers <= ran.engines) or name in names:
        return True
    return len(name) >= _LEAST_NAME and any(word.startswith(name) for word in names | ran.folders)


def is_own_code(path: FactPath, ran: Programs) -> bool:
    """Whether it is the program's file, or a library beside it that computes for it; of what is no engine, a package or
    library that bears its name, as caffe's libcaffe-nv. Packages of engines have rules of their own."""
    if path[0] == "process":
        return path[2:3] == ("program",)
    if "llama.cpp" in ran.engines and path[0] == "mapped":
        return path[2:3] == ("libraries",) and path[3:4] != () and path[3].startswith(("libggml", "libllama"))
    if (
        ran.engines
        or path[:1] not in (("mapped",), ("libraries",))
        or path[2:3] not in (("libraries",), ("packages",), ("origins",))
    ):
        return False
    first = next(iter(words(path[3].lower().removeprefix("lib"))), "") if len(path) > 3 else ""
    return len(first) >= _LEAST_NAME and first in ran.called
