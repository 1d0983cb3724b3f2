"""NCCL's own log of one process (NCCL_DEBUG=INFO): what it found and chose, as NCCL 2.8 to 2.30 write it.

HOST:PID:TID [DEVICE] NCCL INFO TEXT
[DATE] HOST:PID:TID [DEVICE] FILE:LINE NCCL WARN TEXT
"""

from probes.kit.facts import Gap, Map, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor
from probes.nccl.communicators import UNTOLD, Groups
from probes.nccl.sections import Log

MOST_CHOICES = 400
MOST_WARNINGS = 50

_LINE = lazy_regex(
    r"(?P<pid>\d+):(?P<tid>\d+) (?:\[\d+\] )?(?:\S+:\d+ (?:\(\S+\) )?)?NCCL (?P<level>INFO|WARN) (?P<text>.*)"
)
_VERSION = lazy_regex(r"NCCL version (\S+)")
_NETWORK = lazy_regex(r"Using network (.+)")
_ADAPTERS = lazy_regex(r"NET/\S+ ?: Using (\[\d+\].*)")
_ADAPTER = lazy_regex(r"\[\d+\](?P<name>[^\s:;]+)(?P<port>:\d+/\w+)?")  # :1/RoCE stays, an address does not
_PASSING = lazy_regex(r"^(veth|br-|cali|lxc)[0-9a-f]{5,}$")  # a container's, named anew each time
_GDR = lazy_regex(r"NET/\S+ : GPU Direct RDMA (Enabled|Disabled) for HCA \d+ '([^']+)'")
_SET = lazy_regex(r"(\w+) set by (?:environment|env\w* plugin) to (.*)")
_CHOICE = lazy_regex(r"(?:(\w+): )?(\d+) Bytes -> Algo (\w+) proto (\w+)")
_PLUGIN = lazy_regex(r"([A-Z]+)/Plugin ?: ?(.*)")
_LOADED = lazy_regex(r"(?:Loaded|Using) (?:\w+ plugin )?(.+?)(?: \(v\d+\))?$")
_NUMBER = lazy_regex(r"0x[0-9a-fA-F]+|\d+")
_ALGORITHMS = ("TREE", "RING")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")
"""By number, as they were logged before 2.24; the numbers of others changed."""


def told(text: str, redactor: Redactor, pid: int | None = None) -> Log:
    """pid: as the process calls itself; lines of others, which may share the file, are passed over."""
    lines = _Lines(Groups(starts="- Init START" in text))
    for line in text.splitlines():
        match = _LINE.search(line)
        if match and (pid is None or int(match["pid"]) == pid):
            lines.take(match["tid"], match["level"], match["text"].strip())
        elif match is None and (match := _VERSION.match(line)):
            lines.version = match[1]
    return lines.log(redactor)


class _Lines:
    """What the lines so far say."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self.version: Seen[str] = UNTOLD
        self._network: Seen[str] = UNTOLD
        self._adapters: tuple[str, ...] = ()
        self._plugins: dict[str, str] = {}
        self._gdr: dict[str, bool] = {}
        self._set: dict[str, str] = {}
        self._choices: dict[str, set[str]] = {}
        self._warnings: set[str] = set()

    def take(self, thread: str, level: str, text: str) -> None:
        if level == "WARN":
            self._warnings.add(_NUMBER.sub("N", text))
        elif not self._groups.take(thread, text):
            self._of_process(text)

    def _of_process(self, text: str) -> None:
        if match := _SET.match(text):
            self._set[match[1]] = match[2].removesuffix(".")
        elif match := _CHOICE.match(text):
            self._choose(match[1] or "any", int(match[2]), _choice(match[3], match[4]))
        elif match := _VERSION.match(text):
            self.version = match[1]
        elif match := _PLUGIN.match(text):
            self._plug(match[1].lower(), match[2])
        else:
            self._of_network(text)

    def _of_network(self, text: str) -> None:
        if match := _NETWORK.match(text):
            self._network = match[1]
        elif match := _ADAPTERS.match(text):
            found = _ADAPTER.finditer(match[1].partition(";")[0])
            self._adapters = tuple(_PASSING.sub(r"\1*", one["name"]) + (one["port"] or "") for one in found)
        elif match := _GDR.match(text):
            self._gdr[match[2]] = match[1] == "Enabled"

    def _choose(self, operation: str, size: int, choice: str) -> None:
        self._choices.setdefault(f"{operation} {1 << max(size - 1, 0).bit_length()}", set()).add(choice)

    def _plug(self, kind: str, says: str) -> None:
        if "internal" in says or "No plugin found" in says:
            self._plugins[kind] = "internal"
        elif match := _LOADED.match(says):
            self._plugins[kind] = match[1]

    def log(self, redactor: Redactor) -> Log:
        choices = {key: ", ".join(sorted(self._choices[key])) for key in sorted(self._choices)[:MOST_CHOICES]}
        warnings = (redactor.parameter("", text) for text in sorted(self._warnings)[:MOST_WARNINGS])
        communicators = self._groups.sections()
        return Log(
            version=self.version,
            network=self._network,
            adapters=self._adapters or UNTOLD,
            plugins=Map(self._plugins),
            gdr_adapters=Map(self._gdr),
            set_by_environment=Map({name: redactor.variable(name, value) for name, value in self._set.items()}),
            choices=Map(choices) if choices else Gap("not_observable", "NCCL_DEBUG_SUBSYS holds no TUNING"),
            warnings=tuple(warnings),
            communicators=Map(communicators),
        )


def _choice(algorithm: str, protocol: str) -> str:
    return f"{_named(algorithm, _ALGORITHMS)}/{_named(protocol, _PROTOCOLS)}"


def _named(word: str, names: tuple[str, ...]) -> str:
    return names[int(word)] if word.isdecimal() and int(word) < len(names) else word
