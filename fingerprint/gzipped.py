"""What a gzip file holds: of each member, as one has several that was added to."""

from collections.abc import Iterable, Iterator

MAGIC = b"\x1f\x8b"
_CUT_OFF = "it is cut off, so its writer may not have finished"


def inflated(packed: Iterable[bytes], size: int) -> Iterator[bytes]:
    """At most about `size` bytes in turn. Raises EOFError at its end where it is cut off, ValueError where it is
    damaged."""
    import zlib

    member, begun = zlib.decompressobj(wbits=31), False
    try:
        for chunk in packed:
            left = chunk
            while left := left if begun else left.lstrip(b"\0"):  # zeros may fill up a block behind a member
                begun = True
                if whole := member.decompress(left, size):
                    yield whole
                left = member.unconsumed_tail or member.unused_data
                if member.eof:
                    member, begun = zlib.decompressobj(wbits=31), False
        if rest := member.flush():
            yield rest
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if begun and not member.eof:
        raise EOFError(_CUT_OFF)
