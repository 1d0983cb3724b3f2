"""One program of a run, as its process section tells: which engine it is, whether an interpreter runs it, whether it
starts others, and into how many ranks it was told to divide its work."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any

import msgspec

from fingerprint.explain.engines import SERVE, module_of, of_module, of_program, of_word
from fingerprint.explain.launchers import OF_RANKS, ON_HOSTS, WHERE_NOBODY_LOOKED, WRAPPERS
from fingerprint.explain.mechanisms.graph import Letters, Reader

_ALONE_BY_DEFAULT: frozenset[Reader] = frozenset(("vllm", "sglang"))
_HOSTS = ("--nnodes", "--num-nodes", "--num-machines")
_PER_HOST = ("--nproc-per-node",)
_DIVIDED = (
    ("--tensor-parallel-size", "-tp", "--tp-size", "--tp"),
    ("--pipeline-parallel-size", "-pp", "--pp-size", "--pp"),
    ("--data-parallel-size", "-dp", "--dp-size", "--dp"),
    ("--prefill-context-parallel-size", "-pcp"),
)
"""Flags by which each engine tells into how many ranks the work is divided: their product."""
_SHARED = frozenset(("--enable-dp-attention",))
"""Flags with which ranks of one kind are those of another, so that there is no product."""
_FILE = "--config"
_IN_ANOTHER_WAY = (
    *_HOSTS,
    _FILE,
    "--data-parallel",
    "--tensor-parallel",
    "--pipeline-parallel",
    "--parallel-config",
    "--ep",
    "--expert-parallel",
    "--num-gpus",
)
"""Beginnings of flags by which a program that tells of no ranks may be told of some, or of a file that tells."""
_OF_OTHERS = re.compile(
    r"--(kv-transfer-.*|disaggregation-.*|dist-init-addr|master-addr|"
    r"data-parallel-(address|rpc-port|start-rank|rank|size-local|hybrid-lb|external-lb)|headless|node-rank)"
)
"""Flags by which a program is told of others that it works with, on its host or another."""
_BENCHMARKS = re.compile(r"bench|benchmarks?(\..*)?|(.*\.)?bench_\w+|benchmark_\w+|.*\.benchmarks?(\..*)?")
"""Verbs, modules and scripts of engines that may ask a server, of whose ranks they are not told."""
_CLIENTS = re.compile(r"(.*\.)?bench(marks?)?[._ ](.*[._])?serv(e|ing)\b.*")
"""The verbs, the module or the script of those that do ask one: others load the model themselves."""
_TALKS = (["chat"], ["complete"])
"""Verbs of vLLM with which it asks one as well."""
_WORDS = re.compile(r"[a-z0-9]+")
_MODULE = "-m"
_OF_ANY = frozenset(
    ("bin", "sbin", "home", "user", "users", "local", "root", "build", "workspace", "scripts", "python")
)
"""Folders that hold programs of any name."""


def words(name: str) -> list[str]:
    """Of letters and digits, in lower case."""
    return _WORDS.findall(name.lower())


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
        return self.name in WRAPPERS

    @property
    def hands_on(self) -> bool:
        """Whether it starts others, here or elsewhere, which have what it was given."""
        return self.is_wrapper or self.name in WHERE_NOBODY_LOOKED

    @property
    def called(self) -> Iterator[str]:
        """Words of the program's own name and of the module that runs; what it was told to do is none."""
        return chain(*map(words, (self.name, *self._modules[:1])))

    @property
    def folders(self) -> Iterator[str]:
        """Words of the name of the folder that holds it."""
        for name in self.path.split("/")[-2:-1]:
            yield from (word for word in words(name) if word not in _OF_ANY)

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
        """Which it is, or of what starts others, was told to start."""
        yield from of_program(self.path, compiled=self.is_compiled)
        yield from chain(*map(of_module, self._modules[:1]))
        yield from chain(*map(of_word, self._verbs)) if self.hands_on else ()

    @property
    def named(self) -> Iterator[str]:
        """What it is called where it is an engine."""
        engines = tuple(self.engines)
        return iter((self.name,) if engines and self.is_compiled else engines)

    @property
    def letters(self) -> Iterator[Letters]:
        """Whose its flags of one letter are. What starts an engine has others than the engine."""
        if self.name in OF_RANKS:
            yield "of ranks"
        for engine in () if self.hands_on else self.engines:
            yield "of an engine" if engine in SERVE else "of a test"

    @property
    def ranks(self) -> int | None:
        """An engine that was told of none divides nothing, unless it was told of others, or in another place. What
        starts ranks by host has these; into what they divide it is theirs."""
        items = self.flags.get("items", {})
        told = self._told(_PER_HOST, _HOSTS) if self._told(_PER_HOST) else self._told(*_DIVIDED)
        if any(not str(value).isdecimal() for value in told) or _SHARED & items.keys():
            return None
        if told:
            return prod(map(int, told))
        is_open = self.is_told_of_others or any(name.startswith(_IN_ANOTHER_WAY) for name in items)
        may_ask = any(map(_BENCHMARKS.fullmatch, (*self._told_to_be, self._script)))
        return 1 if _ALONE_BY_DEFAULT.intersection(self.engines) and not is_open and not may_ask else None

    @property
    def is_alone(self) -> bool:
        """Whether it is an engine that is known to divide nothing, and to work with no other: no file tells it more."""
        is_open = self.is_told_of_others or self.asks or bool(self._flag(_FILE))
        return self.ranks == 1 and any(self.engines) and not is_open

    @property
    def is_told_of_others(self) -> bool:
        """Whether it may work with others, on hosts that nobody told of: a number of hosts that is plain tells all."""
        are_not_plain = any(not str(value).isdecimal() for value in self._told(_HOSTS))
        is_told = any(map(_OF_OTHERS.fullmatch, self.flags.get("items", {})))
        return is_told or are_not_plain or self.name in ON_HOSTS

    @property
    def asks(self) -> bool:
        """Whether it is a client of an engine."""
        talks = self.name == "vllm" and self._verbs[:1] in _TALKS
        return talks or any(map(_CLIENTS.fullmatch, (" ".join(self._told_to_be), self._script)))

    @property
    def hosts(self) -> int:
        """Of a range the least."""
        least = next((str(value).partition(":")[0] for value in self._told(_HOSTS)), "")
        return int(least) if least.isdecimal() else 1

    @property
    def _modules(self) -> list[str]:
        """What an interpreter was told to run, and what that was told first: to others the flag is another."""
        return [] if self.is_compiled else [word for word in self._flag(_MODULE)[:2] if isinstance(word, str)]

    @property
    def _verbs(self) -> list[str]:
        operands = self.operands if isinstance(self.operands, list) else []
        return [word for word in operands[:2] if isinstance(word, str)]

    @property
    def _told_to_be(self) -> list[str]:
        """The module that an interpreter was told to run, and the verb of a command with verbs."""
        return [*self._modules, *self._verbs]

    @property
    def _script(self) -> str:
        """As the module that it is, of a package."""
        return module_of(self.path) or self.name.removesuffix(".py")

    def _told(self, *flags: Sequence[str]) -> list[Any]:
        """The first value of each, by whichever of its names."""
        return [values[0] for names in flags if (values := next(filter(None, map(self._flag, names)), []))]

    def _flag(self, name: str) -> list[Any]:
        values = self.flags.get("items", {}).get(name)
        return values if isinstance(values, list) else []
