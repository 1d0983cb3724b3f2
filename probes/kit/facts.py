"""What a probe may say: facts, the gaps between them, and the sections that hold both.

Everything that is neither a scalar nor a tuple is a tagged Struct (tag field `$`), because a union of
two dict-like types cannot be told apart on load: Gap, Map (a collection), Document, Redacted.
Sections themselves carry no tag; they stand in a Map or directly as a field, never beside a Gap.

Nothing is checked on construction. The check is the decode: whoever receives a section from the
reader process decodes it strictly, so a wrong type becomes a failed section and never a wrong fact.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar, Union

import msgspec

if sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:
    from typing_extensions import dataclass_transform

Kind = Literal["identity", "config", "state", "counter", "telemetry"]
Settled = Literal["always", "gpu busy", "link traffic", "cpu busy"]
GapCode = Literal[
    "absent",  # the thing is not there
    "unsupported",  # it is there, and does not have this value
    "denied",  # the reader lacks the privilege
    "failed",  # it was read and made no sense, or the read went wrong
    "timed_out",  # the read was given up
    "lost",  # the device was there and is gone
    "asleep",  # reading would have woken it
    "settling",  # too soon after boot or reset
    "retired",  # no longer reported by this driver or kernel
    "not_observable",  # no interface tells it
    "not_read",  # nobody looked: the default of every field, never written
]

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
V = TypeVar("V")


class Wire(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="$"):
    """A value that `$` tells apart from plain ones in JSON."""


class Gap(Wire, frozen=True, tag="gap"):
    """Why there is no value. Equal by code: the detail is for people and enters no digest."""

    code: GapCode
    detail: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gap) and other.code == self.code

    def __hash__(self) -> int:
        return hash(self.code)


NOT_READ = Gap("not_read")
Seen = Union[T, Gap]


class Map(Wire, Generic[V], frozen=True, tag="map"):
    """A collection, keyed by stable identity. V is a Section, or Seen of a leaf."""

    items: Mapping[str, V]


class Document(Wire, frozen=True, tag="doc"):
    """The one opaque leaf: JSON whose shape nobody declares. Compared by DeepDiff."""

    value: Any


class Redacted(Wire, frozen=True, tag="hmac"):
    """A private value as a keyed digest: equality stays, the value does not.

    `key` is the id of the key. Two digests under different keys are not comparable.
    """

    key: str
    digest: str


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """The standing description of one value, declared as the default of a Section's field.

    why         the reason this is read: an incident, a mechanism, or what it is context for
    source      where it is true, e.g. `/proc/sys/vm/swappiness` or `nvmlDeviceGetPowerUsage`
    context     never a suspect by itself: kept to understand the others
    settled     when a `state` may be compared, and a sample of telemetry counts; `always` makes a state lasting
    tolerance   differences up to this, in the fact's unit, are no change
    private     leaves the host only as a keyed digest
    follows     globs of facts that move this one; if one of them changed too, this is its consequence
    tells       its value says whether this condition holds for the item that it is a fact of: 0 or False is no
    trouble     a counter that stands still where all is well: its growth in one of two runs is told
    wraps_at    a counter that begins again at 0 there, if it is no wider after all: such a fall is no reset, and two
                readings that are far apart tell nothing; 0: it does not
    restore     a shell command that sets the value back; `{value}` is the value, `{value:}` its items with a
                colon between, `{key}` the innermost key
    complete_by of a collection, the field beside it that is a gap where more items may be there than could be told
    renamed_from earlier field names, applied when older files are loaded
    """

    kind: Kind
    why: str
    source: str
    unit: str = ""
    context: bool = False
    settled: Settled = "always"
    tolerance: int = 0
    private: bool = False
    follows: tuple[str, ...] = ()
    tells: Settled | None = None
    trouble: bool = False
    wraps_at: int = 0
    restore: str = ""
    complete_by: str = ""
    renamed_from: tuple[str, ...] = ()

    @property
    def lasting(self) -> bool:
        """Whether the value stands until somebody changes it: such facts make up a section's digest."""
        return self.kind in ("identity", "config") or (self.kind == "state" and self.settled == "always")


def identity(why: str, source: str, unit: str = "", **more: Any) -> Any:
    """Which part, machine or program this is."""
    return Fact(kind="identity", why=why, source=source, unit=unit, **more)


def config(why: str, source: str, unit: str = "", **more: Any) -> Any:
    """What somebody set. A change is always reported."""
    return Fact(kind="config", why=why, source=source, unit=unit, **more)


def state(why: str, source: str, unit: str = "", *, settled: Settled, **more: Any) -> Any:
    """What the machine settled on; compared only in the condition that `settled` names."""
    return Fact(kind="state", why=why, source=source, unit=unit, settled=settled, **more)


def counter(why: str, source: str, unit: str = "", **more: Any) -> Any:
    """What only grows: its growth during a run counts, its level does not."""
    return Fact(kind="counter", why=why, source=source, unit=unit, **more)


def telemetry(why: str, source: str, unit: str = "", **more: Any) -> Any:
    """What moves all the time: evidence, never a suspect alone."""
    return Fact(kind="telemetry", why=why, source=source, unit=unit, **more)


class SectionMeta(msgspec.StructMeta):
    """Takes the Facts out of the defaults, puts NOT_READ in, and freezes the class."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kw: Any) -> Any:
        facts = {field: value for field, value in namespace.items() if type(value) is Fact}
        inherited = {k: v for base in bases for k, v in getattr(base, "__facts__", {}).items()}
        namespace.update(dict.fromkeys(facts, NOT_READ))
        namespace["__facts__"] = {**inherited, **facts}
        kw.update(frozen=True, kw_only=True, omit_defaults=True)
        return super().__new__(mcls, name, bases, namespace, **kw)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Section(msgspec.Struct, metaclass=SectionMeta, frozen=True, kw_only=True):
    """A frozen group of seen values about one area.

    Each field is a fact (`Seen[...]`, its default the Fact) or a nested Section (its default an
    instance). A class with one Map as its only field is one collection and nothing else.
    """

    __facts__: ClassVar[Mapping[str, Fact]] = {}


def then(seen: Seen[A], read: Callable[[A], Seen[B]]) -> Seen[B]:
    """`read` of what was seen; a gap passes through, a ValueError becomes `failed` with its words."""
    if isinstance(seen, Gap):
        return seen
    try:
        return read(seen)
    except (ValueError, LookupError, msgspec.ValidationError) as error:
        return Gap("failed", f"{type(error).__name__}: {error}")


def seen_or(seen: Seen[A], default: B) -> Union[A, B]:
    """The value, or `default` where there is a gap: for decisions inside a probe, never for a fact."""
    return default if isinstance(seen, Gap) else seen


def no_answer(seen: Seen[object]) -> Gap | None:
    """The gap of what was waited for in vain, or whose server is gone: nothing is known of it, least of all that it is
    not there."""
    return seen if isinstance(seen, Gap) and seen.code in ("timed_out", "lost") else None
