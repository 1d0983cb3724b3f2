"""ULIDs: 26 characters that sort by the time they were made (Crockford's base 32, 48 bits of ms, 80 random)."""

import os
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_id() -> str:
    """A fresh ULID of now. Two of the same millisecond sort at random."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
