"""Regular expressions that cost nothing until they are used: a command uses few of all that the areas have."""

import re
from typing import Any, AnyStr, Generic, cast


class _Lazy(Generic[AnyStr]):
    """Stands for a re.Pattern. What is asked of it stays with it, so that the second time costs as much as of one."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_regex(pattern: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """As re.compile, but compiled when it is first used. What is no expression raises re.error only then."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))
