"""A file that has no name and goes with its last descriptor."""

import os


def unnamed_file(what: str) -> int:
    """In memory. Where there is no memfd_create (a sandbox refuses it, a Python built for an old glibc lacks it), in
    the folder for temporary files. Raises OSError where neither is to be had."""
    try:
        return os.memfd_create(what)
    except (OSError, AttributeError):
        import tempfile

        fd, path = tempfile.mkstemp(prefix=f"{what}-")
        os.unlink(path)
        return fd
