"""What a program's own processes hold and start: PSS at their peak, programs exec'd."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import FailedError, Program, UnfitError, environment, output


def peak_pss_mb(program: Program) -> float:
    """The largest sum of PSS over the program and all that descend from it, looked at as often as one core can."""
    child = subprocess.Popen(
        program.argv, env=environment(program), cwd=program.cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    peak = 0
    while child.poll() is None:
        peak = max(peak, sum(map(_pss_kb, _tree(child.pid))))
    if child.returncode not in program.statuses:
        raise FailedError(f"{' '.join(program.argv)} exited {child.returncode}")
    return peak / 1024


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split():
                yield from _tree(int(child))
    except OSError:
        return  # it ended meanwhile


def _pss_kb(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def execs(program: Program) -> int:
    """Successful execve calls of the program and all that descend from it, its own included."""
    if shutil.which("strace") is None:
        raise UnfitError("strace is not installed")
    with tempfile.NamedTemporaryFile() as trace:
        strace = ["strace", "-f", "-qq", "-e", "trace=execve,execveat", "-e", "signal=none", "-o", trace.name]
        output(program._replace(argv=[*strace, *program.argv]))
        return sum(line.rstrip().endswith("= 0") for line in Path(trace.name).read_text(errors="replace").splitlines())
