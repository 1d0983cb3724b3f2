"""What the GPU part of a snapshot costs, against the start of an interpreter that imports pynvml."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from fingerprint.settings import Settings
from probes.gpu import gpu
from probes.kit.host import Host
from probes.kit.probe import HOST

TIMES = 5
BUDGET = {"cpu": 1.6, "wall": 3.0}
"""DESIGN: with 8 GPUs and an NVML that answers at once. A real one takes its own time, which is in here too."""
YARDSTICK = "import sys; sys.path.append(sys.argv[1]); import pynvml"


class Cost(NamedTuple):
    """Milliseconds."""

    cpu: float
    wall: float


def measured(settings: Settings) -> dict[str, object]:
    """Both by turns, `TIMES` each, and their medians."""
    ours, theirs = [], []
    for _ in range(TIMES):
        ours.append(_of(lambda: _gpu_part(settings)))
        theirs.append(_of(_import_pynvml))
    part, yardstick = _median(ours), _median(theirs)
    return {
        "gpu part, ms": part._asdict(),
        "import pynvml, ms": yardstick._asdict(),
        "ratio": {"cpu": part.cpu / yardstick.cpu, "wall": part.wall / yardstick.wall},
        "budget": BUDGET,
        "each, ms": {"gpu part": ours, "import pynvml": theirs},
    }


def _gpu_part(settings: Settings) -> None:
    gpu.read(Host(nvml=settings.nvml_options), HOST)


def _import_pynvml() -> None:
    import pynvml

    folder = str(Path(str(pynvml.__file__)).parent)
    subprocess.run([sys.executable, "-I", "-c", YARDSTICK, folder], check=True)


def _of(work: Callable[[], None]) -> Cost:
    """CPU time of this process and of the children that ended meanwhile."""
    cpu, wall = _cpu(), time.perf_counter()
    work()
    return Cost(1000 * (_cpu() - cpu), 1000 * (time.perf_counter() - wall))


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _median(costs: list[Cost]) -> Cost:
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))
