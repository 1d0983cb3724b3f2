"""Whose environment is read beside a run."""

import pytest

from fingerprint.runs.beside import environment_of
from fingerprint.snapshot import Key, reading_of
from probes.kit.facts import Gap
from probes.process.sections import Interpreter, Process

DENIED = Process(interpreter=Interpreter(environment=Gap("denied", "not for you")), argv0="/opt/venv/bin/python3")


@pytest.mark.parametrize("target", ["main", "sglang-30000"])
def test_of_a_python_that_may_not_be_read_the_environment_is_asked_so_that_it_is_told_as_denied(target: str) -> None:
    assert environment_of(Key("process", target), reading_of(DENIED)) == target


def test_below_one_and_of_another_program_it_is_not_asked() -> None:
    assert environment_of(Key("process", "sglang-30000.tp0"), reading_of(DENIED)) is None
    server = Process(interpreter=Interpreter(environment=Gap("denied")), argv0="llama-server")
    assert environment_of(Key("process", "main"), reading_of(server)) is None
