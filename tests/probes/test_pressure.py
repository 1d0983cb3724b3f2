import time
from pathlib import Path

import pytest

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.pressure import hundredths, loadavg, stalls
from tests.probes.tree import Forbidding, read, tree

STAT = """cpu  2411 5 1637 195566 127 8 21 7 3 0
cpu0 352 0 610 98891 6 0 2 2 0 0
cpu1 2059 5 1027 96675 121 8 19 5 3 0
intr 110225 0 0 14 0
ctxt 224633
btime 1795977631
processes 6520
procs_running 2
procs_blocked 1
softirq 78183 0 15734 3
"""
SOME = "some avg10=2.83 avg60=1.40 avg300=0.35 total=3995174\n"
FULL = "full avg10=0.07 avg60=0.00 avg300=0.00 total=1055873\n"
FILES = {
    "/proc/stat": STAT,
    "/proc/loadavg": "0.03 1.06 12.02 1/96 9190\n",
    "/proc/pressure/cpu": SOME + "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "/proc/pressure/memory": SOME + FULL,
    "/proc/pressure/io": SOME + FULL,
    "/proc/pressure/irq": FULL,
}


def test_stall_totals_are_microseconds_and_shares_hundredths_of_a_percent(tmp_path: Path) -> None:
    section = read("pressure", tree(tmp_path, FILES))
    assert (section.cpu.some.total, section.cpu.some.avg10) == (3995174, 283)
    assert (section.io.full.total, section.io.full.avg10) == (1055873, 7)
    assert (section.irq.full.total, section.irq.full.avg10) == (1055873, 7)


def test_cpu_time_is_that_of_all_cpus_together_in_the_order_of_proc_stat(tmp_path: Path) -> None:
    time = read("pressure", tree(tmp_path, FILES)).cpu_time
    modes = (time.user, time.nice, time.system, time.idle, time.iowait, time.irq, time.softirq, time.steal, time.guest)
    assert modes == (2411, 5, 1637, 195566, 127, 8, 21, 7, 3)


def test_interrupts_are_the_total_that_stands_first(tmp_path: Path) -> None:
    activity = read("pressure", tree(tmp_path, FILES)).activity
    assert (activity.intr, activity.softirq, activity.ctxt, activity.processes) == (110225, 78183, 224633, 6520)
    assert (activity.procs_running, activity.procs_blocked) == (2, 1)


def test_load_is_in_hundredths_and_threads_are_all_threads(tmp_path: Path) -> None:
    load = read("pressure", tree(tmp_path, FILES)).load
    assert (load.load1, load.load5, load.load15, load.threads) == (3, 106, 1202, 96)


def test_a_kernel_without_pressure_information_still_tells_time_and_load(tmp_path: Path) -> None:
    section = read("pressure", tree(tmp_path, {k: v for k, v in FILES.items() if "pressure" not in k}))
    assert section.cpu.some.total == Gap("not_read")
    assert section.cpu_time.user == 2411


def test_a_line_that_this_kernel_does_not_tell_is_unsupported(tmp_path: Path) -> None:
    section = read("pressure", tree(tmp_path, {**FILES, "/proc/pressure/memory": SOME}))
    assert section.memory.full.total == Gap("unsupported")
    assert section.memory.some.total == 3995174


@pytest.mark.parametrize("line", ["some avg10=2.8 total=1", "some avg10=2.83", "some total", "some avg10=x.yz total=1"])
def test_pressure_that_makes_no_sense_is_failed(tmp_path: Path, line: str) -> None:
    section = read("pressure", tree(tmp_path, {**FILES, "/proc/pressure/io": line}))
    assert section.io.some.total == Gap("failed")
    assert section.memory.some.avg10 == 283


def test_what_an_older_kernels_stat_lacks_is_unsupported_and_the_rest_is_there(tmp_path: Path) -> None:
    section = read("pressure", tree(tmp_path, {**FILES, "/proc/stat": "cpu  1 2 3\nctxt 7\nintr x\n"}))
    assert (section.cpu_time.system, section.cpu_time.idle) == (3, Gap("unsupported"))
    assert (section.activity.ctxt, section.activity.softirq) == (7, Gap("unsupported"))
    assert section.activity.intr == Gap("failed")


def test_what_may_not_be_read_is_denied() -> None:
    section = read("pressure", Forbidding("/proc/pressure"))
    assert section.memory.some.total == Gap("denied")
    assert section.load.load1 != Gap("denied")


def test_this_machine_counts_upward() -> None:
    first = read("pressure", Host())
    time.sleep(0.01)  # gives the core away at least once
    second = read("pressure", Host())
    assert second.activity.ctxt > first.activity.ctxt > 0
    assert second.cpu_time.user >= first.cpu_time.user > 0


def test_hundredths_refuses_other_decimals() -> None:
    assert hundredths("100.00") == 10000
    for text in ("1", "1.5", "1.555", ""):
        with pytest.raises(ValueError, match="two decimals"):
            hundredths(text)


def test_parsers_keep_the_kernels_names() -> None:
    assert stalls(SOME + FULL) == {"some": (3995174, 283), "full": (1055873, 7)}
    assert loadavg("0.00 0.00 0.00 2/1234 1\n") == (0, 0, 0, 1234)
