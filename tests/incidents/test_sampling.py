"""Of a run that is played back, what crossed the links is of the machine, and alike on both sides."""

from random import Random

import pytest

from benchmarks.incidents.machines import copied, standing
from benchmarks.incidents.pairs import Changed, runs_of
from benchmarks.incidents.rows import Incident, Number
from benchmarks.incidents.sampling import BETWEEN, LINKED, TRAFFIC, gpu_samples
from fingerprint.runs.record import Distribution, Growth
from probes.kit.lanes import carries

ALONE = {**TRAFFIC, "nvlink/data_tx": 0, "nvlink/data_rx": 0}
TIME = Number("wall_time", "s", 1, 2, "lower")
ROW = Incident("x", "", "plausible", "host", machine="rtx4090x2", program=("/srv/app",), metric=TIME)


@pytest.mark.parametrize(
    ("machine", "crossing"),
    [("t4", TRAFFIC), ("rtx4090x2", BETWEEN), ("l40s", BETWEEN), ("a100x8", LINKED), ("b200", ALONE)],
)
def test_gpus_at_work_have_traffic_where_they_have_links(machine: str, crossing: dict[str, float]) -> None:
    samples = gpu_samples(copied(standing(machine)), Random(1))
    ways = {path.split("/", 2)[2]: it for path, it in samples.items() if path.endswith(("_bytes", "_tx", "_rx"))}
    assert {way: it.grown / it.seconds for way, it in ways.items() if isinstance(it, Growth)} == crossing


def test_what_a_link_carries_is_of_the_lanes_that_each_run_had() -> None:
    runs = runs_of(ROW, [Changed("x", {"gpu/#0/pcie/link_width_current": (16, 4)})], Random(1))
    most = []
    for run in (runs.a, runs.b):
        path = next(path for path in run.state.samples if path.endswith("pcie/link_bandwidth"))
        found = run.state.samples[path]
        assert isinstance(found, Distribution)
        most.append(found.mean)
    assert most == pytest.approx([carries(4, 16), carries(4, 4)], rel=0.05)
