"""llama-bench as it prints: a table, JSON, lines of JSON, CSV."""

from typing import Any

import msgspec
import pytest

from fingerprint.metrics.found import NothingRead
from tests.metrics.clients.told import of_json, of_lines, of_text, one, values

TABLE = """
Using device 0 (Arc A770) as main device
| model                  |       size |     params | backend | ngl | test       |          t/s |
| ---------------------- | ---------: | ---------: | ------- | --: | ---------- | -----------: |
| llama 70B Q4_K - Medium |  38.58 GiB |    68.98 B | SYCL    |  20 | pp 512     |  2.14 ± 0.28 |
| llama 70B Q4_K - Medium |  38.58 GiB |    68.98 B | SYCL    |  20 | tg 128     |  1.03 ± 0.01 |

build: a28c5eff (2045)
"""
SWEEP = """
| model          |     size | backend | ngl | fa |  test |               t/s |
| -------------- | -------: | ------- | --: | -: | ----: | ----------------: |
| gemma2 2B Q8_0 | 3.17 GiB | Metal   |  99 |  0 | pp512 |   2360.42 ± 3.71 |
| gemma2 2B Q8_0 | 3.17 GiB | Metal   |  99 |  0 |  tg64 |     85.54 ± 0.05 |
| gemma2 2B Q8_0 | 3.17 GiB | Metal   |  99 |  1 | pp512 |   1487.45 ± 3.27 |
| gemma2 2B Q8_0 | 3.17 GiB | Metal   |  99 |  1 |  tg64 |     50.99 ± 0.17 |
| gemma2 2B Q8_0 | 3.17 GiB | Metal   |  99 |  1 |  tg
"""
RECORD: dict[str, Any] = {
    "build_commit": "247e5c6e", "build_number": 5606, "cpu_info": "a CPU", "backends": "CUDA",
    "model_type": "llama Q3_K", "n_batch": 2048, "n_threads": 56, "flash_attn": False,
    "n_prompt": 0, "n_gen": 1280, "n_depth": 0,
    "avg_ns": 14970971478, "avg_ts": 85.498819, "stddev_ts": 0.05175, "samples_ns": [14961568347, 14963469597],
    "samples_ts": [85.5525, 85.5417, 85.5074, 85.4603, 85.4322],
}  # fmt: skip


def test_a_table() -> None:
    found = of_text(TABLE)
    assert values(found) == {"pp512/prompt_throughput": 2.14, "tg128/throughput": 1.03}
    spread = one(found, "pp512/prompt_throughput").summary
    assert spread
    assert (spread.mean, spread.stdev) == (2.14, 0.28)
    assert found.workload["llama-bench/ngl"] == 20
    assert found.remarks == ("llama-bench is of build a28c5eff (2045) of llama.cpp",)


def test_a_sweep_whose_last_row_is_cut() -> None:
    assert values(of_text(SWEEP)) == {
        "pp512, fa=0/prompt_throughput": 2360.42, "tg64, fa=0/throughput": 85.54,
        "pp512, fa=1/prompt_throughput": 1487.45, "tg64, fa=1/throughput": 50.99,
    }  # fmt: skip


def test_columns_in_another_order_and_more_of_them() -> None:
    text = "| t/s | model | test | new |\n"
    with pytest.raises(NothingRead, match="not recognised"):
        of_text(text)
    text = "| model | new | test | t/s |\n|---|---|---|---|\n| m | 7 | tg128 @ d4096 | 12.5 ± 0.1 |\n"
    assert values(of_text(text)) == {"tg128 @ d4096/throughput": 12.5}


def test_two_builds_in_one_text_are_two_benchmarks() -> None:
    found = of_text(f"{TABLE}{TABLE.replace('a28c5eff (2045)', '0adb7bde (2046)').replace('2.14', '9.14')}")
    assert values(found)["pp512, build=a28c5eff (2045)/prompt_throughput"] == 2.14
    assert values(found)["pp512, build=0adb7bde (2046)/prompt_throughput"] == 9.14


def test_json_has_samples() -> None:
    found = of_json([RECORD, {**RECORD, "n_prompt": 8192, "n_gen": 0, "samples_ts": [3027.56, 3026.61]}])
    metric = one(found, "tg1280/throughput")
    assert (metric.samples, metric.unit, metric.better) == (
        (85.5525, 85.5417, 85.5074, 85.4603, 85.4322),
        "tok/s",
        "higher",
    )
    assert (metric.kind, metric.processes) == ("repeats", (5,))
    assert one(found, "pp8192/prompt_throughput").samples == (3027.56, 3026.61)
    assert found.workload["llama-bench/n_threads"] == 56
    assert "llama-bench/cpu_info" not in found.workload


def test_lines_of_json_and_csv_tell_the_same() -> None:
    mixed = {**RECORD, "n_prompt": 512, "n_gen": 128, "n_depth": 4096}
    lines = of_lines(RECORD, mixed)
    assert "pp512+tg128 @ d4096/mixed_throughput" in values(lines)
    keys = [key for key in RECORD if not key.startswith("samples")]
    rows = [",".join(f'"{record[key]}"' for key in keys) for record in (RECORD, mixed)]
    csv = of_text("\n".join([",".join(keys), *rows]))
    assert values(csv) == dict.fromkeys(values(lines), 85.498819)
    spread = one(csv, "tg1280/throughput").summary
    assert spread
    assert spread.stdev == 0.05175


def test_a_rate_that_is_none_is_a_gap() -> None:
    text = SWEEP.replace("85.54 ± 0.05", "nan ± nan")
    assert one(of_text(text), "tg64, fa=0/throughput").gap == "throughput is nan, which is not a measured value"


def test_a_file_that_is_cut_says_so() -> None:
    cut = msgspec.json.encode([RECORD, RECORD])[:-40].decode()
    with pytest.raises(NothingRead, match="its writer may not have finished, so it was not recognised"):
        of_text(cut)
