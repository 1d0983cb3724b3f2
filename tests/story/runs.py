"""The two days of the story: what was set, what the GPUs did under load, what the benchmark measured."""

import time
from calendar import timegm
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import msgspec

from fingerprint.metrics import Better, Metric
from fingerprint.runs.benchmark import benchmark_of
from fingerprint.runs.record import (
    AnyRecord,
    Asked,
    Closed,
    Distribution,
    Growth,
    Held,
    Measured,
    Opened,
    Opener,
    Process,
    Sample,
    Sampled,
    Snapped,
)
from fingerprint.sections import Blob
from fingerprint.snapshot import Key, Provenance, Reading, Snapshot, reading_of
from fingerprint.store import blobs
from fingerprint.store.bundle import EXPORT, Export, StoredRun, StoredSnapshot
from fingerprint.store.packing import hollow, with_reading
from fingerprint.version import __version__
from tests.story.machine import COUNT, SLOTS, process, sections

SECOND = 10**9
BOOT = "5d1f6c1e-7a51-4c0e-9a3e-2f5b8f0f7a11"
ARGV = ("./bench.sh", "--model", "/models/moe-1t", "--tp", "8", "--speculative")
WORKLOAD = {"client": "bench_serving", "prompts": 64, "input_len": 1024, "output_len": 375, "concurrency": 1, "seed": 7}
TOKENS = 64 * 375
START_UP = 412.0  # s until the server answers
TICKS, BUSY = 1200, 640  # samples, and those in which the GPUs worked
_ENV = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "HOME": "/home/bench",
    "LANG": "C.UTF-8",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_PROTO": "LL",
    "OMP_NUM_THREADS": "8",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
}
ENV: Mapping[str, str] = MappingProxyType(_ENV)
SPREAD = (-0.03, -0.012, -0.004, 0.0, 0.004, 0.011, 0.02)  # of quantiles around the median
STARTS = (1.0, 0.996, 1.005)  # how the three starts of a day differ


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One side. Times of a step in ms; watts: the limit of each GPU, and what it draws under load; sm: MHz.

    capped: the share of the time in which the driver held the clocks at the limit. rest: of a cycle, what is neither
    draft nor verify. decode: None where it was not measured. env: of all processes; workers: of the server's workers.
    """

    name: str
    date: str
    limit: int
    draw: int
    sm: int
    capped: float
    temperature: int
    draft: float
    verify: float
    rest: float
    accept_length: float = 2.0
    decode: float | None
    plain: float
    workers: Mapping[str, str] = ENV
    env: Mapping[str, str] = ENV

    @property
    def cycle(self) -> float:
        return self.draft + self.verify + self.rest


THURSDAY = Day(
    name="run-A", date="2026-01-15T21:04:00", limit=600, draw=531, sm=2430, capped=0.0, temperature=68,
    draft=1.6, verify=19.2, rest=0.48, decode=11.2, plain=89.0,
)  # fmt: skip
FRIDAY = Day(
    name="run-B", date="2026-01-16T22:10:00", limit=450, draw=449, sm=1845, capped=0.87, temperature=61,
    draft=2.3, verify=29.6, rest=1.43, decode=12.1, plain=82.0,
)  # fmt: skip
SAME_STATE = msgspec.structs.replace(THURSDAY, name=FRIDAY.name, date=FRIDAY.date, verify=29.6, draft=2.3, rest=1.43)
"""Friday's numbers in Thursday's state, but that plain decode is as fast as it was."""


def exported(day: Day) -> bytes:
    """The run file of a day: one name, three starts, as `fingerprint export` writes it."""
    kept: dict[blobs.Address, Blob] = {}
    starts = [_start(day, number, kept) for number in range(len(STARTS))]
    runs, snapshots = zip(*starts, strict=True)
    export = Export(EXPORT, __version__, runs, snapshots, tuple(kept.values()))
    return msgspec.json.encode(export) + b"\n"


def _start(day: Day, number: int, kept: dict[blobs.Address, Blob]) -> tuple[StoredRun, StoredSnapshot]:
    at = (timegm(time.strptime(day.date, "%Y-%m-%dT%H:%M:%S")) + 1500 * number) * SECOND
    snapshot = _snapshot(day, at, kept)
    records = (_opened(day, at, number), *_records(day, at, number, snapshot.id))
    hollowed = tuple(with_reading(record, lambda reading: _kept(reading, kept)) for record in records)
    return StoredRun(_id(f"{day.name}#{number}", at), day.name, number + 1, hollowed), StoredSnapshot.of(snapshot)


def _kept(reading: Reading, kept: dict[blobs.Address, Blob]) -> Reading:
    assert reading.lasting is not None
    kept[blobs.address(reading.lasting)] = reading.lasting
    return hollow(reading)


def _id(of: str, at: int) -> str:
    """A ULID of that time which is always the same."""
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    number = (at // 1_000_000) << 80 | int.from_bytes(blake2b(of.encode(), digest_size=10).digest(), "big")
    return "".join(digits[number >> shift & 31] for shift in range(125, -1, -5))


def _snapshot(day: Day, at: int, kept: dict[blobs.Address, Blob]) -> Snapshot:
    key = "0f0f0f0f0f0f"
    readings = {Key(area): _kept(reading_of(section), kept) for area, section in sections(day.limit).items()}
    return Snapshot(
        _id(f"snapshot of {day.name}", at), at, 310.0, "gpu-07", Provenance(__version__, "3.12.3", 0, key), readings
    )


def _opened(day: Day, at: int, number: int) -> Opened:
    opener = Opener(4100 + number, 8_000_000 + number, BOOT)
    return Opened(
        at=at, name=day.name, attempt=number + 1, benchmark=benchmark_of(ARGV), host="gpu-07", opener=opener,
        argv=ARGV, cwd="/srv/bench", fingerprint=__version__,
    )  # fmt: skip


def _records(day: Day, at: int, number: int, snapshot: str) -> Iterator[AnyRecord]:
    yield Snapped(at=at, moment="before", snapshot=snapshot)
    for target, told in _processes(day):
        yield Process(at=at + 60 * SECOND, area="process", target=target, reading=reading_of(told))
    end = at + int(_wall_time(day) * SECOND)
    yield from (Asked(at=end, key=key, value=value) for key, value in WORKLOAD.items())
    yield from (Measured(at=end, metric=metric) for metric in _metrics(day, STARTS[number]))
    yield Sampled(at=end, ticks=TICKS, missed=0, facts=dict(_samples(day)))
    yield Closed(at=end, how="exited", status=0)


def _processes(day: Day) -> Iterator[tuple[str, Any]]:
    yield "main", process("/srv/bench/bench.sh", ARGV[1:], day.env)
    serving = ("-m", "sglang.launch_server", "--model-path", "/models/moe-1t", "--tp", "8")
    yield "main.python.1", process("/opt/sglang/bin/python", serving, day.env)
    spawned = ("-c", "from multiprocessing.spawn import spawn_main; spawn_main()")
    for rank in range(COUNT):
        yield f"main.python.{rank + 2}", process("/opt/sglang/bin/python", spawned, day.workers)


def _wall_time(day: Day) -> float:
    return START_UP + TOKENS * day.cycle / 1000 / day.accept_length + TOKENS / day.plain


def _metrics(day: Day, slower: float) -> Iterator[Metric]:
    """Those that `run` takes itself, then those of the result file. slower: than the day's median."""
    wall = _wall_time(day) * slower
    yield Metric("wall_time", "s", "lower", (round(wall, 3),), "monotonic clock, from exec to exit")
    yield Metric("cpu_time", "s", "lower", (round(9.3 * wall, 2),), "wait4: the command and the descendants")
    yield Metric("peak_memory", "B", "lower", (round(61.4e9 * slower),), "VmHWM of the tree's processes, sampled")
    yield Metric("exit_status", "", "lower", (0.0,), "wait4")
    step = day.cycle * slower
    told: tuple[tuple[str, str, Better, float], ...] = (
        ("throughput", "tok/s", "higher", 1000 * day.accept_length / step),
        ("verify_ms", "ms", "lower", day.verify * slower),
        ("draft_ms", "ms", "lower", day.draft * slower),
        ("accept_length", "", "higher", day.accept_length),
        ("plain_throughput", "tok/s", "higher", day.plain / slower),
        *((("decode_ms", "ms", "lower", day.decode * slower),) if day.decode else ()),
    )
    for name, unit, better, value in told:
        yield Metric(name, unit, better, (round(value, 2),), "json", file="result.json")


def _samples(day: Day) -> Iterator[tuple[str, Sample]]:
    for at, slot in enumerate(SLOTS):
        yield from ((f"gpu/{slot}/{fact}", sample) for fact, sample in _samples_of_gpu(day, 1 + 0.002 * (at - 4)))
    yield from _samples_of_host(day)


def _samples_of_gpu(day: Day, own: float) -> Iterator[tuple[str, Sample]]:
    """own: how this GPU differs from the others, as boards of one name do."""
    seconds = _wall_time(day)
    cap = int(day.capped * own * seconds * 1e6)
    yield "busy", _flag(BUSY / TICKS)
    sm = day.sm * own if day.capped else day.sm
    yield "clocks/sm", _around(sm, bool(day.capped))
    yield "clocks/graphics", _around(sm, bool(day.capped))
    yield "clocks/mem", _around(12481, 0)
    yield "power/draw", _around(1000 * min(day.draw * own, day.limit), 0.3)
    yield "temperature/gpu", _around(day.temperature * own)
    yield "utilization/gpu", _around(93, 0.5)
    yield "clocks_event_reasons/active", _held(day, "sw_power_cap", "none")
    yield "inferred/clock_lock_ground", _held(day, "busy, and held by sw_power_cap", "busy at the maximum clock")
    yield "clocks_event_reasons/sw_power_cap", _flag(day.capped)
    yield "clocks_event_reasons/hw_thermal_slowdown", _flag(0.0)
    yield "clocks_event_reasons_counters/sw_power_cap", _grown(cap, seconds)
    for reason in ("hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"):
        yield f"clocks_event_reasons_counters/{reason}", _grown(0, seconds)
    steady: dict[str, Any] = {"inferred/clock_lock": "no sign", "performance_state": "P1"}
    steady |= {"pcie/link_gen_current": 5, "pcie/link_speed": 32000}
    yield from ((fact, Held(((value, BUSY),), left_out=TICKS - BUSY)) for fact, value in steady.items())
    yield "pcie/errors/replay_counter", _grown(0, seconds)


def _samples_of_host(day: Day) -> Iterator[tuple[str, Sample]]:
    seconds = _wall_time(day)
    yield "pressure/cpu/some/total", _grown(int(0.004 * seconds * 1e6), seconds)
    yield "pressure/io/some/total", _grown(int(0.001 * seconds * 1e6), seconds)
    yield "pressure/memory/some/total", _grown(0, seconds)
    yield "usage/main/user", _grown(int(8.6 * seconds * 1e3), seconds)
    yield "usage/main/system", _grown(int(0.7 * seconds * 1e3), seconds)
    yield "usage/main/run_delay", _grown(int(0.002 * seconds * 1e9), seconds)
    yield "usage/main/processes", _around(COUNT + 2, 0)
    yield "usage/main/threads", _around(1184, 0)


def _held(day: Day, at_the_limit: str, below_it: str) -> Held:
    capped = round(BUSY * day.capped)
    found = ((at_the_limit, capped), (below_it, BUSY - capped))
    return Held(tuple(pair for pair in found if pair[1]), left_out=TICKS - BUSY)


def _around(median: float, wide: float = 1.0) -> Distribution:
    quantiles = tuple(round(median * (1 + wide * away), 1) for away in SPREAD)
    return Distribution(BUSY, round(median, 1), quantiles, TICKS - BUSY)


def _flag(share: float) -> Distribution:
    quantiles = tuple(float(share >= 1 - at) if share else 0.0 for at in (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1))
    return Distribution(BUSY, round(share, 3), quantiles, TICKS - BUSY)


def _grown(by: int, seconds: float) -> Growth:
    return Growth(first=0, last=by, grown=by, seconds=round(seconds, 3))
