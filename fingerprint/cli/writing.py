"""Files that a verb writes its answer into."""

import os
from pathlib import Path

from fingerprint.trouble import Trouble


def write(output: Path, document: bytes) -> None:
    """Whole or not at all: on a full disk, what stood there before stays. A device or a pipe is written as it is.

    Raises Trouble.
    """
    try:
        _write(Path(os.path.realpath(output)), document)
    except OSError as error:
        raise Trouble(f"--output {output} cannot be written: {error.strerror}") from None


def _write(output: Path, document: bytes) -> None:
    if os.path.exists(output) and not output.is_file():
        output.write_bytes(document)
        return
    draft = output.with_name(f".fingerprint-export.{os.getpid()}")
    try:
        draft.write_bytes(document)
        draft.replace(output)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
