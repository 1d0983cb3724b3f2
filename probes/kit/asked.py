"""Which models the arguments of a process name."""

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Union

import msgspec

from probes.kit.engines import program_of
from probes.kit.facts import Redacted, Seen
from probes.kit.flags import END, flags
from probes.kit.lazy import lazy_regex

Text = Union[str, Redacted]
Values = Mapping[str, Seen[tuple[Text, ...]]]

TARGET, DRAFT, TOKENIZER = "target", "draft", "tokenizer"

_NAMED_BY: Mapping[str, tuple[str, ...]] = {
    TARGET: ("--model", "--model-path", "--model-id", "--hf-repo", "-hf", "-hfr"),
    DRAFT: (
        "--speculative-draft-model-path",  # SGLang; vLLM's --speculative-config is JSON
        "--speculative-draft-model",
        "--speculative-config.model",  # vLLM's other spelling of that JSON
        "--speculative-config.speculative-model",  # TensorRT-LLM, in a file; formerly the one that follows
        "--speculative-config.speculative-model-dir",
        "-sc.model",
        "--speculative-model",  # vLLM before 0.9
        "--model-draft",  # llama.cpp, with the two that follow
        "--spec-draft-model",
        "-md",
        "--hf-repo-draft",
        "-hfd",
    ),
    TOKENIZER: ("--tokenizer", "--tokenizer-path"),
}
_REVISED_BY: Mapping[str, tuple[str, ...]] = {
    TARGET: ("--revision",),
    DRAFT: ("--speculative-draft-model-revision", "--speculative-config.revision", "-sc.revision"),
    TOKENIZER: ("--tokenizer-revision",),
}
_CACHED_BY = ("--download-dir", "--huggingface-hub-cache")
_SPECULATION = ("--speculative-config", "-sc")
_BY_VARIABLE = {"text-generation-launcher": "MODEL_ID", "llama-server": "LLAMA_ARG_MODEL"}
_LLAMA = "llama"  # to other programs `-m` is something else
_SERVING: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "vllm": (("serve",),),
    "trtllm-serve": (("serve",), ("mm_embedding_serve",), ()),
    "tensorrt_llm.commands.serve": (("serve",), ("mm_embedding_serve",), ()),
    "lmdeploy": (("serve", "api_server"),),
    "text-generation-server": (("serve",),),
}
"""Programs that take the model as an operand, and the words that stand before it."""
_WITHOUT_MODEL = ("disaggregated", "disaggregated_mpi_worker")  # of trtllm-serve; their servers have it
# Of these programs' flags, those without a value, and those that take all words up to the next flag (argparse's `+`
# and `*`); all others take one: vllm 0.33.0, lmdeploy 0.18.0, tensorrt-llm 1.0.
_SWITCH = lazy_regex(
    r"--(?:(?:enable|disable|no|skip|return|log|headless|async-scheduling)(?:-.+)?|trust-remote-code|enforce-eager"
    r"|data-parallel-(?:hybrid|external)-lb|calculate-kv-scales|exclude-input-from-output)$"
)
_TAKES_ALL = frozenset(
    "--served-model-name --lora-modules --api-key --api-keys --adapters --cudagraph-capture-sizes --logits-processors"
    " --cuda-graph-sizes --allow-origins --allow-methods --allow-headers --middleware".split()
)


class Asked(NamedTuple):
    """revision: "" where none was asked for. cache: the hub's cache that a flag names, else ""."""

    name: Text
    revision: str = ""
    cache: str = ""


def asked(argv: Sequence[Text], env: Mapping[str, Text], file: Values = MappingProxyType({})) -> Mapping[str, Asked]:
    """By role; empty for a process whose arguments name no model. file: flags of a file that they name, which gives
    what they leave out."""
    program, words = program_of(argv)
    line = flags(words)
    given = {**file, **line.flags.items}
    cache = _clear(_last(given, _CACHED_BY))
    names = {role: _last(given, named) for role, named in _NAMED_BY.items()}
    if _last(line.flags.items, _NAMED_BY[TARGET]) is None:
        names[TARGET] = _elsewhere(program, given, words, env) or names[TARGET]
    found = {
        role: Asked(name, _clear(_last(given, _REVISED_BY[role])), cache)
        for role, name in names.items()
        if name is not None and name != ""
    }
    drafted = _speculation(_clear(_last(given, _SPECULATION)), cache)
    return {**found, DRAFT: drafted} if drafted else found


def _last(given: Values, names: Sequence[str]) -> Text | None:
    """The flag's last value, as parsers take it."""
    for values in (given[name] for name in names if name in given):
        if isinstance(values, tuple) and values:
            return values[-1]
    return None


def _clear(word: Text | None) -> str:
    return word if isinstance(word, str) else ""


def _elsewhere(program: str, given: Values, words: Sequence[Text], env: Mapping[str, Text]) -> Text | None:
    if program.startswith(_LLAMA) and (named := _last(given, ("-m",))) is not None:
        return named
    for before in () if words[:1] and words[0] in _WITHOUT_MODEL else _SERVING.get(program, ()):
        if tuple(words[: len(before)]) == before:
            return next(_operands(words[len(before) :]), None)
    return env.get(_BY_VARIABLE.get(program, ""))


def _operands(words: Sequence[Text]) -> Iterator[Text]:
    """Those that no flag before them takes."""
    room = 0.0
    for word in words:
        flag = next(iter(flags((word,)).flags.items.items()), None)
        if flag or word == END:
            room = _room(*flag) if flag else 0
        elif room:
            room -= 1
        else:
            yield word


def _room(flag: str, values: Seen[tuple[Text, ...]]) -> float:
    """How many of the words behind it are its own."""
    if values or _SWITCH.match(flag):
        return 0
    return math.inf if flag in _TAKES_ALL else 1


def _speculation(config: str, cache: str) -> Asked | None:
    """Of `{"method": "eagle3", "model": "org/name", "revision": "main"}`."""
    try:
        told = msgspec.json.decode(config or "{}", type=_Speculation)
    except (ValueError, RecursionError):
        return None
    return Asked(told.model, told.revision or "", cache) if told.model else None


class _Speculation(msgspec.Struct):
    model: str | None = None
    revision: str | None = None
