"""One real hour of fingerprintd, with a server for half of it: what it costs, and that nothing grows."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.service.test_daemon import Daemon
from tests.standin import StandIn
from tests.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.root]
SECONDS = float(os.environ.get("FINGERPRINT_TEST_HOUR", "3600"))
SETTLED, LOOK_SECONDS = 120.0, 7.0
AN_HOUR_IDLE = 200e6 / 365 / 24
"""Bytes of the store: 200 MB a year."""
TICKS = os.sysconf("SC_CLK_TCK")


class Alone(Daemon):
    """In a PID namespace, where it sees no server and no process that others start on this host meanwhile."""

    def command(self) -> list[str]:
        return ["unshare", "--mount-proc", "--kill-child", "--pid", "--fork", *super().command()]

    @property
    def inner(self) -> int:
        """Its pid outside."""
        [pid] = children(self.process.pid)
        return pid

    def stop(self, number: int = signal.SIGTERM) -> int:
        os.kill(self.inner, number)
        return self.process.wait(20)

    @contextmanager
    def serving(self, stand_in: StandIn) -> Iterator[None]:
        """In the same namespace."""
        enter = ["nsenter", "--target", str(self.inner), "--pid", "--mount", "env", f"--chdir={stand_in.folder}"]
        with subprocess.Popen([*enter, *stand_in.command]):
            try:
                until(stand_in.serves)
                yield
            finally:
                stand_in.stop()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Alone]:
    if os.geteuid():
        pytest.skip("a PID namespace with a /proc of its own needs root")
    found = Alone(tmp_path)
    try:
        yield found
    finally:
        found.stop()


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


class Cost(NamedTuple):
    """Of the daemon and all below it: CPU seconds so far, PSS and what is theirs alone in kB, open files, bytes stored.

    PSS moves by several MB with other processes of the same Python, which come and go.
    """

    cpu: float
    pss: int
    private: int
    files: int
    stored: int


def own(pid: int) -> Iterator[int]:
    yield pid
    for child in children(pid):
        yield from own(child)


def kilobytes(pid: int, what: str) -> int:
    return int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition(f"\n{what}:")[2].split()[0])


def cost(daemon: Alone) -> Cost:
    pids = list(own(daemon.inner))
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    cpu = sum(int(one[at]) for one in fields for at in (11, 12, 13, 14)) / TICKS
    pss, private = (sum(kilobytes(pid, what) for pid in pids) for what in ("Pss", "Private_Dirty"))
    files = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    with daemon.store as store:
        return Cost(cpu, pss, private, files, store.size())


def spent(daemon: Alone, seconds: float) -> tuple[list[Cost], float]:
    """Looks at it, and the share of one core that it took from the first to the last."""
    began, looks = time.monotonic(), [cost(daemon)]
    while (left := began + seconds - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))
        with suppress(OSError):  # a process that ended while it was looked at
            looks.append(cost(daemon))
    return looks, (looks[-1].cpu - looks[0].cpu) / seconds


def growth(looks: list[Cost], of: Callable[[Cost], int]) -> float:
    """Of the last quarter of the looks to the first, by the least of each: some of its processes come and go."""
    quarter = len(looks) // 4
    return min(map(of, looks[-quarter:])) / min(map(of, looks[:quarter]))


def told(looks: list[Cost], share: float) -> str:
    most = max(look.pss for look in looks)
    return f"{share:.2%} of a core, PSS of {most} kB at most, {looks[0]} to {looks[-1]}, {len(looks)} looks"


def test_an_hour_costs_what_it_may_and_leaves_memory_and_descriptors_flat(alone: Alone, tmp_path: Path) -> None:
    settled = min(SETTLED, SECONDS / 10)
    time.sleep(settled)
    idle, idle_share = spent(alone, SECONDS / 2)
    print(f"idle: {told(idle, idle_share)}")
    stand_in = StandIn(tmp_path / "engine", "sglang", size=4)
    with alone.serving(stand_in):
        until(lambda: alone.runs(stand_in), 60)
        time.sleep(settled)
        sampled, sampled_share = spent(alone, SECONDS / 2 - 2 * settled)
        print(f"sampled: {told(sampled, sampled_share)}")
    for looks in idle, sampled:
        assert growth(looks, lambda look: look.files) == 1
        assert growth(looks, lambda look: look.private) < 1.05
        assert max(look.pss for look in looks) < 100_000
    assert idle[-1].stored - idle[0].stored < 2 * AN_HOUR_IDLE  # kept once an hour, and of somebody else's change
    assert sampled[-1].stored - sampled[0].stored < 1e6
    assert idle_share < 0.003
    assert sampled_share < 0.01
