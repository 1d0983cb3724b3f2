"""A message that programs print, and what it is known to mean."""

from typing import Literal, NamedTuple

Names = Literal["cause", "resource", "failure"]


class Message(NamedTuple):
    """id: an interface, as paths of facts are. texts: one of these stands in the line. also, unless: what stands, and
    does not stand, in it beside that.

    names    what it proves: `cause`, the very state that is to be set right; `resource`, what ran out or was not used,
             whatever took it; `failure`, that something broke, which any state can do
    unnamed  of what no rule of the mechanism graph names: why
    source   who says so: the program's text, or a public thread in which it stands
    """

    id: str
    texts: tuple[bytes, ...]
    names: Names
    says: str
    source: str
    also: bytes = b""
    unless: bytes = b""
    unnamed: str = ""

    def is_in(self, line: bytes) -> bool:
        if not any(text in line for text in self.texts):
            return False
        return self.also in line and not (self.unless and self.unless in line)
