"""nccl-tests' tables and nvbandwidth's matrices."""

from typing import Any

import pytest

from fingerprint.metrics.found import NothingRead
from tests.metrics.clients.told import of_json, of_text, one, values

TITLE = """#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
SETTINGS = """# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 100 agg iters: 1 \
validation: 1 graph: 0
#  Rank  0 Group  0 Pid   2574 on node7 device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid   2575 on node7 device  1 [0000:15:00] NVIDIA A100-SXM4-40GB
"""
ROWS = """\
 1073741824   268435456     float     sum      -1  10887.4   98.62  184.92       0  10867.5   98.80  185.26       0
 8589934592  2147483648     float     sum      -1  84948.7  101.12  189.60       0  84992.3  101.07  189.50     N/A
"""
END = """# Out of bounds values : 0 OK
# Avg bus bandwidth    : 187.35
"""


def test_a_table_with_redop_and_root() -> None:
    found = of_text(f"EXEC_CMD=/opt/all_reduce_perf\n{SETTINGS}{TITLE}{ROWS}{END}")
    assert values(found) == {
        "1073741824 B/time": 10887.4, "1073741824 B/algbw": 98.62, "1073741824 B/busbw": 184.92,
        "1073741824 B/in-place/time": 10867.5, "1073741824 B/in-place/algbw": 98.8,
        "1073741824 B/in-place/busbw": 185.26,
        "8589934592 B/time": 84948.7, "8589934592 B/algbw": 101.12, "8589934592 B/busbw": 189.6,
        "8589934592 B/in-place/time": 84992.3, "8589934592 B/in-place/algbw": 101.07,
        "8589934592 B/in-place/busbw": 189.5,
        "out_of_bounds_values": 0, "avg_busbw": 187.35,
    }  # fmt: skip
    assert {(it.unit, it.better) for it in found.metrics if it.name.endswith("busbw")} == {("GB/s", "higher")}
    assert {(it.unit, it.better) for it in found.metrics if it.name.endswith("time")} == {("us", "lower")}
    assert {key.partition("/")[2]: it for key, it in found.workload.items()} == {
        "collective": "all_reduce_perf", "threads": 1, "gpus": 1, "min_bytes": 1073741824, "max_bytes": 8589934592,
        "step": "2(factor)", "warmup_iters": 1, "iters": 100, "agg_iters": 1, "validation": 1, "graph": 0, "ranks": 2,
    }  # fmt: skip


def test_units_are_those_under_the_title() -> None:
    found = of_text(f"{SETTINGS}{TITLE.replace('(us)', '(ms)').replace('(GB/s)', '(GiB/s)')}{ROWS}{END}")
    units = {it.name.rpartition("/")[2]: it.unit for it in found.metrics}
    assert units == {"time": "ms", "algbw": "GiB/s", "busbw": "GiB/s", "avg_busbw": "GiB/s", "out_of_bounds_values": ""}


def test_of_a_list_of_ranks_that_was_shortened_the_last_one_tells_how_many_there_were() -> None:
    last = "#  Rank 15 Group  0 Pid   2101 on node8 device  7 [0000:da:00] NVIDIA A100-SXM4-40GB\n"
    assert of_text(f"{SETTINGS}{last}{TITLE}{ROWS}").workload["nccl-tests/ranks"] == 16


def test_a_table_of_old_without_root_and_with_errors() -> None:
    title = (
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
    )
    found = of_text(f"{title}  64   16   float   sum    413.6    0.15    0.29  2e-07    392.9    0.16    0.31  2e-07\n")
    assert values(found) == {
        "64 B/time": 413.6, "64 B/algbw": 0.15, "64 B/busbw": 0.29, "64 B/in-place/time": 392.9,
        "64 B/in-place/algbw": 0.16, "64 B/in-place/busbw": 0.31,
    }  # fmt: skip


def test_a_table_without_redop() -> None:
    title = "#       size         count    type     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
    found = of_text(
        f"{title}        1024           256   float    22.1    0.05    0.04       3     21.5    0.05    0.04       1\n"
    )
    assert values(found)["1024 B/time"] == 22.1
    assert values(found)["out_of_bounds_values"] == 4


def test_types_and_operations_tell_rows_of_one_size_apart() -> None:
    rows = ROWS.splitlines()[0]
    found = of_text(f"{TITLE}{rows}\n{rows.replace('float     sum', ' half     max')}\n")
    assert {"float sum -1/1073741824 B/busbw", "half max -1/1073741824 B/busbw"} <= values(found).keys()


def test_rows_that_the_library_s_lines_tear_are_put_together_again() -> None:
    torn = ROWS.replace("      -1  10887.4", "      -1node-7:65704:65704 [1] NCCL INFO AllReduce: opCount 0\n  10887.4")
    torn = torn.replace(
        "       0  10867.5", "       0mew0:65:66 [0] NCCL INFO Algo RING\nmew0:65:66 [0] NCCL INFO x\n  10867.5"
    )
    assert torn.count("\n") == 5
    assert values(of_text(TITLE + torn)) == values(of_text(TITLE + ROWS))


def test_a_row_without_a_value_for_each_column_is_left_out_and_told() -> None:
    found = of_text(TITLE + ROWS.replace("  184.92       0", "  184.92"))
    assert all(name.startswith(("8589934592 B", "out")) for name in values(found))
    assert found.remarks == ("1 rows of nccl-tests were torn apart by other output and left out",)
    with pytest.raises(NothingRead, match="all 2 rows of nccl-tests were torn apart by other output; unset NCCL_DEBUG"):
        of_text(TITLE + ROWS.replace("float ", ""))


def test_two_tests_are_two_benchmarks() -> None:
    other = SETTINGS.replace("all_reduce", "all_gather")
    found = of_text(f"{SETTINGS}{TITLE}{ROWS}{END}{other}{TITLE}{ROWS}")
    assert values(found)["collective=all_gather_perf/1073741824 B/busbw"] == 184.92
    assert values(found)["collective=all_reduce_perf/avg_busbw"] == 187.35


def test_more_rows_than_any_test_has_are_refused() -> None:
    with pytest.raises(NothingRead, match="it has more than 10,000 rows"):
        of_text(TITLE + ROWS * 6000)


MATRICES = """
nvbandwidth Version: v0.8
CUDA Runtime Version: 13000
Device 0: NVIDIA H100 (00000000:01:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.17     53.61

SUM host_to_device_memcpy_ce 108.78

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1         2
 0       N/A    276.07    276.36
 1    276.19       N/A    276.29
 2    276.30    150.05       N/A

SUM device_to_device_memcpy_read_ce 1531.26

Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    772.58    901.25

Running device_local_copy.
Waived:
"""


def test_matrices_of_nvbandwidth() -> None:
    found = of_text(MATRICES)
    told = values(found)
    assert told["host_to_device_memcpy_ce/0-0"] == 55.17
    assert told["host_to_device_memcpy_ce/0-1"] == 53.61
    assert told["host_to_device_memcpy_ce/worst_pair"] == 53.61
    peers = one(found, "device_to_device_memcpy_read_ce").summary
    assert peers
    assert (peers.count, peers.min, peers.max) == (6, 150.05, 276.36)
    assert told["device_to_device_memcpy_read_ce/2-1"] == told["device_to_device_memcpy_read_ce/worst_pair"] == 150.05
    latency = one(found, "host_device_latency_sm/worst_pair")
    assert (latency.typical, latency.unit, latency.better) == (901.25, "ns", "lower")
    assert one(found, "device_local_copy").gap == "Waived:"
    assert found.workload == {"nvbandwidth/version": "0.8"}


def test_nvbandwidth_s_json_tells_the_same() -> None:
    def case(
        name: str, matrix: list[list[str]], what: str = "CPU(row) -> GPU(column) bandwidth (GB/s)"
    ) -> dict[str, Any]:
        return {"name": name, "status": "Passed", "bandwidth_description": what, "bandwidth_matrix": matrix}

    peers = [["N/A", "276.07", "276.36"], ["276.19", "N/A", "276.29"], ["276.30", "150.05", "N/A"]]
    cases = [
        case("host_to_device_memcpy_ce", [["55.17", "53.61"]]),
        case("device_to_device_memcpy_read_ce", peers),
        case("host_device_latency_sm", [["772.58", "901.25"]], "memory latency SM CPU(row) <-> GPU(column) (ns)"),
        {"name": "device_local_copy", "status": "Waived"},
    ]
    found = of_json({"nvbandwidth": {"version": "v0.8", "testcases": cases}})
    assert values(found) == values(of_text(MATRICES))
    assert found.workload == {"nvbandwidth/version": "0.8"}


def test_of_one_pair_there_is_one_number_and_0_is_no_bandwidth() -> None:
    text = "Running a_memcpy.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    assert values(of_text(f"{text}    0    1\n 0  0.00  25.17\n 1  0.00  0.00\n")) == {"a_memcpy": 25.17}
