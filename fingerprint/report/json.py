"""A diff as the JSON contract, and the contract's published schema."""

from typing import Any

import msgspec

from fingerprint.explain.contract import SCHEMA, Diff


def render(diff: Diff) -> str:
    """Indented by two, every field written, ended by a newline."""
    return msgspec.json.format(msgspec.json.encode(diff), indent=2).decode() + "\n"


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what `render` writes, described by the contract's own docstrings."""
    (root,), parts = msgspec.json.schema_components([Diff], ref_template="#/$defs/{name}")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('.', ':').replace('/', ':')}",
        "title": SCHEMA,
    }
    return {**head, **root, "$defs": parts}
