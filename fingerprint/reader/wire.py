"""What asker and worker say to each other: one JSON message a line, over one socket."""

from typing import Union

import msgspec

Name = tuple[str, str]  # area, target


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """Read these: (area, target, pid), in order."""

    jobs: tuple[tuple[str, str, int], ...]


class AskTree(msgspec.Struct, frozen=True, tag="ask tree"):
    """Which processes descend from this one, which goes by that name?"""

    name: str
    pid: int


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """This one is being read now: if nothing more comes, it is what hangs."""

    of: Name


class Read(msgspec.Struct, frozen=True, tag="read"):
    of: Name
    ms: float
    section: msgspec.Raw


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The probe raised, and what."""

    of: Name
    ms: float
    why: str


class Tree(msgspec.Struct, frozen=True, tag="tree"):
    """Name and pid of the process and its live descendants."""

    targets: tuple[tuple[str, int], ...]


Answer = Union[Begin, Read, Failed, Tree]

encode = msgspec.json.Encoder().encode
question = msgspec.json.Decoder(Union[Ask, AskTree]).decode
answer = msgspec.json.Decoder(Answer).decode
