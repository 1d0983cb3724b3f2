"""A file that a package brought follows what changed of that package."""

import re
from typing import Any

from probes.kit.lazy import lazy_regex

_OWNER = lazy_regex(r"pip (?P<name>\S+)")


def package_of(item: Any) -> tuple[str, ...]:
    """Globs of the facts of the Python package that brought what this section tells of, in the environment of the same
    process or of another one of its tree; none where it has no `owner`, or another kind of it."""
    owner = getattr(item, "owner", None)
    told = _OWNER.fullmatch(owner) if isinstance(owner, str) else None
    if told is None:
        return ()
    name = re.sub("[-_.]+", "-", told["name"]).lower()
    return f"libraries/*/packages/{name}/**", f"libraries/**/packages/{name}/**"
