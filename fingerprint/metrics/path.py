"""Where in a JSON document a value stands: `runs[0].latency_ms`, `[*].samples`, `metrics["p99.9 (ms)"]`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Union

import msgspec

from fingerprint.trouble import Trouble

# A bare key ends at what separates; any key may be quoted as in JSON, after a dot or in brackets.
_STEP = re.compile(
    r"""\[(?P<index>-?\d{1,9}|\*)\] | \[(?P<bracketed>"(?:[^"\\]|\\.)*")\]
      | \.?(?:(?P<quoted>"(?:[^"\\]|\\.)*") | (?P<bare>[^.\[\]"]+))""",
    re.VERBOSE,
)
NAMED = 8  # keys in a sentence


class Every(NamedTuple):
    """`[*]`: each element of a list."""


Step = Union[str, int, Every]
EVERY = Every()


class Path(NamedTuple):
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The path as a metric's name: without `[*]`."""
        return str(Path(tuple(step for step in self.steps if step != EVERY)))

    @property
    def key(self) -> str:
        """The last key; empty where there is none."""
        return next((step for step in reversed(self.steps) if isinstance(step, str)), "")

    def __str__(self) -> str:
        return "".join(map(_printed, self.steps)).removeprefix(".")


def parse_path(text: str) -> Path:
    """Raises Trouble that names the column. The empty path is the document itself; a leading `$` means the same."""
    rest = text.removeprefix("$")
    steps: list[Step] = []
    at = 0
    while at < len(rest):
        found = _STEP.match(rest, at)
        if not found or (steps and found["bare"] is not None and rest[at] != "."):
            raise Trouble(
                f"'{text}' is no path: at '{rest[at:]}' there should be .key, [number], [*] or a quoted key, "
                'as in runs[0].latency_ms or stats["p99.9"]'
            )
        steps.append(_step(found))
        at = found.end()
    return Path(tuple(steps))


def _step(found: "re.Match[str]") -> Step:
    if index := found["index"]:
        return EVERY if index == "*" else int(index)
    if found["bare"] is not None:
        return found["bare"]
    try:
        return msgspec.json.decode(found["bracketed"] or found["quoted"], type=str)
    except msgspec.MsgspecError as error:
        raise Trouble(f"{found[0]} is no quoted key: {error}") from None


def _printed(step: Step) -> str:
    if isinstance(step, Every):
        return "[*]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if re.fullmatch(r'[^.\[\]"$,#][^.\[\]"]*', step) else f".{msgspec.json.encode(step).decode()}"


class Place(NamedTuple):
    """A value and where it stands: in `file`, at `path`. parent: what it is a member of."""

    value: Any
    file: str
    path: str = ""
    parent: Any = None

    @property
    def where(self) -> str:
        return f"{self.file}#{self.path}" if self.path else self.file


class Missing(NamedTuple):
    """Nothing stands there: `says` why, with what stands there instead."""

    says: str


def walk(document: Any, path: Path, file: str) -> Iterator[Union[Place, Missing]]:
    """All that the path leads to, in order."""
    yield from _walk(Place(document, file), path.steps)


def _walk(place: Place, steps: tuple[Step, ...]) -> Iterator[Union[Place, Missing]]:
    if not steps:
        yield place
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, Every):
        if not isinstance(place.value, list):
            yield Missing(f"{place.where} is no list, so [*] means nothing there{_keys(place.value)}")
            return
        for index, item in enumerate(place.value):
            yield from _walk(_beneath(place, index, item), rest)
    elif isinstance(step, int):
        yield from _at(place, step, rest)
    elif isinstance(place.value, dict) and step in place.value:
        yield from _walk(_beneath(place, step, place.value[step]), rest)
    else:
        yield Missing(f"{place.where} has no '{step}'{_near(place.value, step)}{_keys(place.value)}")


def _at(place: Place, index: int, rest: tuple[Step, ...]) -> Iterator[Union[Place, Missing]]:
    if not isinstance(place.value, list):
        yield Missing(f"{place.where} is no list, so [{index}] means nothing there{_keys(place.value)}")
    elif not -len(place.value) <= index < len(place.value):
        yield Missing(f"{place.where} has {len(place.value)} elements, so there is no [{index}]")
    else:
        yield from _walk(_beneath(place, index, place.value[index]), rest)


def _beneath(place: Place, step: Step, value: Any) -> Place:
    return Place(value, place.file, f"{place.path}{_printed(step)}".removeprefix("."), place.value)


def _near(value: Any, key: str) -> str:
    if not isinstance(value, dict):
        return ""
    from difflib import get_close_matches

    near = get_close_matches(key, value, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _keys(value: Any) -> str:
    """What the user could have meant."""
    if isinstance(value, list):
        return f": it is a list of {len(value)}, whose elements are [0] and so on, or [*] for all"
    return f": {keys_of(value)}" if isinstance(value, dict) else ""


def keys_of(value: Mapping[str, Any]) -> str:
    named = ", ".join(f"'{key[:40]}'" for key in list(value)[:NAMED])
    return f"it has {named}{' and more' if len(value) > NAMED else ''}" if named else "it is empty"
