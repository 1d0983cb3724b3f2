"""One program of a run, as its process section tells: which engine it is, whether an interpreter runs it, whether it
starts others, and into how many ranks it was told to divide its work."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import msgspec

from fingerprint.elsewhere import ELSEWHERE
from fingerprint.explain.mechanisms.graph import Letters, Reader

_NAMED: Mapping[Reader, str] = {
    "vllm": r"vllm",
    "sglang": r"sglang|sgl[_-]\w+",
    "tensorrt-llm": r"tensorrt_llm|trtllm-\w+",
    "nccl": r"(?:(?:all_)?(?:reduce|gather)|alltoallv?|broadcast|hypercube|(?:reduce_)?scatter|sendrecv)_perf",
    "rdma": r"ucx_perftest|fi_pingpong|rping|ib_\w+_(?:bw|lat)|raw_ethernet_(?:bw|lat)",
    "llama.cpp": r"llama-\w[\w-]*|llama_cpp|llama\.cpp|ollama(?:_llama_server)?|koboldcpp",
}
_ENGINES = {engine: re.compile(rf"(?:^|/)(?:{names})(?=$|[/.])") for engine, names in _NAMED.items()}
_PACKAGE = re.compile(
    r"(?:^|/)(?:(?:site|dist)-packages/"
    r"|(vllm|sglang)/(?=\1/[\w-]+/)|(?=vllm/(?:entrypoints/|v1/|benchmarks/benchmark_))"
    r"|python/(?=sglang/)|(?=sglang/(?:srt/|launch_server\.|bench_))"
    r"|(?:TensorRT-LLM|tensorrt[-_]llm)/(?=tensorrt_llm/)|(?=tensorrt_llm/(?:commands|bench|llmapi)/)"
    r")(.*)",
)
"""Where a script lies in a package, installed or in a checkout: what other folder holds it tells nothing of it."""
_OF_LLAMA_CPP = re.compile(
    r"main|server|perplexity|quantize|embedding|simple|speculative|parallel|infill|imatrix|lookup|lookahead|"
    r"batched(-bench)?|rpc-server|llava-cli"
)
"""Programs of llama.cpp that bear its folder's name alone: its first releases'."""
SERVE: frozenset[Reader] = frozenset(("vllm", "sglang", "tensorrt-llm", "llama.cpp"))
"""Engines of models; the others are tests."""
_ALONE_BY_DEFAULT: frozenset[Reader] = frozenset(("vllm", "sglang"))
_OF_RANKS = frozenset(("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"))
_WRAPPERS = frozenset(
    ("bash", "dash", "sh", "zsh", "env", "make", "nice", "ionice", "chrt", "taskset", "numactl", "nohup", "setsid")
) | {"stdbuf", "sudo", "time", "timeout", "xargs", "parallel", "nsys", "ncu"}
_LAUNCHERS = ELSEWHERE | _OF_RANKS | {"jsrun", "aprun", "flux", "shifter", "ch-run", "pdsh", "systemd-run"}
_HOSTS = ("--nnodes", "--num-nodes", "--num-machines")
_PER_HOST = ("--nproc-per-node", "--nproc_per_node")
_DIVIDED = (
    ("--tensor-parallel-size", "-tp", "--tp-size", "--tp"),
    ("--pipeline-parallel-size", "-pp", "--pp-size", "--pp"),
    ("--data-parallel-size", "-dp", "--dp-size", "--dp"),
    ("--prefill-context-parallel-size", "-pcp"),
    _PER_HOST,
)
"""Flags by which each tells into how many ranks the work is divided: their product, and of ranks by host that of hosts
as well."""
_SHARED = frozenset(("--enable-dp-attention",))
"""Flags with which ranks of one kind are those of another, so that there is no product."""
_ELSEWHERE = (
    *_HOSTS,
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
_OF_ANY = frozenset(
    ("bin", "sbin", "home", "user", "users", "local", "root", "build", "workspace", "scripts", "python")
)
"""Folders that hold programs of any name."""


class Program(msgspec.Struct):
    """What a stored process section tells of its program: gaps, what is private and maps as they are stored."""

    program: Mapping[str, Any] = {}
    interpreter: Mapping[str, Any] = {}
    flags: Mapping[str, Any] = {}
    git: Mapping[str, Any] = {}
    operands: Any = ()

    @property
    def path(self) -> str:
        """Empty where nobody can say."""
        path = self.program.get("path")
        return path if isinstance(path, str) else ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_compiled(self) -> bool:
        """What an interpreter runs may import anything."""
        return isinstance(self.program.get("path"), str) and not isinstance(self.interpreter.get("path"), str)

    @property
    def is_wrapper(self) -> bool:
        """Whether what it starts is all that it does, on this host."""
        return self.name in _WRAPPERS

    @property
    def hands_on(self) -> bool:
        """Whether it starts others, here or elsewhere, which have what it was given."""
        return self.is_wrapper or self.name in _LAUNCHERS

    @property
    def called(self) -> Iterator[str]:
        """Words of the program's own name and of the module that runs; what it was told to do is none."""
        for name in (self.name, *self._modules[:1]):
            yield from _WORDS.findall(name.lower())

    @property
    def folders(self) -> Iterator[str]:
        """Words of the name of the folder that holds it."""
        for name in self.path.split("/")[-2:-1]:
            yield from (word for word in _WORDS.findall(name.lower()) if word not in _OF_ANY)

    def is_astray(self, installed: Container[str]) -> bool:
        """A script is not looked for where it is started, but a module is, unless its package is an installed one."""
        root = self.git.get("root")
        if not isinstance(root, str) or not self.path:
            return False
        if self._modules:
            return self._modules[0].partition(".")[0].replace("_", "-") in installed
        return not self.path.startswith(f"{root.rstrip('/')}/")

    @property
    def engines(self) -> Iterator[Reader]:
        within = _PACKAGE.search(self.path)
        words = (within[2] if within else self.name, *self._told_to_be)
        yield from (engine for engine, names in _ENGINES.items() if any(map(names.search, words)))
        if self.is_compiled and _OF_LLAMA_CPP.fullmatch(self.name) and _ENGINES["llama.cpp"].search(self.path):
            yield "llama.cpp"

    @property
    def letters(self) -> Iterator[Letters]:
        """Whose its flags of one letter are. What starts an engine has others than the engine."""
        if self.name in _OF_RANKS:
            yield "of ranks"
        for engine in () if self.hands_on else self.engines:
            yield "of an engine" if engine in SERVE else "of a test"

    @property
    def ranks(self) -> int | None:
        """An engine that was told of none divides nothing, unless it was told of others, or in another place."""
        items = self.flags.get("items", {})
        told = [values[0] for names in self._divided if (values := next(filter(None, map(self._flag, names)), []))]
        if any(not str(value).isdecimal() for value in told) or _SHARED & items.keys():
            return None
        if told or any(name.startswith(_ELSEWHERE) for name in items):
            return prod(map(int, told)) if told else None
        may_ask = any(map(_BENCHMARKS.fullmatch, (*self._told_to_be, self._script)))
        return 1 if _ALONE_BY_DEFAULT.intersection(self.engines) and not may_ask else None

    @property
    def _divided(self) -> Iterator[Sequence[str]]:
        yield from _DIVIDED
        if any(map(self._flag, _PER_HOST)):
            yield _HOSTS

    @property
    def asks(self) -> bool:
        """Whether it is a client of an engine."""
        verbs = self._told_to_be
        is_told_to = self.name == "vllm" and verbs[:1] in (["chat"], ["complete"])
        return is_told_to or any(map(_CLIENTS.fullmatch, (" ".join(verbs), self._script)))

    @property
    def hosts(self) -> int:
        """Of a range the least."""
        values = next(filter(None, map(self._flag, _HOSTS)), [])
        least = str(values[0]).partition(":")[0] if values else ""
        return int(least) if least.isdecimal() else 1

    @property
    def _modules(self) -> list[str]:
        """What an interpreter was told to run, and what that was told first: to others the flag is another."""
        return [] if self.is_compiled else [word for word in self._flag(_MODULE)[:2] if isinstance(word, str)]

    @property
    def _told_to_be(self) -> list[str]:
        """The module that an interpreter was told to run, and the verb of a command with verbs."""
        verbs = self.operands if isinstance(self.operands, list) else []
        return [*self._modules, *(word for word in verbs[:2] if isinstance(word, str))]

    @property
    def _script(self) -> str:
        """As the module that it is, of a package."""
        within = _PACKAGE.search(self.path)
        return (within[2].replace("/", ".") if within else self.name).removesuffix(".py")

    def _flag(self, name: str) -> list[Any]:
        values = self.flags.get("items", {}).get(name)
        return values if isinstance(values, list) else []
