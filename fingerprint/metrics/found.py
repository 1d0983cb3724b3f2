"""What a reader found in a result, and how it says that it found nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from fingerprint.metrics.metric import Metric
from fingerprint.trouble import Trouble
from probes.kit.redact import Redactor, has_secret

_NAMELESS = "\0"  # of no shape


class NothingRead(Trouble):
    """No metric was read: one sentence that names the file, what was looked for and the remedy."""

    def __init__(self, sentence: str) -> None:
        super().__init__(printable(sentence))


def printable(text: str) -> str:
    """On one line, without what would steer a terminal: a file may hold any text."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


class Found(NamedTuple):
    """metrics: each by its own name. workload: what was asked for, as far as the format tells.

    remarks: what a reader of the numbers should know. troubles: what was to be read and could not be. files: the names
    of what was read, as both may hold them.
    """

    metrics: tuple[Metric, ...] = ()
    workload: Mapping[str, Any] = {}
    remarks: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def joined(parts: Iterable[Found]) -> Found:
    """All of them, in order. Of a workload fact that two of them tell, the last one's value stands."""
    found = list(parts)
    return Found(
        tuple(metric for part in found for metric in part.metrics),
        {key: value for part in found for key, value in part.workload.items()},
        tuple(remark for part in found for remark in part.remarks),
        tuple(trouble for part in found for trouble in part.troubles),
        tuple(dict.fromkeys(file for part in found for file in part.files)),
    )


def folded(client: str, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Workload facts by benchmark as one mapping: `CLIENT/FACT` where all benchmarks agree, else
    `CLIENT/BENCHMARK/FACT`, and the benchmarks in the order of their run."""
    names = dict.fromkeys(name for told in facts.values() for name in told)
    folded: dict[str, Any] = {f"{client}/benchmarks": tuple(facts)}
    for name in names:
        values = [told.get(name) for told in facts.values()]
        if all(value == values[0] for value in values):
            folded[f"{client}/{name}"] = values[0]
        else:
            folded |= {f"{client}/{of}/{name}": told[name] for of, told in facts.items() if name in told}
    return folded


def private(found: Found, redactor: Redactor) -> Found:
    """Without secrets: command lines and parameters, which clients write into results, may hold some."""
    files = tuple(printable(file) for file in found.files)
    return Found(
        tuple(_private_metric(metric, files, redactor) for metric in found.metrics),
        {_private_text(key, redactor): _private_value(key, it, redactor) for key, it in found.workload.items()},
        tuple(_private_sentence(remark, files, redactor) for remark in found.remarks),
        tuple(_private_sentence(trouble, files, redactor) for trouble in found.troubles),
    )


def _private_metric(metric: Metric, files: Sequence[str], redactor: Redactor) -> Metric:
    import msgspec

    return msgspec.structs.replace(
        metric, name=_private_text(metric.name, redactor), gap=_private_sentence(metric.gap, files, redactor)
    )


def _private_sentence(text: str, files: Sequence[str], redactor: Redactor) -> str:
    """A file's name before a colon is no name of a secret, `passwd: No such file`, and is looked at by itself.

    Of a sentence that holds a secret elsewhere it stays told of which file it is.
    """
    names = "|".join(re.escape(file) for file in sorted(files, key=len, reverse=True))
    pattern = rf"(?:^|(?<=:)|(?<=: ))(?:{names})(?![\w/-])"  # `FILE: `, `--metrics auto:FILE: FILE: `
    told = [_private_text(file, redactor) for file in re.findall(pattern, text)] if names else []
    if not told:
        return _private_text(text, redactor)
    between = re.split(pattern, text)
    if has_secret(_NAMELESS.join(between)):
        return f"{told[0]}: {_private_text(text, redactor)}"
    return "".join(chain.from_iterable(zip(between, [*told, ""], strict=True)))


def _private_text(text: str, redactor: Redactor) -> str:
    """Equal texts stay equal under one key."""
    return f"(private {redactor.redacted(text).digest[:12]})" if has_secret(text) else text


def _private_value(key: str, value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.parameter(key.rpartition("/")[2], value)
    if isinstance(value, tuple | list):
        return tuple(_private_value(key, item, redactor) for item in value)
    if isinstance(value, Mapping):
        return {name: _private_value(str(name), item, redactor) for name, item in value.items()}
    return value
