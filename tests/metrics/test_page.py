"""docs/metrics.md says what the readers do."""

from pathlib import Path

import pytest

from fingerprint.metrics import Metric
from fingerprint.metrics.results import KNOWN
from fingerprint.metrics.source import LARGEST
from fingerprint.metrics.values import KEPT
from fingerprint.metrics.wanted import READERS, TAKEN, wanted

PAGE = (Path(__file__).parents[2] / "docs/metrics.md").read_text()


@pytest.mark.parametrize("reader", READERS)
def test_the_page_has_each_reader(reader: str) -> None:
    assert f"`{reader}:" in PAGE


def test_the_page_has_each_field_option_and_limit() -> None:
    fields = set(Metric.__struct_fields__) - {"name", "unit", "better", "gap", "file"}
    assert {field for field in fields if f"| `{field}` |" not in PAGE} == set()
    assert all(f"`{name}`" in PAGE for name in TAKEN)
    assert f"{KEPT:,} samples" in PAGE
    assert f"{LARGEST >> 20} MiB" in PAGE
    assert all(word.strip(",;") in PAGE for word in KNOWN.split() if word.startswith("--"))


def test_the_page_s_examples_are_understood() -> None:
    examples = [line.strip().strip("'") for line in PAGE.splitlines() if line.startswith("    ")]
    assert len(wanted(examples)) == len(examples) == 4
