"""What the kit would be on pydantic: frozen models, built when first used."""

from typing import Any, Literal, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class Gap(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: Literal["gap"] = Field("gap", alias="$")
    code: str
    detail: str = ""


NOT_READ = Gap.model_validate({"$": "gap", "code": "not_read"})
Seen = Union[T, Gap]


def config(why: str, source: str, unit: str = "") -> Any:
    return Field(default=NOT_READ, json_schema_extra={"why": why, "source": source, "unit": unit})


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
