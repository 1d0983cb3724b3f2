"""The shell commands that set values right, from the template that a fact declares."""

from collections.abc import Mapping
from shlex import quote
from typing import Any

from probes.kit.facts import Gap, Redacted
from probes.kit.lazy import lazy_regex

SHOWN = 4
_OF_ONE = "nvidia-smi -i {key} "
"""Without -i it is about all GPUs."""
_QUOTIENT = lazy_regex(r"\$\(\((\d+) / (\d+)\)\)")


def commands(template: str, wanted: Mapping[str, Any], *, whole: bool = False) -> str:
    """One line; empty where there is no command or no value to set.

    wanted: by the innermost key of the fact's path, what each should be. whole: these are all devices of the host.
    """
    template, _, remark = template.partition(" # ")
    values = {key: _settable(value) for key, value in wanted.items()}
    if not template or not values or ("{value" in template and None in values.values()):
        return ""
    alike = len(set(values.values())) == 1
    if whole and alike and len(values) > 1 and template.startswith(_OF_ONE):
        template = template.replace(_OF_ONE, "nvidia-smi ")
    made = list(dict.fromkeys(_filled(template, quote(key), value or "") for key, value in values.items()))
    if len(made) > SHOWN and alike:
        each = _filled(template, '"$key"', next(iter(values.values())) or "")
        made = [f"for key in {' '.join(map(quote, values))}; do {each}; done"]
    said = "; ".join(filter(None, (f"and {len(made) - SHOWN} more" if len(made) > SHOWN else "", remark)))
    return "; ".join(made[:SHOWN]) + (f" # {said}" if said else "")


def _filled(template: str, key: str, value: str) -> str:
    command = template.replace("{value}", quote(value)).replace("{value:}", quote(value.replace(" ", ":")))
    return _QUOTIENT.sub(lambda found: str(int(found[1]) // int(found[2])), command.replace("{key}", key))


def _settable(value: Any) -> str | None:
    if value is None or isinstance(value, (Gap, Redacted, dict)):
        return None
    if isinstance(value, (tuple, list)):
        parts = [_settable(item) for item in value]
        return None if None in parts else " ".join(part or "" for part in parts)
    return str(int(value)) if isinstance(value, bool) else str(value)
