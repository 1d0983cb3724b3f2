"""Which of NCCL's variables that are set the loaded NCCL has by name: each stands in the library as a text of its own.

NCCL 2.19.3 holds all of those it documents so. A name that neither it nor a plugin of it holds is read by nobody.
"""

import re
from collections.abc import Iterable, Sequence

from probes.kit.facts import Gap, Seen, no_answer, then
from probes.kit.host import Host

# libnccl, its plugins for networks, tuning and profiling, and RCCL; what was replaced on disk is not looked at.
_MAPPED = r"^[0-9a-f]+-\S+ \S+ \S+ \S+ [1-9]\d* +(/[^\n]*/lib[nr]ccl[^/\n]*\.so[^/\n]*?)$"
_REPLACED = " (deleted)"
_MAPS_CAP = 32 << 20
_IN_ALL = "NCCL_DEBUG"
_NOT_NCCLS = frozenset(
    # torch's by their former names (torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp)
    "NCCL_ASYNC_ERROR_HANDLING NCCL_BLOCKING_WAIT NCCL_DESYNC_DEBUG NCCL_ENABLE_TIMING"
    # of NVIDIA's container images
    " NCCL_VERSION".split()
)


def unknown(host: Host, files: Host, pid: int, variables: Iterable[str]) -> Seen[tuple[str, ...]]:
    """files: the host as the process sees its files."""
    asked = sorted(name for name in variables if name.startswith("NCCL_") and name not in _NOT_NCCLS)
    mapped = host.matching(f"/proc/{pid}/maps", _MAPPED, _MAPS_CAP)
    return then(mapped, lambda paths: _in_none(files, sorted(set(paths)), asked))


def _in_none(files: Host, paths: Sequence[str], asked: Sequence[str]) -> Seen[tuple[str, ...]]:
    if not paths:
        return Gap("absent", "no NCCL is mapped, or it is part of another library")
    if any(path.endswith(_REPLACED) for path in paths):
        return Gap("not_observable", "the library was replaced while it was mapped")
    if silent := next(filter(None, (no_answer(files.stat(path)) for path in paths)), None):
        return silent
    if not any(_holds(files, path, _IN_ALL) for path in paths):
        return Gap("unsupported", "this library tells no names: its sections are stripped, or it may not be read")
    return tuple(name for name in asked if not any(_holds(files, path, name) for path in paths))


def _holds(files: Host, path: str, name: str) -> bool:
    told = files.elf(path, rf"({re.escape(name)})\x00")
    return not isinstance(told, Gap) and told.told == name
