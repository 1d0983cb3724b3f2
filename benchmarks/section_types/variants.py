"""The candidates: how each declares a module of three sections with 25 facts."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

AREAS = 30
DEVICES = 8
PORTS = 4
_TYPES = ("int", "str", "bool", "tuple[str, ...]", "int", "str", "int", "int")
_VALUES = ("17", "'performance'", "True", "('a', 'b')", "450_000", "'0000:17:00.0'", "3", "-1")


class Variant(NamedTuple):
    """kit: the module whose import is timed apart. base, decorator, field, collection: as the source spells them."""

    name: str
    kit: str
    header: str
    field: str
    collection: str
    mapping: str
    dump: str
    load: str
    decorator: str = ""
    base: str = "Section"
    future: bool = False


_WHY = '"why fact {number} of {cls} moves a number", "/sys/class/{cls}/{name}"'
_DEFAULT = Variant(
    "msgspec, the Fact as default value",
    kit="probes.kit.facts",
    header="import msgspec\nfrom probes.kit.facts import Map, Section, Seen, config",
    field=f'{{name}}: Seen[{{type}}] = config({_WHY}, "mW")',
    collection=f"{{name}}: Seen[Map[{{item}}]] = config({_WHY})",
    mapping="Map({{{items}}})",
    dump="msgspec.json.encode(section)",
    load="msgspec.json.decode(text, type=Area)",
)
_ANNOTATED = _DEFAULT._replace(
    name="msgspec, Annotated[..., Fact()]",
    header="from typing import Annotated\nimport msgspec\nfrom probes.kit.facts import NOT_READ, Fact, Map, Seen",
    field='{name}: Annotated[Seen[{type}], Fact(kind="config", why="why fact {number} of {cls} moves a number",'
    ' source="/sys/class/{cls}/{name}", unit="mW")] = NOT_READ',
    collection='{name}: Annotated[Seen[Map[{item}]], Fact(kind="config", why="why fact {number} of {cls}",'
    ' source="/sys/class/{cls}/{name}")] = NOT_READ',
    base="msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True",
)
_DATACLASS = Variant(
    "slotted frozen dataclasses, own codec",
    kit="benchmarks.section_types.dataclass_kit",
    header="from benchmarks.section_types.dataclass_kit import Seen, config, dumps, loads, section",
    field=f'{{name}}: Seen[{{type}}] = config({_WHY}, "mW")',
    collection=f"{{name}}: Seen[dict[str, {{item}}]] = config({_WHY})",
    mapping="{{{items}}}",
    dump="dumps(section)",
    load="loads(text, Area)",
    decorator="@section",
    base="",
)
_PYDANTIC = Variant(
    "pydantic v2, defer_build",
    kit="benchmarks.section_types.pydantic_kit",
    header="from benchmarks.section_types.pydantic_kit import Section, Seen, config",
    field=f'{{name}}: Seen[{{type}}] = config({_WHY}, "mW")',
    collection=f"{{name}}: Seen[dict[str, {{item}}]] = config({_WHY})",
    mapping="{{{items}}}",
    dump="section.model_dump_json(exclude_defaults=True).encode()",
    load="Area.model_validate_json(text, strict=True)",
)


def _postponed(variant: Variant) -> Variant:
    return variant._replace(name=f"{variant.name}, `from __future__ import annotations`", future=True)


VARIANTS: tuple[Variant, ...] = tuple(
    spelled for variant in (_DEFAULT, _ANNOTATED, _DATACLASS, _PYDANTIC) for spelled in (variant, _postponed(variant))
)


def write(variant: Variant, folder: Path) -> None:
    """The 30 modules, named area00 to area29."""
    for number in range(AREAS):
        (folder / f"area{number:02}.py").write_text("\n".join(_module(variant)) + "\n", encoding="utf-8")


def _module(variant: Variant) -> Iterator[str]:
    if variant.future:
        yield "from __future__ import annotations"
    yield variant.header
    yield from _class(variant, "Port", len(_TYPES), ())
    yield from _class(variant, "Device", len(_TYPES), ("ports", "Port"))
    yield from _class(variant, "Area", len(_TYPES) - 1, ("devices", "Device"))
    yield from _build(variant)
    yield f"def dump(section): return {variant.dump}"
    yield f"def load(text): return {variant.load}"


def _class(variant: Variant, cls: str, facts: int, collection: Sequence[str]) -> Iterator[str]:
    if variant.decorator:
        yield variant.decorator
    yield f"class {cls}({variant.base}):" if variant.base else f"class {cls}:"
    for number, kind in enumerate(_TYPES[:facts]):
        yield "    " + variant.field.format(name=f"fact{number}", number=number, cls=cls, type=kind)
    if collection:
        name, item = collection
        yield "    " + variant.collection.format(name=name, item=item, number=facts, cls=cls)


def _build(variant: Variant) -> Iterator[str]:
    plain = ", ".join(f"fact{number}={value}" for number, value in enumerate(_VALUES))
    ports = variant.mapping.format(items=f"f'{{n}}': Port({plain}) for n in range({PORTS})")
    devices = variant.mapping.format(items=f"f'0000:{{n}}': device() for n in range({DEVICES})")
    yield f"def device(): return Device({plain}, ports={ports})"
    yield f"def build(): return Area({plain.rpartition(',')[0]}, devices={devices})"
