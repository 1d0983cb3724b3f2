"""When what nvidia-smi printed and what NVML answered are the same."""

from typing import Any

import pytest
from gpu_check.anonymous import anonymous
from gpu_check.compare import Row, best, compared

from probes.gpu import Gpu, Gpus
from probes.gpu.clocks import Clocks
from probes.gpu.memory import Memory
from probes.gpu.power import Power
from probes.kit.facts import NOT_READ, Gap, Map
from tests.imports.capture import load, xml_of

KEY = "0000:17:00.0"


def verdict(printed: Gpu, before: Gpu, after: Gpu | None = None) -> str:
    one, two, three = (Gpus(gpus=Map({KEY: gpu})) for gpu in (printed, before, after or before))
    rows = compared("gpu", one, two, three)
    (row,) = [row for row in rows if row.path != "gpu" and not isinstance(row.printed, frozenset)]
    return row.verdict


def limit(value: Any) -> Gpu:
    return Gpu(power_limit=value)


def clock(value: Any) -> Gpu:
    return Gpu(clocks=Clocks(sm=value))


@pytest.mark.parametrize(
    ("printed", "before", "expected"),
    [
        (limit(700_000), limit(700_000), "equal"),
        (limit(700_000), limit(700_004), "within"),  # printed as 700.00 W
        (limit(700_000), limit(690_000), "different"),
        (limit(700_000), limit(Gap("unsupported")), "different"),
        (limit(Gap("unsupported")), limit(Gap("unsupported")), "equal"),
        (limit(700_000), limit(NOT_READ), "different"),
        (Gpu(persistence_mode="disabled"), Gpu(persistence_mode=Gap("not_observable")), "not comparable"),
        (Gpu(memory=Memory(reserved=479 << 20)), Gpu(memory=Memory(reserved=(479 << 20) - 4096)), "within"),
        (Gpu(memory=Memory(reserved=479 << 20)), Gpu(memory=Memory(reserved=500 << 20)), "different"),
    ],
)
def test_what_stands_is_equal_but_for_its_rounding(printed: Gpu, before: Gpu, expected: str) -> None:
    assert verdict(printed, before) == expected


@pytest.mark.parametrize(
    ("printed", "before", "after", "expected"),
    [
        (clock(1500), clock(1200), clock(1980), "within"),
        (clock(345), clock(1980), clock(1980), "different"),
        (clock(345), clock(1980), clock(1200), "moved"),
        (Gpu(performance_state="P2"), Gpu(performance_state="P8"), Gpu(performance_state="P0"), "moved"),
        (Gpu(performance_state="P2"), Gpu(performance_state="P0"), Gpu(performance_state="P0"), "different"),
        (Gpu(performance_state="P0"), Gpu(performance_state="P8"), Gpu(performance_state="P0"), "equal"),
        (Gpu(power=Power(energy=70)), Gpu(power=Power(energy=50)), Gpu(power=Power(energy=90)), "within"),
        (Gpu(power=Power(energy=20)), Gpu(power=Power(energy=50)), Gpu(power=Power(energy=50)), "different"),
    ],
)
def test_what_moves_lies_between_both_readings(printed: Gpu, before: Gpu, after: Gpu, expected: str) -> None:
    assert verdict(printed, before, after) == expected


@pytest.mark.parametrize(
    ("printed", "answered", "expected"),
    [
        ("hmm", Gap("unsupported"), "not comparable"),
        (Gap("unsupported"), Gap("unsupported"), "equal"),
        ("hmm", "ats", "different"),
        ("hmm", Gap("denied"), "different"),
    ],
)
def test_what_an_older_nvml_has_no_getter_for_is_excused(printed: Any, answered: Any, expected: str) -> None:
    imported, nvml = (Gpus(gpus=Map({KEY: Gpu(addressing_mode=value)})) for value in (printed, answered))
    rows = compared("gpu", imported, nvml, nvml, frozenset({"addressing_mode"}))
    assert [row.verdict for row in rows if row.path.endswith("addressing_mode")] == [expected]


def test_of_several_attempts_the_best_counts_for_each_fact() -> None:
    def row(path: str, verdict: Any) -> Row:
        return Row(path, verdict, "", 1, 1, 1)

    attempts = [[row("a", "different"), row("b", "different")], [row("a", "within"), row("b", "different")]]
    assert {one.path: one.verdict for one in best(attempts)} == {"a": "within", "b": "different"}


def test_a_log_is_written_without_names_and_else_as_it_was() -> None:
    log = xml_of(
        {**load("t4-595.91.07"), "gpu/serial": "987654", "gpu/uuid": "GPU-abc", "gpu/pdi": "0x531e7660f021a0d4"}
    )
    shown = anonymous(log)
    assert [name for name in ("987654", "GPU-abc", "531e7660") if name in shown] == []
    assert "<serial>1600000000001</serial>" in shown
    assert "<chassis_serial_number>N/A</chassis_serial_number>" in shown
    assert len(shown.splitlines()) == len(log.splitlines())
    assert anonymous(shown.replace("1600000000001", "987654")) == shown
