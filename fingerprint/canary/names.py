"""What the canary's numbers are called: `canary/before/cpu`, `canary/after/gpu/0000:17:00.0/copy`."""

from typing import Literal

Moment = Literal["before", "after"]
PREFIX = "canary/"


def is_canary(name: str) -> bool:
    return name.startswith(PREFIX)


def at(moment: Moment, work: str) -> str:
    return f"{PREFIX}{moment}/{work}"


def moments(name: str) -> tuple[str, str]:
    """(moment, work) of a name of the canary's."""
    moment, _, work = name.removeprefix(PREFIX).partition("/")
    return moment, work
