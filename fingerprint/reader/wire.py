"""What asker and worker say to each other: one JSON message a line, over one socket.

A line is at most LINE_CAP bytes of question. What can be asked is which area of which target, by its pid, and nothing
else: no path, no command, no name of a getter.
"""

from typing import Union

import msgspec

from fingerprint.snapshot import Provenance

LINE_CAP = 256 << 10

Name = tuple[str, str]  # area, target


class Ask(msgspec.Struct, frozen=True, tag="ask", omit_defaults=True):
    """Read these: (area, target, pid), in order. sample: only what moves, as at each sample of a run."""

    jobs: tuple[tuple[str, str, int], ...]
    sample: bool = False


class AskTree(msgspec.Struct, frozen=True, tag="ask tree"):
    """Which processes descend from this one, which goes by that name?"""

    name: str
    pid: int


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """A service's worker says first who it is, and with whose rights and whose key it reads."""

    pid: int
    provenance: Provenance


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """This one is being read now: if nothing more comes, it is what hangs."""

    of: Name


class Read(msgspec.Struct, frozen=True, tag="read"):
    of: Name
    ms: float
    section: msgspec.Raw


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The probe raised, and what; or it may not be asked that, and why."""

    of: Name
    ms: float
    why: str


class Tree(msgspec.Struct, frozen=True, tag="tree"):
    """Name and pid of the process and its live descendants."""

    targets: tuple[tuple[str, int], ...]


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Nothing was read, and nothing will be on this connection."""

    why: str


Answer = Union[Begin, Read, Failed, Tree, Refused]

encode = msgspec.json.Encoder().encode
question = msgspec.json.Decoder(Union[Ask, AskTree]).decode
answer = msgspec.json.Decoder(Answer).decode
greeting = msgspec.json.Decoder(Union[Hello, Refused]).decode
