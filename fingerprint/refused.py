"""Why untrusted input was refused, in good words: pydantic's, on the fields of a msgspec Struct.

Imported only when something was refused (docs/decisions/0004-late-imports.md).
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec
import pydantic


class Complaint(NamedTuple):
    """One key that was refused. unknown: there is no such key."""

    key: str
    found: Any
    expected: str
    unknown: bool


def complaints(struct: type[msgspec.Struct], table: Mapping[str, Any]) -> list[Complaint]:
    """All that is wrong with `table` as a `struct`, in the order of the fields."""
    try:
        _model(struct).model_validate(table)
    except pydantic.ValidationError as refusal:
        return [_complaint(error) for error in refusal.errors(include_url=False)]
    return []


def _complaint(error: Any) -> Complaint:
    key = ".".join(str(step) for step in error["loc"])
    expected = "a table" if error["type"] == "model_type" else error["msg"].removeprefix("Input should be ")
    return Complaint(key, error["input"], expected, error["type"] == "extra_forbidden")


def _model(struct: type[msgspec.Struct]) -> type[pydantic.BaseModel]:
    fields: dict[str, Any] = {field.name: (_mirrored(field.type), None) for field in msgspec.structs.fields(struct)}
    strict = pydantic.ConfigDict(strict=True, extra="forbid")
    return pydantic.create_model(struct.__name__, __config__=strict, **fields)


def _mirrored(hint: Any) -> Any:
    """The same type in pydantic's terms: nested Structs, msgspec's bounds, and TOML's arrays for tuples."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _model(hint)
    if get_origin(hint) is tuple:
        return list[get_args(hint)[0]]  # type: ignore[misc]  # a type made at run time
    if bounds := getattr(hint, "__metadata__", ()):
        return Annotated[hint.__origin__, _bounds(bounds[0])]
    return hint


def _bounds(meta: msgspec.Meta) -> Any:
    return pydantic.Field(gt=meta.gt, ge=meta.ge, lt=meta.lt, le=meta.le)
