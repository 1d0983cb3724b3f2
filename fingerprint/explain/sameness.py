"""Was it the same experiment?"""

from collections.abc import Iterator, Sequence
from typing import Any

from fingerprint.diff.changes import Changes, How
from fingerprint.explain.contract import Comparable
from fingerprint.explain.subject import Subject, unlike_ends, was_imported
from fingerprint.runs.run import NO_HOST
from fingerprint.walk import two_keys

GPU = "gpu"


def comparable(a: Subject, b: Subject, changes: Changes, canary: str = "") -> Comparable:
    """What is not known is None and is said, never taken for the same. canary: what it told of the host."""
    host = _host(a, b, changes)
    command = _command(a, b)
    workload = _workload(a, b)
    crossed = _crossed(a, b, changes) if host else ()
    return Comparable(
        same_host=host,
        same_gpus=_gpus(changes),
        same_workload=workload,
        same_command=command,
        epochs_crossed=crossed,
        says=" ".join(filter(None, (*_sentences(a, b, host, command, workload), *_of_gpus(changes), canary))),
    )


def moved(changes: Changes) -> str:
    """That GPUs sit in other slots: nothing else may have changed, and yet the host is wired otherwise."""
    return _counted(changes, "unit moved", "is in another slot", "are in other slots")


def _host(a: Subject, b: Subject, changes: Changes) -> bool | None:
    """None where nobody told of which host one is."""
    if changes.pairing[0].how != "paired by order":
        return True
    return None if any(side.state.host.startswith(NO_HOST) for side in (a, b)) else False


def _gpus(changes: Changes) -> bool | None:
    """Whether they are the same units, wherever they sit."""
    hows = {pair.how for pair in changes.pairing if pair.area == GPU}
    if hows - {"same slot and unit", "unit moved", "same slot"}:
        return False
    return None if "same slot" in hows or not hows else True


def _of_gpus(changes: Changes) -> Iterator[str]:
    if any(pair.area == GPU and pair.how == "paired by order" for pair in changes.pairing):
        yield "Its GPUs are compared in the order of their slots."
    yield moved(changes)
    yield _counted(changes, "slot has another unit", "was exchanged for another", "were exchanged for others")
    yield _counted(changes, "only in a", "is there in A only", "are there in A only")
    yield _counted(changes, "only in b", "is there in B only", "are there in B only")


def _counted(changes: Changes, how: How, one: str, many: str) -> str:
    count = sum(pair.area == GPU and pair.how == how for pair in changes.pairing)
    return f"{count} GPU{'s' * (count > 1)} {one if count == 1 else many}." if count else ""


def _command(a: Subject, b: Subject) -> bool | None:
    if a.last is None or b.last is None:
        return None
    x, y = a.last.opened.argv, b.last.opened.argv
    is_unknown = was_imported(a.last) or was_imported(b.last) or (x != y and two_keys(x, y))
    return None if is_unknown else x == y


def _workload(a: Subject, b: Subject) -> bool | None:
    if a.last is None or b.last is None or not (a.last.workload or b.last.workload):
        return None
    return dict(a.last.workload) == dict(b.last.workload)


def _crossed(a: Subject, b: Subject, changes: Changes) -> tuple[str, ...]:
    """A boot starts each container anew: that is not told beside it."""
    changed = {(it.first.key.area, *it.first.names) for it in (*changes.changes, *changes.intended)}
    if ("kernel", "boot_id") in changed or (a.boots and b.boots and a.boots != b.boots):
        return ("boot",)
    return ("container start",) if ("container", "started") in changed else ()


def _sentences(a: Subject, b: Subject, host: bool | None, command: bool | None, workload: bool | None) -> Any:
    yield _shared(a, b)
    if workload is False:
        yield f"Not the same experiment: the workload differs in {', '.join(_unlike_workload(a, b))}."
    if not host:
        yield _other_host(a, b, host)
    if command is False:
        yield "The commands differ."
    if ends := unlike_ends(a, b):
        yield f"{ends}."
    same = [name for name, is_same in (("host", host), ("command", command), ("workload", workload)) if is_same]
    if same:
        yield f"The same {listed(same)}."
    if workload is None and a.last and b.last:
        yield "No workload was recorded."
    if a.last is None or b.last is None:
        yield "A snapshot has no command, no processes and no metrics."


def _shared(a: Subject, b: Subject) -> str:
    x, y = ({run.id for run in side.attempts} for side in (a, b))
    if x == y and (x or a.name == b.name):
        same = "snapshot" if not x else "run" if len(x) == 1 else "runs"
        return f"A and B are the same {same}: nothing can differ."
    count = len(x & y)
    both = f"{count} attempt{'s are' if count > 1 else ' is'} in both A and B"
    return f"{both}: their numbers are not independent." if count else ""


def _other_host(a: Subject, b: Subject, host: bool | None) -> str:
    if host is None:
        return "Whether it was the same host is not known: import --host tells of which one a dump is."
    return f"Two hosts: {a.state.host} and {b.state.host}."


def _unlike_workload(a: Subject, b: Subject) -> list[str]:
    assert a.last is not None
    assert b.last is not None
    x, y = a.last.workload, b.last.workload
    return sorted(key for key in {**x, **y} if x.get(key) != y.get(key))


def listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
