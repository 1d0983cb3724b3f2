"""What the kit would be on slotted frozen dataclasses: a codec made from the type hints, as strict as msgspec's."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Gap:
    code: str
    detail: str = ""


class Fact(NamedTuple):
    why: str
    source: str
    unit: str = ""


NOT_READ = Gap("not_read")
Seen = Union[T, Gap]


def config(why: str, source: str, unit: str = "") -> Any:
    return field(default=NOT_READ, metadata={"fact": Fact(why, source, unit)})


def section(cls: type[Any]) -> Any:
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def dumps(value: Any) -> bytes:
    return json.dumps(_plain(value), separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Gap):
        return {"$": "gap", "code": value.code, "detail": value.detail}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(item) for name in value.__slots__ if (item := getattr(value, name)) is not NOT_READ}
    return value


def loads(text: bytes, cls: Any) -> Any:
    return _decoder(cls)(json.loads(text))


@cache
def _decoder(hint: Any) -> Callable[[Any], Any]:
    if get_origin(hint) in (Union, UnionType):
        return _seen_decoder(next(arm for arm in get_args(hint) if arm is not Gap))
    if get_origin(hint) is tuple:
        item = _decoder(get_args(hint)[0])
        return lambda value: tuple(item(one) for one in value)
    if get_origin(hint) is dict:
        item = _decoder(get_args(hint)[1])
        return lambda value: {key: item(one) for key, one in value.items()}
    return _section_decoder(hint) if hasattr(hint, "__dataclass_fields__") else _scalar_decoder(hint)


def _seen_decoder(hint: Any) -> Callable[[Any], Any]:
    decode = _decoder(hint)

    def seen(value: Any) -> Any:
        if isinstance(value, dict) and value.get("$") == "gap":
            return Gap(value["code"], value.get("detail", ""))
        return decode(value)

    return seen


def _section_decoder(cls: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(cls)
    decoders = {one.name: _decoder(hints[one.name]) for one in fields(cls)}
    return lambda value: cls(**{name: decoders[name](item) for name, item in value.items()})


def _scalar_decoder(cls: type) -> Callable[[Any], Any]:
    def scalar(value: Any) -> Any:
        if type(value) is not cls:
            raise ValueError(f"expected {cls.__name__}, got {value!r}")
        return value

    return scalar
