"""docs/metrics.md names what the readers of logs give."""

from pathlib import Path

import pytest

from fingerprint.metrics.logs import LOGS, llama_cpp, prometheus, sglang, tensorrt_llm, vllm
from fingerprint.metrics.logs.table import _SIZES, LIMIT

PAGE = (Path(__file__).parents[3] / "docs/metrics.md").read_text()
COLUMNS = (*sglang._COLUMNS, *sglang._PREFILLS, *vllm._COLUMNS, *llama_cpp._COLUMNS, *tensorrt_llm._COLUMNS)
SCRAPED = (*prometheus._COUNTERS.values(), *prometheus._AMOUNTS.values(), *prometheus._SHARES.values())


@pytest.mark.parametrize("name", LOGS)
def test_the_page_has_each_reader(name: str) -> None:
    assert f"`{name}:FILE`" in PAGE


def test_the_page_has_each_metric() -> None:
    named = {*(column.name for column in (*COLUMNS, *SCRAPED)), *prometheus._HISTOGRAMS.values()}
    assert {name for name in named if f"`{name}`" not in PAGE} == set()


def test_the_page_has_each_limit() -> None:
    assert f"Beyond {LIMIT:,} readings" in PAGE
    assert ", ".join(map(str, _SIZES[:9])) + " and so on" in PAGE
