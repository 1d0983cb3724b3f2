"""Which process was the same one in both runs, and so has what it read when it started."""

from typing import Any

import pytest

from fingerprint.diff.compare import compare
from fingerprint.diff.known import probe_of
from fingerprint.explain.in_force import apart_from_unread, as_read
from fingerprint.explain.subject import Subject
from fingerprint.runs.record import Attached
from probes.process import Process
from probes.process.sections import Git, Program
from tests.explain.subjects import subject

SERVER = Attached("main", 7, 100)


def attached(
    name: str,
    commit: str,
    started: int = 100,
    path: str = "/srv/serve.py",
    written_since: tuple[str, ...] = (),
    **more: Any,
) -> Subject:
    program = Program(path=path, sha256="1")
    process = Process(started=started, program=program, git=Git(commit=commit), written_since=written_since)
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


@pytest.mark.parametrize(("started", "known"), [(100, True), (200, False)], ids=["ran on", "started again"])
def test_what_was_written_after_a_process_had_started_is_equal_only_in_itself(started: int, known: bool) -> None:
    a, b = attached("A", "1", written_since=("program/sha256",)), attached("B", "1", started)
    before = compare(a.state, b.state)
    after = apart_from_unread(a, b, before, probe_of)
    open_ = [one.names for one in after.not_known if one not in before.not_known]
    assert open_ == ([] if known else [("program", "sha256")])
    assert after.ruled_out["process"] == before.ruled_out["process"] - len(open_)
