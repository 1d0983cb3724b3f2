"""What a verb says beside its answer: one line on standard error, whatever became of that stream."""

import os
import sys


def say(sentence: str) -> None:
    """Nobody's ability to read it changes what the verb does: a full disk or a closed stream is passed over."""
    if sys.stderr is None:  # descriptor 2 was closed when Python started, and may be anything by now
        return
    try:
        os.write(2, f"fingerprint: {in_one_line(sentence)}\n".encode())  # unbuffered: nothing is left to fail at exit
    except OSError:
        return


def in_one_line(text: str) -> str:
    """With line breaks, terminal controls and what is no Unicode written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
