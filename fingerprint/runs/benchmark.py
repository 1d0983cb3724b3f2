"""What history groups runs by: a command without what differs in every run of it."""

import re
from collections.abc import Sequence
from hashlib import blake2b

from probes.kit.facts import Redacted
from probes.kit.lazy import lazy_regex

# mktemp(1), tempfile of Python, pytest's tmp_path: another one in every run.
_TEMPORARY = lazy_regex(r"(?:/var/tmp|/tmp|/dev/shm|/run/user/\d+)/[^\s:=,]+")  # recognised, not used


def benchmark_of(argv: Sequence[str | Redacted]) -> str:
    """PROGRAM-DIGEST: the program's base name, and a digest of it and its arguments, temporary paths and secrets left
    out: a short digest without a key would let anybody try what the secret was."""
    clear = ["<private>" if isinstance(word, Redacted) else word for word in argv]
    program = clear[0].rpartition("/")[2]
    words = [program, *(_TEMPORARY.sub("<temporary>", word) for word in clear[1:])]
    digest = blake2b("\0".join(words).encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9._+-]', '_', program)}-{digest}"
