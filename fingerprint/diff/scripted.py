"""A server that a start script launched in one run, where the other run is of the server itself.

There `main` is the script, here it is the launcher. What is compared is launcher with launcher; the script was there in
one run only, as any process that came or went.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from fingerprint.diff.changes import Paired
from fingerprint.runs.effective import Standing
from fingerprint.snapshot import Key
from probes.kit.engines import engine_of
from probes.kit.probe import MAIN

Sections = Mapping[Key, Standing]

SCRIPT = f"{MAIN}.start-script"


class _Program(msgspec.Struct, frozen=True):
    path: Any = None


class _Process(msgspec.Struct, frozen=True):
    program: _Program = _Program()


def below_a_script(a: Sections, b: Sections) -> Paired | None:
    """The launchers of A and B, where one of them is below a script and the other is not."""
    ours, theirs = _launcher(a), _launcher(b)
    ours, theirs = ours or _main_that_runs(b, theirs, a), theirs or _main_that_runs(a, ours, b)
    if ours == theirs or not (ours and theirs) or MAIN not in (ours, theirs):
        return None
    return Paired(ours, theirs, "same engine, below a start script")


def alike(a: Sections, b: Sections) -> tuple[Sections, Sections]:
    """Both, with the launcher under the name that it has in B, and the script under one that nothing else has."""
    pair = below_a_script(a, b)
    if pair is None:
        return a, b
    if pair.b == MAIN:
        return _renamed(a, {pair.a: MAIN, MAIN: SCRIPT}), b
    return _renamed(a, {MAIN: pair.b}), _renamed(b, {MAIN: SCRIPT})


def _renamed(sections: Sections, names: Mapping[str, str]) -> Sections:
    return {key._replace(target=names.get(key.target, key.target)): it for key, it in sections.items()}


def _launcher(keys: Sections) -> str:
    """Of the run's one server that has parts, or a name of its own; empty where there are several, or none is known."""
    targets = {key.target for key in keys if key.area == "process"}
    servers = {named.server for target in targets if (named := engine_of(target))}
    if len(servers) != 1:
        return ""
    (server,) = servers
    return server if server in targets else MAIN if MAIN in targets else ""


def _main_that_runs(others: Sections, launcher: str, sections: Sections) -> str:
    """`main` where it runs the launcher's program: a server of one process has no part that tells its engine."""
    program = _program(others, launcher)
    return MAIN if program and program == _program(sections, MAIN) else ""


def _program(sections: Sections, target: str) -> str:
    """The name of its file; empty where that is not known."""
    standing = sections.get(Key("process", target))
    if standing is None or standing.blob is None:
        return ""
    path = msgspec.json.decode(standing.blob.body, type=_Process).program.path
    return path.rpartition("/")[2] if isinstance(path, str) else ""
