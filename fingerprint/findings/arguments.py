"""Arguments that a server was given and does not serve by: what its flags say against what it answers itself.

What nobody asked for is the engine's to choose, and what was left to it (`auto`) as well. Names of models, folders and
files are not compared: the engine resolves them.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fingerprint.findings.finding import Finding, plain
from fingerprint.findings.seats import paths
from fingerprint.findings.state import State
from probes.engine.sections import Engine
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.lazy import lazy_regex
from probes.process.sections import Process

_ONE: Mapping[str, str] = {
    alias: names.split()[0]
    for names in (
        "--tp-size --tp -tp --tensor-parallel-size",
        "--pp-size --pp -pp --pipeline-parallel-size",
        "--dp-size --dp -dp --data-parallel-size",
        "--ep-size --ep --expert-parallel-size",
        "--parallel -np",
        "--ctx-size -c",
        "--quantization -q",
    )
    for alias in names.split()
}
_NAMES_ONE = lazy_regex(r"--.*(?:model|tokenizer|name|path|file|template|dir|revision)$")
_LEFT_TO_IT = frozenset({"auto", "-1", "none", "null", "default"})
_ON, _OFF = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})
_ALSO = {"nextn": "eagle", "half": "float16", "fp16": "float16", "bf16": "bfloat16", "float": "float32"}
"""SGLang and vLLM write the one where the other was asked for."""
_MULTIPLES = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
"""Of vLLM's flags: `8k` is 8000, `8K` is 8192."""
_NEAR = 1e-4
_RUNNING, _CONTEXT = "--max-running-requests", "--ctx-size"


class _Asked(NamedTuple):
    """name: as it stands in the arguments."""

    name: str
    values: tuple[str, ...]


def of_engines(state: State) -> Iterator[Finding]:
    processes = state.sections("process", Process)
    for target, engine in state.sections("engine", Engine).items():
        asked = _asked(processes.get(target, Process()))
        told = {} if isinstance(engine.arguments, Gap) else _known(engine.arguments)
        for name, it in asked.items():
            if name in told and not _NAMES_ONE.match(name) and _differ(it, told[name].values):
                yield _finding(target, it, ("arguments", told[name].name), _spoken(told[name].values))
        yield from _fewer_requests(target, asked, told, engine)
        yield from _shorter_context(target, asked, engine)


def _asked(process: Process) -> Mapping[str, _Asked]:
    return {} if isinstance(process.flags, Gap) else _known(process.flags)


def _known(flags: Map[tuple[str | Redacted, ...] | Gap]) -> Mapping[str, _Asked]:
    """By the name that all of its names stand for; without what was not seen."""
    found: dict[str, _Asked] = {}
    for name, values in flags.items.items():
        if isinstance(values, Gap) or any(isinstance(value, Redacted) for value in values):
            continue
        shown = tuple(str(value) for value in values)
        if name.startswith("--no-") and not shown:
            found.setdefault(f"--{name[5:]}", _Asked(name, ("false",)))
        found[_ONE.get(name, name)] = _Asked(name, shown)
    return found


def _differ(asked: _Asked, told: tuple[str, ...]) -> bool:
    values = asked.values[-1:] if len(told) == 1 else asked.values
    if any(value.lower() in _LEFT_TO_IT or "/" in value or value[:1] in "{[" for value in (*values, *told)):
        return False
    if not values or not told:
        return _is_on(values) is not None and _is_on(told) is not None and _is_on(values) != _is_on(told)
    return len(values) == len(told) and not all(map(_same, values, told))


def _is_on(values: tuple[str, ...]) -> bool | None:
    """Of a switch; None of any other value."""
    word = values[-1].lower() if values else "true"
    return True if word in _ON else False if word in _OFF else None


def _same(asked: str, told: str) -> bool:
    numbers = _number(asked), _number(told)
    if numbers[0] is not None and numbers[1] is not None:
        return abs(numbers[0] - numbers[1]) <= _NEAR * max(abs(numbers[0]), abs(numbers[1]))
    switches = _is_on((asked,)), _is_on((told,))
    return (
        _word(told) == _word(asked)
        or _word(told).startswith(f"{_word(asked)}_")
        or (None not in switches and switches[0] == switches[1])
    )


def _spoken(values: tuple[str, ...]) -> str:
    return {(): "it on", ("false",): "it off"}.get(values) or " ".join(values)


def _word(text: str) -> str:
    word = text.lower().removeprefix("torch.")
    return _ALSO.get(word, word)


def _number(text: str) -> float | None:
    multiple = _MULTIPLES.get(text[-1:], 1.0)
    try:
        return float(text.rstrip("".join(_MULTIPLES)) if multiple > 1 else text) * multiple
    except ValueError:
        return None


def _fewer_requests(
    target: str, asked: Mapping[str, _Asked], told: Mapping[str, _Asked], engine: Engine
) -> Iterator[Finding]:
    """SGLang's schedulers are given what they can hold, and its arguments still say what was asked. What does not
    divide among them is lost."""
    wanted, most = _last(asked.get(_RUNNING)), engine.max_running_requests
    ranks = _last(told.get("--dp-size")) or 1
    if wanted is not None and not isinstance(most, Gap) and most <= wanted - ranks:
        yield _finding(target, asked[_RUNNING], ("max_running_requests",), str(most))


def _shorter_context(target: str, asked: Mapping[str, _Asked], engine: Engine) -> Iterator[Finding]:
    """llama.cpp's slots divide it, and it is rounded up."""
    wanted, length, slots = _last(asked.get(_CONTEXT)), engine.context_length, engine.max_running_requests
    if wanted and not isinstance(length, Gap) and not isinstance(slots, Gap) and length * slots < wanted:
        yield _finding(target, asked[_CONTEXT], ("context_length",), f"{length} for each of {slots} slots")


def _last(asked: _Asked | None) -> float | None:
    return _number(asked.values[-1]) if asked and asked.values else None


def _finding(target: str, asked: _Asked, names: tuple[str, ...], serves: str) -> Finding:
    wanted = () if asked.name.startswith("--no-") else asked.values
    return Finding(
        rule="engine-argument-not-taken",
        about=asked.name,
        facts=(*paths("process", [target], "flags", asked.name), *paths("engine", [target], *names)),
        values={target: plain(serves)},
        says=f"{target} was started with {' '.join((asked.name, *wanted))}, and serves with {serves}.",
        do="Look for the argument in the engine's log at the start, where it says what it overrides and why; ask for "
        "what it serves with, or take away what overrides it.",
    )
