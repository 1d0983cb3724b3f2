"""Was it the same experiment?"""

from typing import Any

from fingerprint.diff.changes import Changes
from fingerprint.diff.verdicts import two_keys
from fingerprint.explain.contract import Comparable
from fingerprint.explain.subject import Subject, unlike_ends


def comparable(a: Subject, b: Subject, changes: Changes) -> Comparable:
    """What is not known is None and is said, never taken for the same."""
    host = a.state.host == b.state.host
    command = _command(a, b)
    workload = _workload(a, b)
    crossed = _crossed(a, b, changes) if host else ()
    return Comparable(
        same_host=host,
        same_gpus=None,
        same_workload=workload,
        same_command=command,
        epochs_crossed=crossed,
        says=" ".join(_sentences(a, b, host, command, workload)),
    )


def _command(a: Subject, b: Subject) -> bool | None:
    if a.last is None or b.last is None:
        return None
    x, y = a.last.opened.argv, b.last.opened.argv
    return None if x != y and two_keys(x, y) else x == y


def _workload(a: Subject, b: Subject) -> bool | None:
    if a.last is None or b.last is None or not (a.last.workload or b.last.workload):
        return None
    return dict(a.last.workload) == dict(b.last.workload)


def _crossed(a: Subject, b: Subject, changes: Changes) -> tuple[str, ...]:
    booted = any(str(change.first.path) == "kernel/boot_id" for change in (*changes.changes, *changes.intended))
    return ("boot",) if booted or (a.boots and b.boots and a.boots != b.boots) else ()


def _sentences(a: Subject, b: Subject, host: bool, command: bool | None, workload: bool | None) -> Any:
    if workload is False:
        yield f"Not the same experiment: the workload differs in {', '.join(_unlike_workload(a, b))}."
    if not host:
        yield f"Two hosts: {a.state.host} and {b.state.host}."
    if command is False:
        yield "The commands differ."
    if ends := unlike_ends(a, b):
        yield f"{ends}."
    same = [name for name, is_same in (("host", host), ("command", command), ("workload", workload)) if is_same]
    if same:
        yield f"The same {_listed(same)}."
    if workload is None and a.last and b.last:
        yield "No workload was recorded."
    if a.last is None or b.last is None:
        yield "A snapshot has no command, no processes and no metrics."


def _unlike_workload(a: Subject, b: Subject) -> list[str]:
    assert a.last is not None
    assert b.last is not None
    x, y = a.last.workload, b.last.workload
    return sorted(key for key in {**x, **y} if x.get(key) != y.get(key))


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
