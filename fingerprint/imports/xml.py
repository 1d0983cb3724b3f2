"""XML from anywhere: entities are refused, and so is what is too large."""

from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

CAP = 32 << 20
"""Bytes. Sixteen GPUs with all their supported clocks are under 1 MB."""


def document(text: str) -> Element:
    """The root element. Raises ValueError, in words; a DTD may be named, as nvidia-smi does, and is not read."""
    if len(text) > CAP:
        raise ValueError(f"{len(text) >> 20} MiB of XML, where {CAP >> 20} are the most that is read")
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(text, True)
        return builder.close()
    except expat.ExpatError as error:
        raise ValueError(f"no well-formed XML: {error}") from None


def _refuse(name: str, *_declared: Any) -> None:
    """An entity can stand for a file, or for a billion others."""
    raise ValueError(f"XML that declares an entity ({name}), which is never read")
