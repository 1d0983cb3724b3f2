"""Metrics on their way from a program into its run: many, wrong ones among right ones."""

import pytest

from tests.client.conftest import Program

MANY = """
from fingerprint_client import run
with run("A", strict=True) as r:
    for at in range(120_000):
        r.metric("token_ms", at / 7, unit="ms", better="lower", series=True)
    r.metric("decode_ms", [11.2, 11.3])
"""


@pytest.mark.long
def test_more_values_than_a_command_line_holds_are_recorded(program: Program) -> None:
    program("-c", MANY)
    token = program.metrics("A")["token_ms"]
    assert (token["summary"]["count"], token["unit"], token["better"], token["kind"]) == (
        120_000,
        "ms",
        "lower",
        "series",
    )
    assert program.metrics("A")["decode_ms"]["samples"] == [11.2, 11.3]


WRONG = """
from fingerprint_client import run
with run("A") as r:
    for value in (1, float("nan"), 2, float("inf"), 10**400, 3):
        r.metric("loss", value)
    r.metric("wall_time", 1, unit="s")
    r.metric("a\\nb", 1, unit="ms")
    r.metric("right", 1)
"""


def test_a_value_that_nothing_can_measure_leaves_the_others(program: Program) -> None:
    told = program("-c", WRONG).stderr.splitlines()
    assert program.metrics("A")["loss"]["samples"] == [1.0, 2.0, 3.0]
    assert program.metrics("A")["right"]["samples"] == [1.0]
    for words in (
        "loss[0] is nan", "loss[0] is inf", "loss is not recorded: it is larger", "'wall_time' is measured in",
        "is no name for a metric",
    ):  # fmt: skip
        assert [line.startswith("fingerprint_client: ") for line in told if words in line] == [True], words
    assert len(told) == 5


def test_a_mark_may_say_its_name_as_it_is_documented(program: Program) -> None:
    test = "import pytest\n@pytest.mark.fingerprint(name='decode')\ndef test_one(): pass\n"
    (program.home / "test_one.py").write_text(test)
    program.pytest("--fingerprint")
    assert "decode" in program.metrics("pytest")
