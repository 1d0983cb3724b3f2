"""What is sent to the API, checked by pydantic."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from fingerprint.store.runs import NAME
from probes.kit.paths import parse_glob

MOST = 100


def _glob(text: str) -> str:
    """Raises ValueError for what is none."""
    return parse_glob(text).text


def _words(text: str) -> str:
    """Raises ValueError where there are none."""
    if not text.strip():
        raise ValueError("it is empty: write the remark, e.g. 'after the BIOS update'")
    return text


Line = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Name = Annotated[str, Field(pattern=rf"^{NAME.pattern}$")]
Glob = Annotated[str, Field(min_length=1, max_length=400), AfterValidator(_glob)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Begin(Sent):
    """A run against a server that runs: by the process, or by the port that it listens on."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"oneOf": [{"required": ["pid"]}, {"required": ["port"]}]}
    )

    name: Name
    pid: Annotated[int, Field(ge=1, le=1 << 22)] = 0
    port: Annotated[int, Field(ge=1, le=65535)] = 0
    benchmark: Line = ""
    workload: Annotated[dict[Line, bool | int | Number | Line], Field(max_length=MOST)] = {}
    vary: Annotated[list[Glob], Field(max_length=MOST)] = []


class SentMetric(Sent):
    """values: in the order measured. series: readings of one course of work, not repeats of it. unit, better: by the
    name's end where they are left out, as `fingerprint metric` does."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    values: Annotated[list[Number], Field(min_length=1, max_length=10_000)]
    unit: Annotated[Line, Field(max_length=20)] = ""
    better: Literal["lower", "higher", "unknown"] | None = None
    series: bool = False


class Metrics(Sent):
    metrics: Annotated[list[SentMetric], Field(min_length=1, max_length=MOST)]


class Mark(Sent):
    """Whether the run is one to compare others with."""

    good: bool = True


class Note(Sent):
    text: Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_words)]


class Named(Sent):
    name: Name


class Policy(Sent):
    """text: of a policy's file, in TOML. name: what messages call it."""

    text: Annotated[str, Field(min_length=1)]
    name: Line = "policy"


class Gate(Sent):
    """What the host is held against: policies, a run that it is to be like, or without both its own maxima."""

    policies: Annotated[list[Policy], Field(max_length=MOST)] = []
    baseline: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Refused(BaseModel):
    """Why not, in one sentence, with what to do."""

    error: str


class Version(BaseModel):
    fingerprint: str
    api: Literal[1]


class Added(BaseModel):
    added: int


Errors = dict[int | str, dict[str, Any]]
