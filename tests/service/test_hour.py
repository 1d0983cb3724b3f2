"""One real hour of fingerprintd, with a server for half of it: what it costs, and that nothing grows."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.service.test_daemon import Daemon, daemon
from tests.standin import StandIn

__all__ = ["daemon"]

SECONDS = float(os.environ.get("FINGERPRINT_TEST_HOUR", "3600"))
SETTLED = 120.0
TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Of the daemon and all below it: CPU seconds so far, PSS in kB, open files."""

    cpu: float
    pss: int
    files: int


def own(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from own(int(child))


def cost(daemon: Daemon) -> Cost:
    pids = list(own(daemon.process.pid))
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    cpu = sum(int(one[at]) for one in fields for at in (11, 12, 13, 14)) / TICKS
    pss = sum(int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition("\nPss:")[2].split()[0]) for pid in pids)
    return Cost(cpu, pss, sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids))


def spent(daemon: Daemon, seconds: float) -> tuple[Cost, Cost, float]:
    """Before and after, and the share of one core between them."""
    first = cost(daemon)
    time.sleep(seconds)
    last = cost(daemon)
    return first, last, (last.cpu - first.cpu) / seconds


@pytest.mark.long
def test_an_hour_costs_what_it_may_and_leaves_memory_and_descriptors_flat(daemon: Daemon, tmp_path: Path) -> None:
    time.sleep(min(SETTLED, SECONDS / 10))
    first, last, idle = spent(daemon, SECONDS / 2)
    print(f"idle {idle:.2%} of a core, {first} to {last}")
    with StandIn(tmp_path / "engine", "sglang", size=4).serving():
        time.sleep(min(SETTLED, SECONDS / 10))
        _, served, sampled = spent(daemon, SECONDS / 2 - 2 * min(SETTLED, SECONDS / 10))
    print(f"sampled {sampled:.2%} of a core, to {served}")
    assert last.files == first.files
    assert last.pss < 1.1 * first.pss
    assert served.pss < 100_000
    assert idle < 0.003
    assert sampled < 0.01
