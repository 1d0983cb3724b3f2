"""Which process was the same one in both runs, and so has what it read when it started."""

from typing import Any

import pytest

from fingerprint.diff.compare import compare
from fingerprint.explain.in_force import as_read
from fingerprint.explain.subject import Subject
from fingerprint.runs.record import Attached
from probes.process import Process
from probes.process.sections import Git, Program
from tests.explain.subjects import subject

SERVER = Attached("main", 7, 100)


def attached(name: str, commit: str, started: int = 100, path: str = "/srv/serve.py", **more: Any) -> Subject:
    process = Process(started=started, program=Program(path=path), git=Git(commit=commit))
    return subject(name, None, process, **{"attached": (SERVER,), **more})


A = attached("A", "1")


def in_force(a: Subject, b: Subject) -> bool:
    """Of the commit that changed."""
    changes = compare(a.state, b.state)
    [commit] = [change for change in changes.changes if change.text == "process/main/git/commit"]
    return not as_read(a, b, changes).why_not(commit)


def test_a_commit_that_came_while_the_process_ran_on_is_not_in_force() -> None:
    assert not in_force(A, attached("B", "2"))


@pytest.mark.parametrize(
    "b",
    [
        attached("B", "2", started=200),
        attached("B", "2", path="/srv/other.py"),
        attached("B", "2", boot_id="another"),
        attached("B", "2", attached=(Attached("main", 8, 100),)),
        attached("B", "2", attached=()),
    ],
    ids=["started again", "another program by exec", "another boot", "another process of that tick", "a command's run"],
)
def test_one_that_a_process_which_may_have_read_it_has_is_in_force(b: Subject) -> None:
    assert in_force(A, b)
