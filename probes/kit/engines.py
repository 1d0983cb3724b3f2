"""What a process of a serving engine is, from its title, its arguments and its environment.

Engines start processes of many roles and most of them rename theirs (setproctitle): the title stands in
/proc/PID/cmdline in the place of the arguments; of it /proc/PID/comm has 15 bytes, too few for a rank. By version:

    SGLang      sglang::scheduler_DP0_TP3 (0.4.6: always with _TP; 0.5.23: ranks of groups of more than one),
                sglang::detokenizer, sglang::data_parallel_controller, sglang::tokenizer_worker:PID
    vLLM        PREFIX::Worker_DP0_TP3_EP3, PREFIX::EngineCore_DP0, PREFIX::APIServer_0, PREFIX::DPCoordinator (0.33.0;
                PREFIX is VLLM unless VLLM_PROCESS_NAME_PREFIX says otherwise); 0.8.5 has no titles
    TGI         text-generation-launcher, -router, and text-generation-server with RANK in its environment (3.x)
    TensorRT-LLM  trtllm-serve, and `python -m mpi4py.futures.server`, MPI's ranks in the environment; by
                trtllm-llmapi-launch mgmn_leader_node and mgmn_worker_node, which mpirun or srun starts beside it (1.2)
    Triton      tritonserver, and triton_python_backend_stub of each instance of a Python model
    Ollama      ollama serve, and `ollama runner` of each loaded model (before 0.5.8 ollama_llama_server)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from probes.kit.facts import Redacted
from probes.kit.flags import flags
from probes.kit.interpreters import module_in, script_at
from probes.kit.lazy import lazy_regex

Engine = Literal["sglang", "vllm", "tensorrt-llm", "triton", "tgi", "llama.cpp", "lmdeploy", "ollama"]
Role = Literal[
    "launcher",  # what was started, and mostly the API server too
    "router",
    "controller",
    "coordinator",
    "api-server",
    "tokenizer",
    "detokenizer",
    "detokenizer-router",
    "engine-core",
    "scheduler",
    "worker",
]
Text = str | Redacted
Ranks = tuple[tuple[str, int], ...]
"""By kind of parallelism, outermost first as the title has them: (("dp", 0), ("tp", 3))."""


class Member(NamedTuple):
    """One process of a tree. env: of its environment what is known in clear."""

    pid: int
    parent: int
    argv: tuple[Text, ...]
    env: Mapping[str, str] = {}


class Part(NamedTuple):
    """port: where its server listens, as far as arguments and environment tell; only a launcher and a router have one.
    number: of several that have no rank, as the engine counts them."""

    engine: Engine
    role: Role
    ranks: Ranks = ()
    port: int | None = None
    number: int | None = None

    @property
    def name(self) -> str:
        """Unique in a server as far as the engine tells its processes apart. Who works on a GPU goes by its rank."""
        ranks = [f"{kind}{rank}" for kind, rank in self.ranks]
        named = [] if ranks and self.role in ("scheduler", "worker") else [self.role]
        return ".".join([*named, *ranks]) + ("" if self.number is None else f"-{self.number}")


class Server(NamedTuple):
    """A launcher or router, and the processes below it that could be told. name: unique among those found together."""

    name: str
    engine: Engine
    pid: int
    port: int | None
    parts: Mapping[int, Part]


class Named(NamedTuple):
    """What the name of a target tells. server: its first segment. part: the rest, empty of the launcher."""

    server: str
    engine: str
    port: int | None
    part: str


class _Listening(NamedTuple):
    flags: tuple[str, ...]
    default: int
    variable: str = ""


HEADS: frozenset[Role] = frozenset({"launcher", "router"})
_STARTERS: frozenset[str] = frozenset({"controller", "coordinator", "api-server", "engine-core"})
"""Of the parts of a server, those that may start others."""

_CALLED: Mapping[str, tuple[Engine, Role]] = {
    "sglang.launch_server": ("sglang", "launcher"),
    "sglang.srt.entrypoints.http_server": ("sglang", "launcher"),
    "sglang serve": ("sglang", "launcher"),
    "sglang.cli.main serve": ("sglang", "launcher"),
    "sglang_router.launch_router": ("sglang", "router"),
    "sglang_router.launch_server": ("sglang", "router"),
    "sglang-router": ("sglang", "router"),
    "smg": ("sglang", "router"),
    "vllm serve": ("vllm", "launcher"),
    "vllm.entrypoints.cli.main serve": ("vllm", "launcher"),
    "vllm.entrypoints.openai.api_server": ("vllm", "launcher"),
    "vllm.entrypoints.api_server": ("vllm", "launcher"),
    "vllm.entrypoints.grpc_server": ("vllm", "launcher"),
    "vllm-router": ("vllm", "router"),
    "trtllm-serve": ("tensorrt-llm", "launcher"),
    "trtllm-serve disaggregated": ("tensorrt-llm", "router"),
    "tensorrt_llm.commands.serve": ("tensorrt-llm", "launcher"),
    "tensorrt_llm.commands.serve disaggregated": ("tensorrt-llm", "router"),
    "mpi4py.futures.server": ("tensorrt-llm", "worker"),
    "tensorrt_llm.llmapi.mgmn_leader_node": ("tensorrt-llm", "worker"),
    "tensorrt_llm.llmapi.mgmn_worker_node": ("tensorrt-llm", "worker"),
    "tritonserver": ("triton", "launcher"),
    "triton_python_backend_stub": ("triton", "worker"),
    "text-generation-launcher": ("tgi", "launcher"),
    "text-generation-router": ("tgi", "router"),
    "text-generation-server serve": ("tgi", "worker"),
    "llama-server": ("llama.cpp", "launcher"),
    "llama_cpp.server": ("llama.cpp", "launcher"),
    "lmdeploy serve": ("lmdeploy", "launcher"),
    "lmdeploy.serve.openai.api_server": ("lmdeploy", "launcher"),
    "ollama serve": ("ollama", "launcher"),
    "ollama runner": ("ollama", "worker"),
    "ollama_llama_server": ("ollama", "worker"),
}
"""By program, or module, and the word behind it where that decides."""
_LISTENING: Mapping[Engine, _Listening] = {
    "sglang": _Listening(("--port",), 30000),
    "vllm": _Listening(("--port",), 8000),
    "tensorrt-llm": _Listening(("--port",), 8000),
    "triton": _Listening(("--http-port",), 8000),
    "tgi": _Listening(("--port", "-p"), 3000, "PORT"),
    "llama.cpp": _Listening(("--port",), 8080, "LLAMA_ARG_PORT"),
    "lmdeploy": _Listening(("--server-port",), 23333),
    "ollama": _Listening((), 11434, "OLLAMA_HOST"),
}
ADDRESS_FLAGS = frozenset({"--host", *(flag for listening in _LISTENING.values() for flag in listening.flags)})
"""Where a server listens, which tells its clients and decides nothing else of what it starts."""
_IN_A_FILE = ("--config", "--config-file")  # vLLM's and TensorRT-LLM's hold what the command line leaves out
_DEFAULT_OF = {"llama_cpp.server": 8000}

_SGLANG_TITLE = lazy_regex(
    r"sglang::(?P<what>scheduler|detokenizer_router|detokenizer|data_parallel_controller|tokenizer_worker)(?P<rest>.*)"
)
_SGLANG_ROLES: Mapping[str, Role] = {
    "scheduler": "scheduler",
    "detokenizer": "detokenizer",
    "detokenizer_router": "detokenizer-router",
    "data_parallel_controller": "controller",
    "tokenizer_worker": "tokenizer",
}
_VLLM_TITLE = lazy_regex(r"(?!ray::)[^:\s]+::(?P<what>Worker|EngineCore|APIServer|DPCoordinator)(?P<rest>(?:_.*)?)")
_VLLM_ROLES: Mapping[str, Role] = {
    "Worker": "worker",
    "EngineCore": "engine-core",
    "APIServer": "api-server",
    "DPCoordinator": "coordinator",
}
_RAY_WORKER = lazy_regex(r"ray::(?:\w*RayWorker\w*|RayTrainWorker)\b")
_RANK = lazy_regex(r"_(ATTN_CP|MOE_DP|DCP|PCP|DP|PP|TP|EP)(\d+)")
_COUNT = lazy_regex(r"_(\d+)$")
_COUNTED = lazy_regex(r"-\d+$")
_MPI_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_PYTHON = lazy_regex(r"(?:python|pypy)[\d.]*t?$")

_NAME = lazy_regex(
    rf"(?P<server>(?P<engine>{'|'.join(engine.replace('.', '-') for engine in _LISTENING)})"
    r"(?:-(?P<port>\d+))?(?:-\d+)?)(?:\.(?P<part>.+))?"
)

LIKELY = lazy_regex(
    r"python|pypy|pt_main_thread|.*::|sglang|sgl-router|smg|vllm|trtllm|triton|text-gen|llama|lmdeploy|ollama"
)
"""What the kernel's name (comm) of a process of an engine begins with: others need not be asked for more.
`pt_main_thread` is torch's."""


def part_of(argv: Sequence[Text], env: Mapping[str, str]) -> Part | None:
    """What the process is by itself, None where nothing tells. What it descends from may tell more: `servers`."""
    title = argv[0] if argv and isinstance(argv[0], str) else ""
    return _titled(title) or _called(argv, env)


def servers(members: Iterable[Member]) -> tuple[Server, ...]:
    """The servers of a tree, or of a whole host, by port; processes of an engine whose launcher is not among the
    members belong to none."""
    return _Tree(members).servers()


def names_of(members: Iterable[Member]) -> Mapping[int, str]:
    """Pid -> the name of its target: `sglang-30000` for a launcher, `sglang-30000.dp0.tp3` for what works below it.
    Whoever is not in it is nothing that an engine tells."""
    names: dict[int, str] = {}
    for server in servers(members):
        names[server.pid] = server.name
        taken: dict[str, int] = {}
        for pid, part in server.parts.items():
            taken[part.name] = taken.get(part.name, 0) + 1
            again = "" if taken[part.name] == 1 else f".{taken[part.name]}"
            names[pid] = f"{server.name}.{part.name}{again}"
    return names


def engine_of(name: str) -> Named | None:
    """Of a target's name as `names_of` gives it; None for any other."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Named(match["server"], match["engine"], int(match["port"]) if match["port"] else None, match["part"] or "")


def may_start(name: str, other: str) -> bool:
    """Whether of two targets the one may have started the other, as far as their names tell: what works on a GPU,
    schedules or tokenizes starts no other part of its server."""
    starter, started = engine_of(name), engine_of(other)
    if starter is None or started is None or not starter.part:
        return True
    return _COUNTED.sub("", starter.part.partition(".")[0]) in _STARTERS


def program_of(argv: Sequence[Text]) -> tuple[str, tuple[Text, ...]]:
    """The base name of the program, or of the script or module that Python runs, and the words behind it. Code in the
    arguments has no name."""
    first = argv[0] if argv else ""
    name = "" if isinstance(first, Redacted) else first.rpartition("/")[2]
    if not _PYTHON.match(name):
        return name, tuple(argv[1:])
    if module := module_in(argv):
        return module.name, tuple(argv[module.end :])
    at = script_at("python", argv)
    script = None if at is None else argv[at]
    return (_script_name(script), tuple(argv[at + 1 :])) if at and isinstance(script, str) else ("", tuple(argv[1:]))


def _script_name(path: str) -> str:
    """A module of an engine that is run by its file goes by the name it is imported by."""
    names = path.removesuffix(".py").split("/")
    modules = (".".join(names[start:]) for start in range(len(names) - 1))
    return next((module for module in modules if module in _CALLED), path.rpartition("/")[2])


def _titled(title: str) -> Part | None:
    if match := _SGLANG_TITLE.match(title):
        return Part("sglang", _SGLANG_ROLES[match["what"]], _ranks(match["rest"]))
    if match := _VLLM_TITLE.match(title):
        return Part("vllm", _VLLM_ROLES[match["what"]], _ranks(match["rest"]), number=_counted(match["rest"]))
    return Part("vllm", "worker") if _RAY_WORKER.match(title) else None


def _ranks(rest: str) -> Ranks:
    return tuple((kind.lower().replace("_", "-"), int(rank)) for kind, rank in _RANK.findall(rest))


def _counted(rest: str) -> int | None:
    match = _COUNT.search(rest)
    return int(match[1]) if match else None


def _called(argv: Sequence[Text], env: Mapping[str, str]) -> Part | None:
    program, words = program_of(argv)
    following = words[0] if words and isinstance(words[0], str) else ""
    called = _CALLED.get(f"{program} {following}") or _CALLED.get(program)
    if called is None:
        return None
    engine, role = called
    if role not in HEADS:
        return Part(engine, role, _ranks_of_environment(engine, env))
    if engine == "lmdeploy" and "proxy" in words:
        role = "router"
    return Part(engine, role, port=_port(engine, program, words, env))


def _ranks_of_environment(engine: Engine, env: Mapping[str, str]) -> Ranks:
    """TGI's launcher numbers its shards, MPI its processes; a rank of MPI is one of the world, not of one group."""
    kind, variables = {"tgi": ("tp", ("RANK",)), "tensorrt-llm": ("rank", _MPI_RANKS)}.get(engine, ("", ()))
    told = next((env[name] for name in variables if env.get(name, "").isdecimal()), None)
    return () if told is None else ((kind, int(told)),)


def _port(engine: Engine, program: str, words: Sequence[Text], env: Mapping[str, str]) -> int | None:
    listening, given = _LISTENING[engine], flags(words).flags.items
    for values in (given[name] for name in listening.flags if name in given):
        return _number(values[-1]) if isinstance(values, tuple) and values else None
    if listening.variable in env:
        return _number(env[listening.variable].rpartition(":")[2]) or listening.default
    if any(name in given for name in _IN_A_FILE):
        return None
    return _DEFAULT_OF.get(program, listening.default)


def _number(text: Text) -> int | None:
    return int(text) if isinstance(text, str) and text.isdecimal() else None


class _Tree:
    """Who of the members is what, by descent."""

    def __init__(self, members: Iterable[Member]) -> None:
        self._members = {member.pid: member for member in members}
        told = ((pid, part_of(one.argv, one.env)) for pid, one in self._members.items())
        self._parts = {pid: part for pid, part in told if part}
        self._heads = {pid: part for pid, part in self._parts.items() if self._is_head(pid, part)}

    def servers(self) -> tuple[Server, ...]:
        below: dict[int, dict[int, Part]] = {pid: {} for pid in self._heads}
        for pid, part in self._parts.items():
            head = None if pid in self._heads else self._head_above(pid) or self._head_beside(pid, part)
            if head is not None and self._is_told_apart(part, self._parts[head]):
                below[head][pid] = self._as_below(part, self._parts[head])
        names = _numbered({pid: _label(part) for pid, part in self._heads.items()})
        found = (
            Server(names[pid], part.engine, pid, part.port, _with_first_ranks(below[pid]))
            for pid, part in self._heads.items()
        )
        return tuple(sorted(found, key=lambda server: (server.engine, server.port or 0, server.pid)))

    def _is_head(self, pid: int, part: Part) -> bool:
        """Not what a launcher is made of: its forked copies have its arguments until they are renamed, and TGI's
        router and Ollama's llama-server stand below it. A router's servers are servers of their own."""
        if part.role not in HEADS:
            return False
        above = next((self._parts[one] for one in self._above(pid) if self._is_of_a_head(one)), None)
        if above is None or above.role == "router":
            return True
        return above.engine not in (part.engine, "ollama") or (
            above.engine == part.engine and part.role == "launcher" and above.port != part.port
        )

    def _is_of_a_head(self, pid: int) -> bool:
        return pid in self._parts and self._parts[pid].role in HEADS

    def _above(self, pid: int) -> Iterator[int]:
        seen = {pid}
        while (member := self._members.get(pid)) and member.parent not in seen:
            pid = member.parent
            seen.add(pid)
            yield pid

    def _head_above(self, pid: int) -> int | None:
        return next((one for one in self._above(pid) if one in self._heads), None)

    def _head_beside(self, pid: int, part: Part) -> int | None:
        """Of a rank of MPI its launcher, which MPI started as well: the only one below the nearest process that both
        descend from."""
        for above in self._above(pid) if part.ranks[:1] and part.ranks[0][0] == "rank" else ():
            heads = [
                head for head, told in self._heads.items() if told.engine == part.engine and above in self._above(head)
            ]
            if heads:
                return heads[0] if len(heads) == 1 else None
        return None

    def _is_told_apart(self, part: Part, head: Part) -> bool:
        """A forked copy that has no title of its own tells no more than that it is one."""
        forked = part.role == "launcher" and part.engine == head.engine
        return not forked and (part.engine == head.engine or head.engine in ("ollama", "triton"))

    def _as_below(self, part: Part, head: Part) -> Part:
        return part if part.engine == head.engine else Part(head.engine, "worker", part.ranks)


def _with_first_ranks(parts: Mapping[int, Part]) -> Mapping[int, Part]:
    """A scheduler of SGLang whose title tells no rank of tensor parallelism is alone in its group: its rank is 0. Not
    where several are titled alike, as forks do."""
    times = Counter(part for part in parts.values() if part.role == "scheduler")
    return {pid: _first_rank(part) if times[part] == 1 else part for pid, part in parts.items()}


def _first_rank(part: Part) -> Part:
    told = any(kind == "tp" for kind, _ in part.ranks)
    return part if told else part._replace(ranks=(*part.ranks, ("tp", 0)))


def _label(part: Part) -> str:
    """A target's name goes by dots, `llama.cpp` has one of its own."""
    engine = part.engine.replace(".", "-")
    return engine if part.port is None else f"{engine}-{part.port}"


def _numbered(labels: Mapping[int, str]) -> dict[int, str]:
    """Two may listen on one port, each in a network namespace of its own; they are numbered by their pids' order."""
    times: dict[str, int] = {}
    names: dict[int, str] = {}
    for pid, label in sorted(labels.items()):
        times[label] = times.get(label, 0) + 1
        names[pid] = label if times[label] == 1 else f"{label}-{times[label]}"
    return names
