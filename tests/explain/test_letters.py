"""Flags of one letter: what each says is known of engines, launchers and tests, and of no other program."""

import pytest

from fingerprint.explain import explain
from probes.kit.facts import Gap
from probes.kit.flags import flags
from probes.process import Process
from probes.process.sections import Interpreter, Program
from tests.explain.subjects import subject
from tests.explain.test_circumstances import slow


def known_as(path: str, flag: str, *, compiled: bool = True) -> tuple[str, ...]:
    """Of a flag that had another value in each run."""
    python = Interpreter(path=Gap("absent", "none") if compiled else "/usr/bin/python3.12")
    sides = (
        subject(name, None, Process(program=Program(path=path), interpreter=python, flags=told), *slow(level))
        for name, level, told in (("A", 11.0, flags((flag, "1")).flags), ("B", 15.0, flags((flag, "2")).flags))
    )
    a, b = sides
    (found,) = explain(a, b).suspects
    assert found.facts == (f"process/main/flags/{flag}",)
    return found.rules


@pytest.mark.parametrize(
    ("path", "flag", "known"),
    [
        ("/usr/bin/llama-server", "-c", "cache-size"),
        ("/usr/bin/mpirun", "-x", "exported-variables"),
        ("/usr/bin/bash", "-c", "arguments"),
        ("/usr/bin/make", "-j", "arguments"),
        ("/usr/bin/make", "--tensor-parallel-size", "parallelism"),
    ],
)
def test_a_letter_is_about_what_it_says_to_the_program_that_ran(path: str, flag: str, known: str) -> None:
    assert known_as(path, flag)[:1] == (known,)


def test_so_it_is_of_what_an_interpreter_runs() -> None:
    assert known_as("/srv/app.py", "-c", compiled=False)[:1] == ("arguments",)
    assert known_as("/opt/venv/bin/vllm", "-q", compiled=False)[:1] == ("number-formats",)
