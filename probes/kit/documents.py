"""JSON that somebody else wrote, as a Document: what is secret in it is a digest, wherever it stands."""

from typing import Any

import msgspec

from probes.kit.facts import Document, Gap, Seen
from probes.kit.redact import Redactor, has_secret, is_secret_name

MOST_DEPTH = 32


def document(redactor: Redactor, text: bytes) -> Seen[Document]:
    """Raises ValueError for what is no JSON, or goes too deep."""
    try:
        return Document(_plain(redactor, "", msgspec.json.decode(text), MOST_DEPTH))
    except RecursionError:
        return Gap("failed", "JSON without end")


def _plain(redactor: Redactor, name: str, value: Any, depth: int) -> Any:
    """Without secrets, whoever put them there. What stands below the name of one is one."""
    if not depth:
        raise ValueError(f"deeper than {MOST_DEPTH}")
    if isinstance(value, dict):
        below = {key: name if is_secret_name(name) else key for key in value}
        return {_key(redactor, key): _plain(redactor, below[key], item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        private = _private_words(redactor, value)
        return [
            msgspec.to_builtins(redactor.redacted(item)) if at in private else _plain(redactor, name, item, depth - 1)
            for at, item in enumerate(value)
        ]
    return msgspec.to_builtins(redactor.parameter(name, value)) if isinstance(value, str) else value


def _private_words(redactor: Redactor, words: list[Any]) -> set[int]:
    """Where in a command line stands a secret, if the list may be one: behind its flag it has no shape of its own."""
    if not all(isinstance(word, str) for word in words):
        return set()
    told = redactor.each(words)
    return {at for at, (word, kept) in enumerate(zip(words, told, strict=True)) if kept != (word,)}


def _key(redactor: Redactor, key: str) -> str:
    return redactor.redacted(key).digest if has_secret(key) else key
