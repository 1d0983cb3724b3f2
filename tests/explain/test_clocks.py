"""A clock that was lower is a cause only where something held it: else the processor may just have waited."""

from collections.abc import Mapping
from typing import Any

import pytest

from fingerprint.explain import explain
from fingerprint.explain.contract import Diff
from fingerprint.runs.record import Distribution, Growth
from probes.gpu import Gpu, Gpus
from probes.kit.facts import Map
from tests.explain.subjects import subject
from tests.runs.recorded import measured

SLOTS = ("0000:17:00.0", "0000:2a:00.0")
WAITS = "possibly because the GPU waits: nothing held it"


def held(value: float) -> Distribution:
    return Distribution(100, value, (value,) * 7)


def ran(
    mhz: float, *, watts: int = 600, capped_us: int | None = 0, idle: float = 0.0
) -> tuple[Gpus, Mapping[str, Any]]:
    """capped_us: per second, under the power limit; None: a driver that does not count it."""
    samples: dict[str, Any] = {}
    for slot in SLOTS:
        samples[f"gpu/{slot}/clocks/sm"] = held(mhz)
        samples[f"gpu/{slot}/clocks_event_reasons/gpu_idle"] = held(idle)
        if capped_us is not None:
            counter = f"gpu/{slot}/clocks_event_reasons_counters/sw_power_cap"
            samples[counter] = Growth(0, 10 * capped_us, 10 * capped_us, 10.0)
    return Gpus(gpus=Map({slot: Gpu(power_limit=1000 * watts) for slot in SLOTS})), samples


def between(a: tuple[Gpus, Mapping[str, Any]], b: tuple[Gpus, Mapping[str, Any]]) -> Diff:
    one, other = (
        subject(name, made, None, measured("verify_ms", ms), area="gpu", samples=samples)
        for (name, ms), (made, samples) in zip((("A", 19.2), ("B", 29.6)), (a, b), strict=True)
    )
    return explain(one, other)


def clock(diff: Diff) -> str:
    return next(item.says for item in diff.during if item.fact == "gpu/*/clocks/sm")


@pytest.mark.parametrize(("before", "after", "side"), [(1980, 1500, "B"), (1500, 1980, "A")])
def test_a_clock_that_nothing_held_may_be_low_because_the_gpu_waits(before: int, after: int, side: str) -> None:
    diff = between(ran(before), ran(after, idle=0.4))
    assert f"low in {side}, {WAITS}" in clock(diff)
    assert diff.suspects == ()


def test_one_that_the_power_cap_held_is_not_waiting_whether_or_not_the_limit_changed() -> None:
    assert WAITS not in clock(between(ran(1980), ran(1500, capped_us=800_000)))
    assert WAITS not in clock(between(ran(1980), ran(1500, watts=450, capped_us=800_000)))


def test_a_limit_that_was_seen_not_to_bind_holds_no_clock() -> None:
    assert WAITS in clock(between(ran(1980), ran(1500, watts=450)))


def test_where_nobody_saw_what_holds_clocks_nothing_is_said_of_it() -> None:
    assert WAITS not in clock(between(ran(1980, capped_us=None), ran(1500, capped_us=None)))
