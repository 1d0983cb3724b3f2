"""Which processes call themselves what."""

import os
from collections.abc import Mapping, Sequence

from probes.kit.regular import beginning

COMM_BYTES = 15  # TASK_COMM_LEN, less its end


def pids(proc: str, names: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """Only `comm` is read: like `stat`, it takes no lock that a process in state D may hold."""
    found: dict[str, tuple[int, ...]] = dict.fromkeys(names, ())
    kept = {name[:COMM_BYTES]: name for name in names}
    for pid in filter(str.isdecimal, os.listdir(proc)):
        try:
            name = kept.get(beginning(f"{proc}/{pid}/comm", 64).removesuffix("\n"))
        except OSError:  # it ended
            continue
        if name is not None:
            found[name] = (*found[name], int(pid))
    return found
