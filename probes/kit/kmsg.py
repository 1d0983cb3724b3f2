"""The kernel's log since boot, as /dev/kmsg hands it out: one record a read(2)
(Documentation/ABI/testing/dev-kmsg)."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from probes.kit.facts import Gap, Seen
from probes.kit.lazy import lazy_regex

PATH = "/dev/kmsg"
RECORD_BYTES = 16384  # the kernel's own buffer for one is 8 KiB at most
CAP = 4 << 20
ABOUT = lazy_regex(rb"[^;\n]*;(?:NVRM: (?!GPU Board Serial)|nvidia|.*(?:\bAER: |PCIe Bus Error: ))")
"""Records about PCI devices and their drivers. The rest holds serial numbers, the command line and what users do."""

FORM = lazy_regex(rb"\d+,\d+,\d+,[^;\n]*;")
NO_LOG = Gap("not_observable", "what lies there is not the kernel's log, as may be in a container")


def read_kernel_log(path: str = PATH) -> Seen[str]:
    """What is `chosen` of it. Raises OSError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Gap("not_observable", f"no {path} here: containers have none")
    try:
        return chosen(_records(fd))
    finally:
        os.close(fd)


def chosen(records: Iterable[bytes]) -> Seen[str]:
    """Lines `SEQUENCE,MICROSECONDS;TEXT`, the oldest first: those that ABOUT matches, and the oldest of all without
    its text, whose number tells whether anything was overwritten.

    `failed` beyond 4 MiB: a log of that size costs more than all the rest of a snapshot. A log holds a record at
    least: without any, and where the first has another form, nobody can tell what the kernel said.
    """
    lines: list[str] = []
    size = 0
    for record in records:
        size += len(record)
        if size > CAP:
            return Gap("failed", f"longer than {CAP} bytes")
        about = ABOUT.match(record)
        if not lines and not FORM.match(record):
            return NO_LOG
        if about or not lines:
            lines.append(_line(record, with_text=about is not None))
    return "\n".join(lines) if lines else NO_LOG


def _line(record: bytes, *, with_text: bool) -> str:
    """Of `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT`, and lines of properties below it."""
    head, _, text = record.partition(b"\n")[0].decode("utf-8", "backslashreplace").partition(";")
    _, sequence, microseconds = head.split(",")[:3]
    return f"{sequence},{microseconds};{text if with_text else ''}"


def _records(fd: int) -> Iterator[bytes]:
    with suppress(BlockingIOError):  # there is no further one
        while True:
            with suppress(BrokenPipeError):  # the next one was overwritten meanwhile: the oldest there is follows
                record = os.read(fd, RECORD_BYTES)
                if not record:  # the log has no end: this is something else, as /dev/null in a container
                    return
                yield record
