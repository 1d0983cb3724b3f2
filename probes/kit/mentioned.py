"""Which of some words the Python files below a folder hold: who reads a variable at all is told without importing.

Whoever controls the folder gets nothing read from outside of it: no link is followed, and what is no regular file is
not opened. Folders of tests are left out. Of a tree that is larger, or slower to read, than its bounds the answer is no
answer.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence

from probes.kit.facts import Gap, Seen

MOST_FILES = 20_000  # a package of an engine has up to 5,000
MOST_BYTES = 8 << 20  # of one file; generated tables are longer than code
SECONDS = 2.0
_NOT_RUN = frozenset(("test", "tests", "__pycache__"))
_NOTHING = (errno.ELOOP, errno.ENOENT, errno.ENXIO)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def mentioned(folder: str, words: Sequence[str]) -> Seen[tuple[str, ...]]:
    """Those of the words that stand there, each as a whole word; looks no further once all were found.

    Raises OSError where a part may not be read: nobody knows then what stands in it.
    """
    missing = {word: _whole(word) for word in words}
    deadline = time.monotonic() + SECONDS
    for number, text in enumerate(_texts(folder)):
        if not missing:
            break
        if number >= MOST_FILES:
            return Gap("not_observable", f"more than {MOST_FILES} Python files")
        if time.monotonic() > deadline:
            return Gap("timed_out", f"its Python files take longer to read than {SECONDS:g} s")
        for word in [word for word, whole in missing.items() if word.encode() in text and whole.search(text)]:
            del missing[word]
    return tuple(sorted(set(words) - missing.keys()))


def _whole(word: str) -> "re.Pattern[bytes]":
    return re.compile(rb"(?<![A-Za-z0-9_])%s(?![A-Za-z0-9_])" % re.escape(word.encode()))


def _texts(folder: str) -> Iterator[bytes]:
    for _, below, names, fd in os.fwalk(f"{folder}/.", onerror=_refused):
        below[:] = [name for name in below if name not in _NOT_RUN]
        for name in names:
            if name.endswith(".py"):
                yield _text(name, fd)


def _refused(error: OSError) -> None:
    raise error


def _text(name: str, folder: int) -> bytes:
    """Nothing of a link, of what is no regular file and of what vanished."""
    try:
        fd = os.open(name, _FLAGS, dir_fd=folder)
    except OSError as error:
        if error.errno in _NOTHING:
            return b""
        raise
    try:
        return os.read(fd, MOST_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
