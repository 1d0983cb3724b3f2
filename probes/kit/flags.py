"""A command line as flags with their values, and operands.

Of a program whose parser nobody asked, which words belong to a flag is a rule, and the same in every run:

    serve /models/m --tp 8 --lora a b --trust_remote_code --port=30000 more -ngl -1 -- --rest

    --tp 8    --lora a b    --trust-remote-code    --port 30000    -ngl -1        operands: serve /models/m more --rest
"""

from collections.abc import Sequence
from typing import NamedTuple, Union

from probes.kit.facts import Map, Redacted, Seen
from probes.kit.lazy import lazy_regex

Words = tuple[Union[str, Redacted], ...]

_NAME = lazy_regex(r"(?:--[^\s=-]|-[^\s=\d.-])[^\s=]*")  # -1 and -.5 are values
END = "--"
_TAKES_ONE = frozenset({"--port", "--host", "--http-port", "--server-port"})
"""Of every engine's parser: in `vllm serve --port 8000 org/model` the model is no port."""


class Line(NamedTuple):
    """flags: by name, in the order of their first appearance; a bare switch has no value."""

    flags: Map[Seen[Words]]
    operands: Words


class _Flag(NamedTuple):
    """given: the value behind `=`; None where there is none, so that the words that follow are its values."""

    name: str
    given: str | None


def flags(words: Sequence[str | Redacted]) -> Line:
    """All words up to the next flag are a flag's values, as argparse's `nargs="+"` has it; a repeated flag joins them.
    Operands are what stands before the first flag, behind `--name=value`, behind the value of a port or host, and
    behind `--`.

    `--max_num_seqs` is `--max-num-seqs`: vLLM's parser takes both for one, and no other one tells two flags apart by
    it. A redacted word is a value or an operand, since no flag is redacted with its name.
    """
    found: dict[str, Words] = {}
    operands: list[str | Redacted] = []
    taking = ""
    ahead = iter(words)
    for word in ahead:
        if word == END:
            operands.extend(ahead)
        elif flag := _flag(word):
            values = () if flag.given is None else (flag.given,)
            found[flag.name] = (*found.get(flag.name, ()), *values)
            taking = "" if values else flag.name
        elif taking:
            found[taking] = (*found[taking], word)
            taking = "" if taking in _TAKES_ONE else taking
        else:
            operands.append(word)
    return Line(Map(found), tuple(operands))


def _flag(word: str | Redacted) -> _Flag | None:
    match = None if isinstance(word, Redacted) else _NAME.match(word)
    if isinstance(word, Redacted) or match is None or word[match.end() :][:1] not in ("", "="):
        return None
    name, equals, given = word.partition("=")
    return _Flag(name.replace("_", "-") if name.startswith("--") else name, given if equals else None)
