"""A contract as JSON, and its published schema."""

from typing import Any, get_args

import msgspec


def render(told: msgspec.Struct) -> str:
    """A Diff or a Verdict: indented by two, every field written, ended by a newline."""
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n"


def schema(contract: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what `render` writes of it, described by the contract's own docstrings."""
    [name] = get_args(next(field.type for field in msgspec.structs.fields(contract) if field.name == "schema"))
    (root,), parts = msgspec.json.schema_components([contract], ref_template="#/$defs/{name}")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{name.replace('.', ':').replace('/', ':')}",
        "title": name,
    }
    return {**head, **root, "$defs": parts}
