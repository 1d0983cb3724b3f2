"""A published value in words: what a reader sees of a fact before and after, in a sentence and in a table.

What is no value stands in parentheses: `(denied)`, `(private)`, `(none)`. Text is quoted where it could
be taken for one of these, or holds what a terminal would act on.
"""

import time
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from probes.kit.lazy import lazy_regex

LIMIT = 48  # characters of one side
_LEAD = 12  # characters kept before the first difference
_HEX = lazy_regex(r"[0-9a-f]{32,}")
_HEX_SHOWN = 12
_WHOLE_LIST = 4  # items up to which a list is shown whole
_ON_A_LINE = lazy_regex(r"(process/[^/]+/flags|kernel/cmdline)/")
_SET = {"gap": "set"}
_HUNDREDTHS = {"1/100 %": "%", "1/100": ""}
_MULTIPLES = {
    "B": ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")),
    "mW": ((1000, "W"),),
    "kHz": ((1000, "MHz"),),
}

_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "ticks of 1/100 s": 1e2}


def moment(ns: int) -> str:
    """How a time since 1970 is written, in the contract and in every report: UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ns // 1_000_000_000))


def clean(text: str) -> str:
    """One line that no terminal acts on: everything unprintable is written as its escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def before_after(before: Any, after: Any, unit: str = "", of: str = "") -> str:
    """`600 -> 450 W`. Sides that differ look different, however much of them is left out.

    Where all numbers are whole multiples of a larger unit that one is used: 600000 mW are 600 W, 600500 are not.
    of: the fact, where it is known; a switch of a command line, which has no value, is `(set)`.
    """
    if _ON_A_LINE.match(of):
        before, after = _as_written(before), _as_written(after)
    size, unit = _larger(unit, [*_numbers(before), *_numbers(after)])
    before, after = _divided(before, size), _divided(after, size)
    old, new = _sides(before, after)
    if not unit or not (_is_value(before) or _is_value(after)):
        return f"{old} -> {new}"
    if _is_value(before) and _is_value(after):
        return f"{old} -> {new} {clean(unit)}"
    return f"{_with_unit(before, old, unit)} -> {_with_unit(after, new, unit)}"


def growth(before: Any, after: Any, unit: str) -> str:
    """Of a counter that stood still in one run only: `stood still -> grew by 1`; a time is a share of the run's."""
    if unit == "%":
        return before_after(before, after, unit)
    return " -> ".join(f"grew by {side} {clean(unit)}".rstrip() if side else "stood still" for side in (before, after))


def in_words(value: Any, of: str = "") -> str:
    """One value by itself."""
    return _cut(_plain(_as_written(value) if _ON_A_LINE.match(of) else value), 0)


def exactly(value: Any, unit: str, of: str = "") -> str:
    """One value in the largest unit of which it is a whole multiple: 450000 mW are `450 W`, 450500 are `450500 mW`."""
    if unit in _HUNDREDTHS and isinstance(value, int):
        return f"{value / 100:g} {_HUNDREDTHS[unit]}".rstrip()
    size, larger = _larger(unit, _numbers(value))
    told = in_words(_divided(value, size), of)
    return _with_unit(value, told, larger) if larger else told


def in_full(value: Any, unit: str = "", of: str = "") -> str:
    """One value by itself, nothing of it left out, in the largest unit that it is a whole multiple of."""
    size, unit = _larger(unit, _numbers(value))
    divided = _divided(value, size)
    words = _plain(_as_written(divided) if _ON_A_LINE.match(of) else divided)
    return f"{words} {clean(unit)}" if unit and _is_value(value) else words


def _as_written(values: Any) -> Any:
    """One value without the brackets of a list."""
    if not isinstance(values, list) or len(values) > 1:
        return values
    return values[0] if values else _SET


def place(pattern: str, path: str) -> str:
    """What stands in `path` where `pattern` has its asterisks: `0000:17:00.0`."""
    return "/".join(name for star, name in zip(pattern.split("/"), path.split("/"), strict=True) if star == "*")


def quantity(number: float, unit: str) -> str:
    """Four significant digits, in the decimal multiple that fits: of bytes, of mW and of kHz."""
    power, shown = _multiple(number, unit)
    return f"{_digits(number / power)} {clean(shown)}".rstrip()


def quantities(before: float, after: float, unit: str) -> str:
    """`19.2 -> 29.6 ms`, both in one multiple."""
    power, shown = _multiple(max(abs(before), abs(after)), unit)
    return f"{_digits(before / power)} -> {_digits(after / power)} {clean(shown)}".rstrip()


def rates(before: float, after: float, unit: str) -> str:
    """What grew, per second: of times the share of the time, which several threads together spend more than once."""
    if of_a_second := _SECOND.get(unit):
        a, b = (f"{100 * rate / of_a_second:.3g}" for rate in (before, after))
        return f"{a} -> {b} % of the time"
    return f"{quantities(before, after, unit)} per second"


def _digits(number: float) -> str:
    digits = f"{number:.4g}"
    return f"{number:.0f}" if "e" in digits and 1 <= abs(number) < 1e15 else digits


def _multiple(number: float, unit: str) -> tuple[int, str]:
    if unit != "B":
        larger = _MULTIPLES.get(unit, ((1, unit),))[0]
        return larger if abs(number) >= larger[0] else (1, unit)
    fits = (step for step in enumerate(("B", "kB", "MB", "GB")) if abs(number) < 1000 ** (step[0] + 1))
    power, unit = next(fits, (4, "TB"))
    return 1000**power, unit


def _larger(unit: str, numbers: Sequence[int]) -> tuple[int, str]:
    fits = (it for it in _MULTIPLES.get(unit, ()) if any(numbers) and all(number % it[0] == 0 for number in numbers))
    return next(fits, (1, unit))


def _numbers(value: Any) -> list[int]:
    """Those of a value, of both of one that changed during a run, and of a list."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    return [number for part in _parts(value) for number in _numbers(part)]


def _parts(value: Any) -> list[Any]:
    within = value.get("during", []) if isinstance(value, dict) else value
    return within if isinstance(within, list) else []


def _divided(value: Any, size: int) -> Any:
    if size == 1 or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value // size
    if isinstance(value, list):
        return [_divided(part, size) for part in value]
    return {"during": _divided(value["during"], size)} if _parts(value) else value


def _sides(before: Any, after: Any) -> tuple[str, str]:
    old, new = _pair(before, after)
    same = _alike(old, new)
    if _HEX.fullmatch(old) and _HEX.fullmatch(new) and same < _HEX_SHOWN:
        return f"{old[:_HEX_SHOWN]}...", f"{new[:_HEX_SHOWN]}..."
    start = max(0, same - _LEAD) if max(len(old), len(new)) > LIMIT else 0
    return _cut(old, start), _cut(new, start)


def _pair(before: Any, after: Any) -> tuple[str, str]:
    if _is_private(before) and _is_private(after):
        return "(private)", "(another, private)"
    old, new = _plain(before), _plain(after)
    if old == new and isinstance(before, list) and any(map(_is_private, before)):
        return old, "(the same but for what is private)"
    if old == new:  # 8 and "8"
        return _exact(before), _exact(after)
    if isinstance(before, list) and isinstance(after, list):
        old, new = (_plain(side) for side in _differing(before, after))
    return old, new


def _cut(text: str, start: int) -> str:
    head = "..." if start else ""
    return head + (text[start:] if len(text) - start <= LIMIT else f"{text[start : start + LIMIT]}...")


def _with_unit(value: Any, words: str, unit: str) -> str:
    return f"{words} {clean(unit)}" if _is_value(value) else words


def _is_value(value: Any) -> bool:
    return value is not None and not _is_gap(value) and not _is_private(value)


def _is_gap(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"gap"}


def _is_private(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"redacted"}


def _plain(value: Any) -> str:
    if value is None:
        return "(none)"
    if _is_gap(value):
        return f"({clean(str(value['gap'])).replace('_', ' ')})"
    if _is_private(value):
        return "(private)"
    if isinstance(value, dict) and value.keys() == {"during"}:
        return " then ".join(map(_plain, value["during"]))
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return _exact(value)


def _exact(value: Any) -> str:
    if isinstance(value, str):
        return repr(value)
    import json

    return clean(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _text(text: str) -> str:
    bare = text.isprintable() and text == text.strip() and text[:1] not in ("", "(", "[", "{", "'", '"')
    return text if bare else repr(text)


def _differing(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Both lists without what they begin and end with alike but for one item, where there are many."""
    shorter, longer = sorted((len(before), len(after)))
    if longer <= _WHOLE_LIST:
        return list(before), list(after)
    head = _alike(before, after)
    tail = min(_alike(reversed(before), reversed(after)), shorter - head)
    head, tail = max(head - 1, 0), max(tail - 1, 0)
    return _elided(before, head, tail), _elided(after, head, tail)


def _alike(one: Iterable[Any], other: Iterable[Any]) -> int:
    """How many items both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _elided(items: Sequence[Any], head: int, tail: int) -> list[Any]:
    dots = ["..."]
    return dots * bool(head) + list(items[head : len(items) - tail]) + dots * bool(tail)
