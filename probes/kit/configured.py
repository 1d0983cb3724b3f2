"""Flags that a file gives which the arguments of a server name, as the server reads it.

    vLLM, SGLang  --config FILE: keys are flags, `true` is a switch, `false` is none. The command line wins
                  (docs.vllm.ai, configuration/serve_args; docs.sglang.ai, server_arguments)
    TensorRT-LLM  --config FILE, formerly --extra_llm_api_options: fields of LlmArgs. Until June 2026 the file wins,
                  since then the command line (NVIDIA/TensorRT-LLM, pull request 14812)

llama-server's --models-preset needs no reading: it starts a process for each model, whose arguments hold it all.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from probes.kit.engines import Engine, part_of, program_of
from probes.kit.facts import Gap, Map, Redacted, Seen, then
from probes.kit.filepaths import absolute
from probes.kit.flags import Words, flags
from probes.kit.host import Host

Flags = Mapping[str, Seen[Words]]


class _Form(NamedTuple):
    """named_by: flags. switches: whether `true` is a flag without a value. may_win: the file over the command line."""

    named_by: tuple[str, ...]
    switches: bool = True
    may_win: bool = False


_FORMS: Mapping[Engine, _Form] = {
    "vllm": _Form(("--config",)),
    "sglang": _Form(("--config",)),
    "tensorrt-llm": _Form(("--config", "--extra-llm-api-options"), switches=False, may_win=True),
}
STARTING = 60 * 10**9  # ns: a script may write the file before it becomes the server
_CHANGED = Gap("not_observable", "the file of settings was changed after the server was started")
_ON, _OFF = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
_WHICH_WINS = Gap(
    "not_observable", "file and command line give another value each: which one wins depends on the release"
)


class File(NamedTuple):
    """flags: what it gives. may_win: over the command line."""

    flags: Flags = {}
    may_win: bool = False

    def under(self, line: Flags) -> Flags:
        """With the flags of the command line."""
        twice = self.flags.keys() & line.keys() if self.may_win else ()
        return {**self.flags, **line, **{name: _WHICH_WINS for name in twice if self.flags[name] != line[name]}}


def configured(
    files: Host, argv: Sequence[str | Redacted], cwd: Seen[str], began: Callable[[], Seen[int]] | None = None
) -> Seen[File]:
    """Without any flag where the arguments name no file. files: as the server sees them. began: when it was started, in
    ns since 1970; None before that."""
    part = part_of(argv, {})
    form = _FORMS.get(part.engine) if part and part.role == "launcher" else None
    given = flags(program_of(argv)[1]).flags.items if form else {}
    named = next((given[name] for name in (form.named_by if form else ()) if name in given), ())
    if form is None or isinstance(named, Gap) or not named:
        return File()
    path = named[-1]
    if isinstance(path, Redacted):
        return Gap("not_observable", "the name of the file of settings looks like a secret and was redacted")
    place = path if path.startswith("/") else then(cwd, lambda here: absolute(path, here))
    as_read = then(place, lambda there: _as_read(files, there, began))
    return then(as_read, lambda told: File(_as_flags(told, form.switches), form.may_win))


def _as_read(files: Host, path: str, began: Callable[[], Seen[int]] | None) -> Seen[Map[Seen[Words]]]:
    """What the server found there, which read it when it began."""
    changed = then(files.stat(path), lambda info: info.ctime_ns)
    latest = then(began(), lambda since: since + STARTING) if began else changed
    late = then(changed, lambda at: then(latest, lambda until: at > until))
    return late if isinstance(late, Gap) else _CHANGED if late else files.settings(path)


def _as_flags(settings: Map[Seen[Words]], switches: bool) -> Flags:
    found: dict[str, Seen[Words]] = {}
    for key, values in settings.items.items():
        word = str(values[0]).lower() if isinstance(values, tuple) and len(values) == 1 and switches else ""
        if word not in _OFF:
            found[f"--{key.replace('_', '-')}"] = () if word in _ON else values
    return found
