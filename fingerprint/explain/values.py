"""Values as the contract writes them."""

from typing import Any

from fingerprint.diff.changes import Unsteady
from probes.kit.facts import Document, Gap, Map, Redacted, Section


def plain(value: Any) -> Any:
    """As JSON; what is no value is {"gap": code}, {"redacted": true} or, of two values, {"during": [first, last]}."""
    if isinstance(value, Gap):
        return {"gap": value.code}
    if isinstance(value, Redacted):
        return {"redacted": True}
    if isinstance(value, Unsteady):
        return {"during": [plain(value.first), plain(value.last)]}
    if isinstance(value, Section):
        return {
            name: plain(getattr(value, name)) for name in value.__struct_fields__ if _is_shown(getattr(value, name))
        }
    if isinstance(value, Map):
        return sorted(value.items)
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Document) else value


def _is_shown(value: Any) -> bool:
    return not isinstance(value, (Gap, Section, Map))


def percent(ratio: float) -> str:
    """1.58 -> `+58 %`."""
    return f"{(ratio - 1) * 100:+.0f} %"
