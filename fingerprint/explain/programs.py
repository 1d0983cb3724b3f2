"""What ran: which engine, whether an interpreter runs it, on how many GPUs it was told to, and what is its own."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

import msgspec

from fingerprint.elsewhere import ELSEWHERE
from fingerprint.explain.mechanisms.graph import Reader
from fingerprint.explain.stored import Items, sections_of
from fingerprint.runs.effective import Effective
from probes.kit.paths import FactPath

_NAMED: Mapping[Reader, str] = {
    "vllm": r"vllm",
    "sglang": r"sglang|sgl[_-]\w+",
    "tensorrt-llm": r"tensorrt_llm|trtllm-\w+",
    "nccl": r"(?:(?:all_)?(?:reduce|gather)|alltoallv?|broadcast|hypercube|(?:reduce_)?scatter|sendrecv)_perf",
    "rdma": r"ucx_perftest|fi_pingpong|rping|ib_\w+_(?:bw|lat)|raw_ethernet_(?:bw|lat)",
    "llama.cpp": r"llama-\w[\w-]*|llama_cpp|llama\.cpp|ollama|koboldcpp",
}
_ENGINES = {engine: re.compile(rf"(?:^|/)(?:{names})(?=$|[/.])") for engine, names in _NAMED.items()}
_WITHIN = re.compile(
    r"(?:(?:site|dist)-packages/|(?<=/)(?=(?:vllm/(?:entrypoints|v1)|sglang/(?:srt|launch_server))\b))(.*)"
)
"""Where a script lies in a package: what folder holds a program tells nothing of it."""
SERVE: frozenset[Reader] = frozenset(("vllm", "sglang", "tensorrt-llm", "llama.cpp"))
"""Engines of models; the others are tests."""
_ALONE_BY_DEFAULT: frozenset[Reader] = frozenset(("vllm", "sglang"))
STARTS: Mapping[str, Reader] = {
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
_OF_RANKS = frozenset(("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"))
_WRAPPERS = frozenset(
    ("bash", "dash", "sh", "zsh", "env", "make", "nice", "ionice", "chrt", "taskset", "numactl", "nohup", "setsid")
) | {"stdbuf", "sudo", "time", "timeout", "xargs", "parallel", "nsys", "ncu"}
_HANDS_ON = ELSEWHERE | _OF_RANKS | _WRAPPERS | {"jsrun", "aprun", "flux", "shifter", "ch-run", "pdsh", "systemd-run"}
"""Programs that start others, elsewhere or where nobody looked, and hand on what they were given."""
_HOSTS = ("--nnodes", "--num-nodes", "--num-machines")
_DIVIDED = (
    ("--tensor-parallel-size", "-tp", "--tp-size", "--tp"),
    ("--pipeline-parallel-size", "-pp", "--pp-size", "--pp"),
    ("--data-parallel-size", "-dp", "--dp-size", "--dp"),
    ("--prefill-context-parallel-size", "-pcp"),
    ("--nproc-per-node", "--nproc_per_node"),
    _HOSTS,
)
"""Flags by which each tells into how many ranks the work is divided, of engines and torchrun: their product."""
_SHARED = frozenset(("--enable-dp-attention",))
"""Flags with which ranks of one kind are those of another, so that there is no product."""
_ELSEWHERE = (
    "--config",
    "--kv-transfer",
    "--disaggregation",
    "--dist-init-addr",
    "--master-addr",
    "--data-parallel",
    "--tensor-parallel",
    "--pipeline-parallel",
    "--parallel-config",
    "--ep",
    "--expert-parallel",
    "--num-gpus",
)
"""Beginnings of flags by which a program is told of others that it works with, of a file that may, or of ranks in
another way."""
_BENCHMARKS = re.compile(r"bench|benchmarks?(\..*)?|(.*\.)?bench_\w+|benchmark_\w+|.*\.benchmarks?(\..*)?")
"""Verbs, modules and scripts of engines that may ask a server, of whose ranks they are not told."""
_CLIENTS = re.compile(r"(.*\.)?bench(marks?)?[._ ](.*[._])?serv(e|ing)\b.*")
"""The verbs, the module or the script of those that do ask one: others load the model themselves."""
_WORDS = re.compile(r"[a-z0-9]+")
_MODULE = "-m"
_RUN_OTHERS = frozenset(("python", "python3", "torchrun"))
_OF_ANY = frozenset(
    ("bin", "sbin", "home", "user", "users", "local", "root", "build", "workspace", "scripts", "python")
)
"""Folders that hold programs of any name."""
_LEAST_NAME = 4


class Programs(NamedTuple):
    """Of either run. engines: that were recognised. compiled: names of the programs, where none is run by an
    interpreter. called: words of the names of programs and of the modules that an interpreter was told to run.
    folders: words of those that hold them. ranks: the most that any was divided into by its flags; None where none
    tells. single: whether each is an engine that is known to be divided into none. astray: whether each ran from
    elsewhere than the git tree that is told of it. hosts: the most that any was told of. asks: whether each is a client
    of an engine. hands_on: whether any starts others where nobody looked. of_ranks: whether any starts ranks."""

    engines: frozenset[Reader] = frozenset()
    compiled: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    ranks: int | None = None
    single: bool = False
    astray: bool = False
    hosts: int = 1
    asks: bool = False
    hands_on: bool = False
    of_ranks: bool = False

    @property
    def scripted(self) -> bool:
        """Whether an interpreter runs something of one's own, and no engine that is known."""
        return bool(self.called) and not self.engines and not self.compiled


class _Program(msgspec.Struct):
    """What a stored process section tells of its program: gaps, what is private and maps as they are stored."""

    program: Mapping[str, Any] = {}
    interpreter: Mapping[str, Any] = {}
    flags: Mapping[str, Any] = {}
    git: Mapping[str, Any] = {}
    operands: Any = ()

    def flag(self, name: str) -> list[Any]:
        values = self.flags.get("items", {}).get(name)
        return values if isinstance(values, list) else []

    @property
    def name(self) -> str:
        path = self.program.get("path")
        return path.rpartition("/")[2] if isinstance(path, str) else ""

    @property
    def words(self) -> list[str]:
        """The program's path, and what it was told to be."""
        path = self.program.get("path")
        return [*([path] if isinstance(path, str) else ()), *self._told_to_be]

    @property
    def _told_to_be(self) -> list[str]:
        """The module that an interpreter was told to run, and the verb of a command with verbs."""
        verbs = self.operands if isinstance(self.operands, list) else []
        module = () if self.is_compiled else self.flag(_MODULE)[:2]
        return [word for word in (*module, *verbs[:2]) if isinstance(word, str)]

    @property
    def called(self) -> Iterator[str]:
        """Of the program's own name and the module that runs; what it was told to do is none."""
        module = () if self.is_compiled else self.flag(_MODULE)[:1]
        for name in (*(word.rpartition("/")[2] for word in self.words[:1]), *map(str, module)):
            yield from _WORDS.findall(name.lower())

    @property
    def is_compiled(self) -> bool:
        """What an interpreter runs may import anything."""
        return isinstance(self.program.get("path"), str) and not isinstance(self.interpreter.get("path"), str)

    def is_astray(self, installed: Container[str]) -> bool:
        """A script is not looked for where it is started, but a module is, unless its package is an installed one."""
        root, path = self.git.get("root"), self.program.get("path")
        if not isinstance(root, str) or not isinstance(path, str):
            return False
        if module := self._module:
            return module.replace("_", "-") in installed
        return not path.startswith(f"{root.rstrip('/')}/")

    @property
    def _module(self) -> str:
        """The top package of the module that an interpreter was told to run: to others the flag is another."""
        return "" if self.is_compiled else next((str(name).partition(".")[0] for name in self.flag(_MODULE)[:1]), "")

    @property
    def folders(self) -> Iterator[str]:
        path = self.program.get("path")
        for name in path.split("/")[-2:-1] if isinstance(path, str) else ():
            yield from (word for word in _WORDS.findall(name.lower()) if word not in _OF_ANY)

    @property
    def engines(self) -> Iterator[Reader]:
        path = self.words[0] if self.name else ""
        within = _WITHIN.search(path)
        words = (within[1] if within else self.name, *self._told_to_be)
        yield from (engine for engine, names in _ENGINES.items() if any(map(names.search, words)))
        if self.is_compiled and _ENGINES["llama.cpp"].search(path) and not _ENGINES["llama.cpp"].search(self.name):
            yield "llama.cpp"  # its first releases called their programs main and server

    @property
    def ranks(self) -> int | None:
        """An engine that was told of none divides nothing, unless it was told of others, or in another place."""
        items = self.flags.get("items", {})
        told = [values[0] for names in _DIVIDED if (values := next(filter(None, map(self.flag, names)), []))]
        if any(not str(value).isdecimal() for value in told) or _SHARED & items.keys():
            return None
        if told or any(name.startswith(_ELSEWHERE) for name in items):
            return prod(map(int, told)) if told else None
        may_ask = any(map(_BENCHMARKS.fullmatch, (*self._told_to_be, self.name.removesuffix(".py"))))
        return 1 if _ALONE_BY_DEFAULT.intersection(self.engines) and not may_ask else None

    @property
    def asks(self) -> bool:
        return any(map(_CLIENTS.fullmatch, (" ".join(self._told_to_be), self.name.removesuffix(".py"))))

    @property
    def hosts(self) -> int:
        """Of a range the least."""
        values = next(filter(None, map(self.flag, _HOSTS)), [])
        least = str(values[0]).partition(":")[0] if values else ""
        return int(least) if least.isdecimal() else 1


def programs(states: Iterable[Effective]) -> Programs:
    states = tuple(states)
    every = [program for state in states for program in _of(state)]
    installed = frozenset[str]().union(*map(_installed, states))
    known = all(program.is_compiled for program in every)
    names = frozenset(program.words[0].rpartition("/")[2] for program in every) if known else frozenset()
    return Programs(
        engines=frozenset(engine for program in every for engine in program.engines),
        compiled=frozenset() if names & _HANDS_ON else names,
        called=frozenset(word for program in every for word in program.called),
        folders=frozenset(word for program in every for word in program.folders),
        ranks=max((told for program in every if (told := program.ranks)), default=None),
        single=bool(every) and all(program.ranks == 1 and any(program.engines) for program in every),
        astray=bool(every) and all(program.is_astray(installed) for program in every),
        hosts=max((program.hosts for program in every), default=1),
        asks=bool(every) and all(program.asks for program in every),
        hands_on=any(program.name in _HANDS_ON for program in every),
        of_ranks=any(program.name in _OF_RANKS for program in every),
    )


def _of(state: Effective) -> Iterator[_Program]:
    decoder = msgspec.json.Decoder(_Program)
    for key, standing in state.sections.items():
        blob = standing.blob or standing.given
        if key.area == "process" and blob is not None:
            yield decoder.decode(blob.body)


class _Libraries(msgspec.Struct, frozen=True):
    packages: Items = Items()
    origins: Items = Items()


def _installed(state: Effective) -> Iterator[str]:
    """Packages of its environments that came from an index: not from a checkout, whose code runs where it lies."""
    for read in filter(None, sections_of(state, "libraries", _Libraries)):
        yield from read.packages.items.keys() - read.origins.items.keys()


def own_by(path: FactPath, ran: Programs) -> bool:
    """Whether it is the program's own: a flag of its command line, or a variable that bears its name, or how that
    begins."""
    if path[0] != "process" or path[-2:-1] not in (("env",), ("flags",)):
        return path[0] == "process" and path[-1] == "operands"
    name = path[-1].partition("_")[0].lower()
    names = {*ran.engines, *ran.called} - _RUN_OTHERS
    if path[-2] == "flags" or STARTS.get(f"{name.upper()}_") in ran.engines or name in names:
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
    first = next(iter(_WORDS.findall(path[3].lower().removeprefix("lib"))), "") if len(path) > 3 else ""
    return len(first) >= _LEAST_NAME and first in ran.called
