"""Timelines by name, each built by hand to show one part of a report."""

from typing import Any

from fingerprint.timeline.contract import SCHEMA, Event, Measured, Run, Timeline

BETWEEN = "No service watched meanwhile: what changed is told by the readings before and after"


def event(kind: Any, since: str, until: str = "", **more: Any) -> Event:
    """Times of the days of January 2026: `16T22:56:00`."""
    empty: dict[str, Any] = {
        "what": "", "was": None, "is_": None, "unit": "", "count": 1, "says": "", "follows": (), "told_by": "service",
        "runs": (),
    }  # fmt: skip
    times = {"since": f"2026-01-{since}Z", "until": f"2026-01-{until or since}Z"}
    return Event(**{"host": "gpu-07", "kind": kind} | times | empty | more)


def state(what: str, was: Any, is_: Any, since: str, until: str, **more: Any) -> Event:
    return event("state", since, until, what=what, was=was, is_=is_, **more)


def run(name: str, started: str, ended: str, verify_ms: float | None = None, **more: Any) -> Run:
    empty: dict[str, Any] = {
        "attempt": 1, "host": "gpu-07", "benchmark": "bench", "how": "exited 0", "mark": "", "good": False,
        "by_service": False,
    }  # fmt: skip
    own = [Measured(name="verify_ms", unit="ms", better="lower", value=verify_ms)] if verify_ms else []
    every = Measured(name="wall_time", unit="s", better="lower", value=240.5)
    times = {"started": f"2026-01-{started}Z", "ended": f"2026-01-{ended}Z" if ended else ""}
    return Run(**{"id": f"01J{name}{started}", "name": name, "metrics": (*own, every)} | times | empty | more)


def timeline(says: str, since: str, until: str, **more: Any) -> Timeline:
    empty: dict[str, Any] = {"hosts": ("gpu-07",), "a": "", "b": "", "events": (), "runs": (), "notes": ()}
    times = {"since": f"2026-01-{since}Z", "until": f"2026-01-{until}Z"}
    return Timeline(**{"schema": SCHEMA, "says": says} | times | empty | more)


NOTHING = timeline(
    "gpu-07: nothing is kept of this time: --since asks for more of it, --host for another host.",
    "15T12:00:00",
    "16T12:00:00",
)

UNWATCHED = timeline(
    "Between run-A and run-B on gpu-07: 1 boot and process/main/env/NCCL_PROTO LL -> Simple.",
    "15T21:04:00", "16T23:18:24", a="run-A", b="run-B",
    events=(
        event("boot", "16T06:10:12", says="The host was started again.", told_by="readings", runs=("01A", "01B")),
        state("process/main/env/NCCL_PROTO", "LL", "Simple", "15T21:20:00", "16T23:00:00", told_by="readings"),
    ),
    runs=(
        run("run-A", "15T21:04:00", "15T21:20:00", 19.2, mark="a", good=True),
        run("run-B", "16T23:00:00", "16T23:18:24", 29.6, mark="b"),
    ),
    notes=(BETWEEN,),
)  # fmt: skip

LINKS = tuple(
    event("kernel", f"16T23:0{minute}:{second:02}", what="link", is_=2, says="driver/log/0000:41:00.0/aer grew by 2")
    for minute in range(1, 8)
    for second in (3, 40)
)
AFTER_BOOT = (
    *(state(f"kernel/sysctl/vm.knob{n}", n, n + 1, "16T06:10:12", "16T06:12:00") for n in range(9)),
    state("memory/transparent_hugepage/enabled", "madvise", "always", "16T06:10:12", "16T06:12:00"),
)

WATCHED = timeline(
    "Between run-A and run-B on gpu-07: 1 boot, 12 changes, 1 event of the kernel, 2 events of servers and 1 jump of "
    "the clock.",
    "15T21:04:00", "16T23:18:24", a="run-A", b="run-B",
    events=(
        state("cpu/policies/*/scaling_governor", "performance", "powersave", "15T21:10:01", "15T21:11:01", count=64,
              follows=("cpu/policies/*/scaling_max_freq",)),
        event("serving", "16T05:58:40", what="sglang-30000", says="sglang-30000 (pid 4711) is gone", runs=("01J30",)),
        event("boot", "16T06:02:12", "16T06:10:12", what="kernel/boot_id", was="b1", is_="b2"),
        event("clock jump", "16T06:10:40", what="clock", says="the clock was set ahead by 12 s"),
        *AFTER_BOOT,
        event("serving", "16T06:31:09", what="sglang-30000", says="sglang-30000 (pid 99) serves"),
        state("gpu/*/power_limit", 600000, 450000, "16T22:40:07", "16T22:41:07", unit="mW", count=8,
              follows=("gpu/*/enforced_power_limit", "gpu/*/inferred/power_limit_by", "gpu/*/inferred/set_at_boot")),
        event("kernel", "16T22:58:31", what="xid", is_=1, says="driver/log/0000:ca:00.0/xid grew by 1"),
        *LINKS,
        state("gpu/0000:17:00.0/persistence_mode", "enabled", {"gap": "lost"}, "16T23:07:45", "16T23:08:45"),
    ),
    runs=(
        run("run-A", "15T21:04:00", "15T21:20:00", 19.2, mark="a", good=True),
        *(run("sglang-30000", f"16T{hour:02}:31:09", f"16T{hour + 1:02}:31:09", attempt=hour, by_service=True,
              how="server ran on") for hour in range(6, 22)),
        run("run-B", "16T23:00:00", "16T23:18:24", 29.6, mark="b", how="killed by signal 9"),
        run("nightly", "16T23:05:00", "", how="still open"),
    ),
)  # fmt: skip

CASES = {"nothing": NOTHING, "unwatched": UNWATCHED, "watched": WATCHED}
