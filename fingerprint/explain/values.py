"""Values as the contract writes them, and as a sentence does."""

import re
from typing import Any

from fingerprint.diff.changes import Unsteady
from probes.kit.facts import Document, Gap, Map, Redacted, Section

LONGEST = 40
_DIGEST = re.compile(r"[0-9a-f]{32,}")
_DIGEST_SHOWN = 12


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


def words(value: Any) -> str:
    """A plain value in a sentence, cut where it is long; of a digest its beginning."""
    if isinstance(value, dict):
        return _marked(value)
    text = " ".join(map(words, value)) if isinstance(value, list) else str(value)
    if _DIGEST.fullmatch(text):
        return f"{text[:_DIGEST_SHOWN]}..."
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _marked(value: dict[str, Any]) -> str:
    if "gap" in value:
        return str(value["gap"]).replace("_", " ")
    if "during" in value:
        return " then ".join(map(words, value["during"]))
    return "private" if "redacted" in value else "present"


def percent(ratio: float) -> str:
    """1.58 -> `+58 %`."""
    return f"{(ratio - 1) * 100:+.0f} %"
