"""Why untrusted input was refused, in good words: pydantic's, on the fields of a msgspec Struct.

Imported only when something was refused (docs/decisions/0004-late-imports.md).
"""

from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec
import pydantic


class Complaint(NamedTuple):
    """One key that was refused, empty for the whole. says: pydantic's sentence. unknown: there is no such key."""

    key: str
    found: Any
    says: str
    unknown: bool

    @property
    def expected(self) -> str:
        return self.says.removeprefix("Input should be ")


def complaints(struct: type[msgspec.Struct], table: Any) -> list[Complaint]:
    """All that is wrong with `table` as a `struct`, in the order of the fields."""
    try:
        _model(struct).model_validate(table)
    except pydantic.ValidationError as refusal:
        return [_complaint(error) for error in refusal.errors(include_url=False)]
    return []


def _complaint(error: Any) -> Complaint:
    key = ".".join(str(step) for step in error["loc"])
    says = "Input should be a table" if error["type"] == "model_type" else error["msg"]
    return Complaint(key, error["input"], says, error["type"] == "extra_forbidden")


def _model(struct: type[msgspec.Struct]) -> type[pydantic.BaseModel]:
    """The fields by their aliases: a model may have no field `schema`. Patterns mean what they mean to msgspec."""
    extra: Literal["forbid", "ignore"] = "forbid" if struct.__struct_config__.forbid_unknown_fields else "ignore"
    strict = pydantic.ConfigDict(strict=True, extra=extra, regex_engine="python-re")
    fields: dict[str, Any] = {f"{field.name}_": _field(field) for field in msgspec.structs.fields(struct)}
    return pydantic.create_model(struct.__name__, __config__=strict, **fields)


def _field(field: msgspec.structs.FieldInfo) -> tuple[Any, Any]:
    default = ... if field.required else None
    return _mirrored(field.type), pydantic.Field(default, alias=field.encode_name)


def _mirrored(hint: Any) -> Any:
    """The same type in pydantic's terms: nested Structs, msgspec's bounds, arrays for tuples, anything for Raw."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _model(hint)
    if get_origin(hint) is tuple:
        return list[_mirrored(get_args(hint)[0])]  # type: ignore[misc]  # a type made at run time
    if get_origin(hint) is dict:
        return dict[str, _mirrored(get_args(hint)[1])]  # type: ignore[misc]  # as above
    if hint is msgspec.Raw:
        return Any
    if bounds := getattr(hint, "__metadata__", ()):
        return Annotated[_mirrored(hint.__origin__), _bounds(bounds[0])]
    return hint


def _bounds(meta: msgspec.Meta) -> Any:
    """Those that pydantic knows by the same names; it refuses some that are given as None."""
    names = ("gt", "ge", "lt", "le", "pattern", "min_length", "max_length")
    return pydantic.Field(**{name: bound for name in names if (bound := getattr(meta, name)) is not None})
