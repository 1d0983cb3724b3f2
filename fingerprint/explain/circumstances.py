"""What ran, and on how many GPUs: a variable that the program does not read is no cause of what it did, nor is what
GPUs say to each other where there is but one."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fingerprint.explain.mechanisms.graph import Reader, Resource, Rule
from fingerprint.explain.said import Spoken, spoken
from fingerprint.explain.subject import Subject
from fingerprint.runs.effective import Effective
from fingerprint.runs.record import Distribution
from fingerprint.snapshot import Key
from probes.kit.paths import FactPath, parse_path

GPUS, KERNEL, CPU = Key("gpu"), Key("kernel"), Key("cpu")
_NAMED: Mapping[Reader, str] = {
    "vllm": r"vllm",
    "sglang": r"sglang|sgl[_-]\w+",
    "tensorrt-llm": r"tensorrt_llm|trtllm-\w+",
    "nccl": r"(?:(?:all_)?(?:reduce|gather)|alltoall|broadcast|hypercube|(?:reduce_)?scatter|sendrecv)_perf",
    "rdma": r"ucx_perftest|fi_pingpong|rping|ib_\w+_(?:bw|lat)|raw_ethernet_(?:bw|lat)",
    "llama.cpp": r"llama-\w[\w-]*|llama_cpp|llama\.cpp|ollama|koboldcpp",
}
_ENGINES = {engine: re.compile(rf"(?:^|/)(?:{names})(?=$|[/.])") for engine, names in _NAMED.items()}
_STARTS: Mapping[str, Reader] = {
    "VLLM_": "vllm",
    "SGLANG_": "sglang",
    "SGL_": "sglang",
    "TRTLLM_": "tensorrt-llm",
    "TLLM_": "tensorrt-llm",
    "GGML_": "llama.cpp",
    "LLAMA_": "llama.cpp",
    "OLLAMA_": "llama.cpp",
}
"""Of variables that one engine reads."""
_OF_AN_INTERPRETER = "PYTHON"
"""Of variables that an interpreter reads, and no program that none runs."""
_PROCESSORS: Mapping[str, tuple[str, ...]] = {"amd_": ("AuthenticAMD", "HygonGenuine"), "intel_": ("GenuineIntel",)}
"""Of parameters of the boot line about processors of one maker."""
_HANDS_ON = frozenset(
    ("mpirun", "mpiexec", "orterun", "prterun", "srun", "jsrun", "aprun", "flux", "ssh", "docker", "podman")
)
"""Programs that start others where nobody looked, and hand on what they were given."""
_WORDS = re.compile(r"[a-z0-9]+")
_OF_OTHERS = frozenset(("amdgpu", "amdkfd", "xe", "habanalabs"))
"""Modules of GPUs of other makers."""
OF_GPUS: frozenset[Resource] = frozenset(
    (
        "sm clock", "memory clock", "gpu compute", "gpu memory bandwidth", "gpu memory", "gpu initialisation",
        "launch latency", "nvlink",
    )
)  # fmt: skip
BESIDE_GPUS: frozenset[Resource] = frozenset(("availability", "collective", "pcie link", "kernel choice"))
"""What moves with them, and by itself is no sign of one."""
_OF_A_GPU = re.compile(r"/dev/(nvidia|kfd|dri/render|dxg|habana|accel|tenstorrent)")
_BUSY = re.compile(r"gpu/[^/]+/busy")
_MODULE = "-m"
_LEAST_NAME = 4


class Circumstances(NamedTuple):
    """engines: recognised among the processes of either run. compiled: names of the programs, where none is run by an
    interpreter. called: words of the names of programs and of the modules that an interpreter was told to run. gpus:
    the most that either run had; None where nobody counted them. linked: whether NVLink joins any; None where nobody
    can say. said: what one run alone printed, of the messages that are known."""

    engines: frozenset[Reader] = frozenset()
    compiled: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    gpus: int | None = None
    cpus: frozenset[str] = frozenset()
    idle: bool = False
    astray: bool = False
    linked: bool | None = None
    compared: frozenset[Key] = frozenset()
    said: tuple[Spoken, ...] = ()

    @property
    def scripted(self) -> bool:
        """Whether an interpreter runs something of one's own, and no engine that is known."""
        return bool(self.called) and not self.engines and not self.compiled


UNKNOWN = Circumstances()


class _Program(msgspec.Struct):
    """What a stored process section tells of its program: gaps, what is private and maps as they are stored."""

    program: Mapping[str, Any] = {}
    interpreter: Mapping[str, Any] = {}
    flags: Mapping[str, Any] = {}
    git: Mapping[str, Any] = {}
    operands: Any = ()

    @property
    def words(self) -> list[str]:
        """The program's path, the module that an interpreter was told to run, and the verb of a command with verbs."""
        module, verbs = self.flags.get("items", {}).get(_MODULE), self.operands
        told = [word for words in (module, verbs) if isinstance(words, list) for word in words[:2]]
        return [word for word in (self.program.get("path"), *told) if isinstance(word, str)]

    @property
    def called(self) -> Iterator[str]:
        """The program's own name, the module's top package; what it was told to do is none."""
        module = self.flags.get("items", {}).get(_MODULE)
        names = module[:1] if isinstance(module, list) else ()
        for name in (*(word.rpartition("/")[2] for word in self.words[:1]), *(one.partition(".")[0] for one in names)):
            yield from _WORDS.findall(name.lower())

    @property
    def is_compiled(self) -> bool:
        """What an interpreter runs may import anything."""
        return isinstance(self.program.get("path"), str) and not isinstance(self.interpreter.get("path"), str)


def circumstances(a: Subject, b: Subject) -> Circumstances:
    every = [program for side in (a, b) for program in _programs(side.state)]
    engines = frozenset(engine for engine in _ENGINES if any(_is_of(engine, program) for program in every))
    known = all(program.is_compiled for program in every)
    names = frozenset(program.words[0].rpartition("/")[2] for program in every) if known else frozenset()
    compiled = frozenset() if names & _HANDS_ON else names
    makers = frozenset(maker for side in (a, b) if (maker := _maker(side.state)))
    gpus = _most_gpus((a.state, b.state))
    idle = _opened_none((a, b)) and (gpus == 0 or (bool(gpus) and not _any_worked((a, b))))
    astray = bool(every) and all(map(_is_astray, every))
    return Circumstances(
        engines,
        compiled,
        frozenset(word for program in every for word in program.called),
        gpus,
        makers,
        idle,
        astray,
        _is_linked((a, b)),
        _read(a) & _read(b),
        spoken(a, b),
    )


def _read(side: Subject) -> frozenset[Key]:
    found = side.state.sections.items()
    return frozenset(key for key, standing in found if key.target and standing.blob and standing.blob.seen)


def looked_through(rules: Sequence[Rule], target: str, around: Circumstances) -> str:
    """The areas in which what the value stands for was compared itself, by the rule that knows it best."""
    members = rules[0].members if rules else ()
    return " and ".join(members) if members and {Key(area, target) for area in members} <= around.compared else ""


def _is_linked(sides: Iterable[Subject]) -> bool | None:
    counters = [path for side in sides for path in side.state.samples if path.startswith("gpu/")]
    if any("/nvlink/data_" in path for path in counters):
        return True
    return False if any("/pcie/" in path for path in counters) else None


def _is_astray(program: _Program) -> bool:
    """A script is not looked for where it is started, but a module is."""
    root, path = program.git.get("root"), program.program.get("path")
    is_module = _MODULE in program.flags.get("items", {})
    return (
        isinstance(root, str) and isinstance(path, str) and not (is_module or path.startswith(f"{root.rstrip('/')}/"))
    )


def needs_a_gpu(rules: Sequence[Rule]) -> bool:
    """Whether the mechanism that knows it best moves a GPU's resources, and nothing that work without one waits for."""
    moves = frozenset(rules[0].moves) if rules else frozenset()
    return bool(moves & OF_GPUS) and moves <= OF_GPUS | BESIDE_GPUS


def own_by(path: FactPath, around: Circumstances) -> bool:
    """Whether it is the program's own: a flag of its command line, or a variable that bears its name."""
    if path[0] != "process" or path[-2:-1] not in (("env",), ("flags",)):
        return path[0] == "process" and path[-1] == "operands"
    name = path[-1].partition("_")[0].lower()
    programs = {*around.engines, *(word for program in around.compiled for word in _WORDS.findall(program.lower()))}
    return path[-2] == "flags" or _STARTS.get(f"{name.upper()}_") in around.engines or name in programs


def is_own_code(path: FactPath, around: Circumstances) -> bool:
    """Whether a package or library bears the name of the program: caffe's libcaffe-nv. Engines have rules of their
    own."""
    if (
        around.engines
        or path[:1] not in (("mapped",), ("libraries",))
        or path[2:3] not in (("libraries",), ("packages",), ("origins",))
    ):
        return False
    first = next(iter(_WORDS.findall(path[3].lower().removeprefix("lib"))), "") if len(path) > 3 else ""
    return len(first) >= _LEAST_NAME and first in around.called


def unread_by(path: FactPath, rules: Sequence[Rule], around: Circumstances) -> str:
    """Why nothing that is there heeds this variable, parameter or module, by its first letters, or this flag, by the
    narrowest of its rules; empty where that may be. Of the host's other states a server may be the user that nobody
    started."""
    if path[:2] == ("kernel", "cmdline"):
        makers = next((makers for start, makers in _PROCESSORS.items() if path[-1].startswith(start)), ())
        others = sorted(around.cpus) if makers and not around.cpus & {*makers} else ()
        return f"it is for processors of {' and '.join(makers)}, and these are of {', '.join(others)}" if others else ""
    if path[:2] == ("kernel", "modules") and path[2:3] and path[2] in _OF_OTHERS and around.gpus:
        return "the GPUs that were there are of another maker"
    if path[0] != "process":
        return ""
    if path[-2:-1] == ("env",) and path[-1].startswith(_OF_AN_INTERPRETER) and around.compiled:
        return f"what ran is {', '.join(sorted(around.compiled))}, which no interpreter runs"
    told = [frozenset(rule.read_by) for rule in rules if rule.read_by]
    reader = next((of for start, of in _STARTS.items() if path[-1].startswith(start)), None)
    told += [frozenset((reader,))] if reader and path[-2:-1] == ("env",) else []
    if not told or frozenset.intersection(*told) & around.engines:
        return ""
    ran = ", ".join(sorted(around.compiled or around.engines))
    return f"what ran is {ran}, which is not known to use it" if ran else ""


def _programs(state: Effective) -> Iterator[_Program]:
    decoder = msgspec.json.Decoder(_Program)
    for key, standing in state.sections.items():
        blob = standing.blob or standing.given
        if key.area == "process" and blob is not None:
            yield decoder.decode(blob.body)


def _opened_none(sides: Iterable[Subject]) -> bool:
    """Whether the devices that each process opened were read, and no GPU is among them."""
    opened = [devices for side in sides for devices in _opened(side.state)]
    return bool(opened) and not any(devices is None or _OF_A_GPU.search(" ".join(devices)) for devices in opened)


def _any_worked(sides: Iterable[Subject]) -> bool:
    """Whoever it worked for. What was not sampled may have."""
    busy = [sample for side in sides for path, sample in side.state.samples.items() if _BUSY.fullmatch(path)]
    return not busy or any(not isinstance(sample, Distribution) or sample.mean > 0 for sample in busy)


class _Mapped(msgspec.Struct, frozen=True):
    devices: Any = None


def _opened(state: Effective) -> Iterator[list[str] | None]:
    """Of each process; None where that could not be read."""
    decoder = msgspec.json.Decoder(_Mapped)
    for key, standing in state.sections.items():
        if key.area == "mapped":
            told = decoder.decode(standing.blob.body).devices if standing.blob else None
            yield told if isinstance(told, list) else None


def _is_of(engine: Reader, program: _Program) -> bool:
    return any(_ENGINES[engine].search(word) for word in program.words)


def _most_gpus(states: Iterable[Effective]) -> int | None:
    return max((count for state in states if (count := _gpus(state)) is not None), default=None)


def _gpus(state: Effective) -> int | None:
    """Of a host without any, the section was read and holds no value."""
    sampled = {parse_path(path)[1] for path in state.samples if path.startswith("gpu/")}
    standing = state.sections.get(GPUS)
    if sampled or standing is None or standing.blob is None:
        return len(sampled) or None
    return None if standing.blob.seen or _has_others(state) else 0


class _Modules(msgspec.Struct, frozen=True):
    items: Mapping[str, msgspec.Raw] = {}


class _Kernel(msgspec.Struct, frozen=True):
    modules: _Modules = _Modules()


def _has_others(state: Effective) -> bool:
    """Whether a module of another maker's GPUs is loaded, or nobody knows."""
    standing = state.sections.get(KERNEL)
    if standing is None or standing.blob is None:
        return True
    return bool(msgspec.json.decode(standing.blob.body, type=_Kernel).modules.items.keys() & _OF_OTHERS)


class _Processor(msgspec.Struct, frozen=True):
    vendor: Any = None


class _Cpu(msgspec.Struct, frozen=True):
    processor: _Processor = _Processor()


def _maker(state: Effective) -> str:
    standing = state.sections.get(CPU)
    vendor = msgspec.json.decode(standing.blob.body, type=_Cpu).processor.vendor if standing and standing.blob else ""
    return vendor if isinstance(vendor, str) else ""
