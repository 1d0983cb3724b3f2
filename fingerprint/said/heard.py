"""How often a message stood in a text."""

import msgspec


class Heard(msgspec.Struct, frozen=True):
    """lines: that say it. first: the number of the first of these, from 1."""

    lines: int
    first: int
