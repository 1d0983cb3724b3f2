"""A server that a start script launched in one run, where the other run is of the server itself.

There `main` is the script, here it is the launcher. What is compared is launcher with launcher; the script was there in
one run only, as any process that came or went.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from fingerprint.diff.changes import Paired
from fingerprint.snapshot import Key
from probes.kit.engines import engine_of
from probes.kit.probe import MAIN

V = TypeVar("V")

SCRIPT = f"{MAIN}.start-script"


def below_a_script(a: Iterable[Key], b: Iterable[Key]) -> Paired | None:
    """The launchers of A and B, where one of them is below a script and the other is not."""
    ours, theirs = _launcher(a), _launcher(b)
    if ours == theirs or not (ours and theirs) or MAIN not in (ours, theirs):
        return None
    return Paired(ours, theirs, "same engine, below a start script")


def alike(a: Mapping[Key, V], b: Mapping[Key, V]) -> tuple[Mapping[Key, V], Mapping[Key, V]]:
    """Both, with the launcher under the name that it has in B, and the script under one that nothing else has."""
    pair = below_a_script(a, b)
    if pair is None:
        return a, b
    if pair.b == MAIN:
        return _renamed(a, {pair.a: MAIN, MAIN: SCRIPT}), b
    return _renamed(a, {MAIN: pair.b}), _renamed(b, {MAIN: SCRIPT})


def _renamed(sections: Mapping[Key, V], names: Mapping[str, str]) -> Mapping[Key, V]:
    return {key._replace(target=names.get(key.target, key.target)): it for key, it in sections.items()}


def _launcher(keys: Iterable[Key]) -> str:
    """Of the run's one server that has parts, or a name of its own; empty where there are several, or none is known."""
    targets = {key.target for key in keys if key.area == "process"}
    servers = {named.server for target in targets if (named := engine_of(target))}
    if len(servers) != 1:
        return ""
    (server,) = servers
    return server if server in targets else MAIN if MAIN in targets else ""
