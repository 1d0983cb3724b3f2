"""Real child processes to read, and what differs between two readings as a comparison sees it."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fingerprint.sections import leaves, part
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.paths import FactPath, parse_glob
from probes.kit.probe import Target
from probes.process import Process
from probes.process import read as process_probe

KEY = b"a key of tests"


@contextmanager
def running(argv: Sequence[str], **start: Any) -> Iterator[int]:
    """The pid of a child that has become `argv`; killed and reaped at the end."""
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **start)
    try:
        await_exec(child.pid)
        yield child.pid
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def await_exec(pid: int) -> None:
    """subprocess.Popen returns after exec; wrappers (env, taskset, sh -c exec) exec once more until it sleeps."""
    deadline = time.monotonic() + 10
    quiet, last = 0, ("", b"")
    while quiet < 5 and time.monotonic() < deadline:
        now = os.readlink(f"/proc/{pid}/exe"), Path(f"/proc/{pid}/cmdline").read_bytes()
        sleeping = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
        quiet = quiet + 1 if now == last and sleeping else 0
        last = now
        time.sleep(0.01)


def read(host: Host, pid: int) -> Process:
    return process_probe.read(host, Target("main", pid))


def changes(a: Section, b: Section, *, area: str = "process/main") -> dict[str, tuple[Any, Any]]:
    """The lasting facts that differ, context left out, each path below `area`."""
    found = {}
    before, after = ({leaf.names: leaf for leaf in leaves(part(side, lasting=True))} for side in (a, b))
    for names in {**before, **after}:
        fact = (before.get(names) or after[names]).fact
        one, other = (side[names].value if names in side else None for side in (before, after))
        if one != other and fact.lasting and not fact.context:
            found["/".join(names)] = one, other
    return found


def suspects(a: Section, b: Section, *, area: str = "process") -> set[str]:
    """The changes that follow from no other one of the same process and area."""
    changed: Mapping[str, Any] = changes(a, b)
    facts = {"/".join(leaf.names): leaf.fact for side in (a, b) for leaf in leaves(side)}
    paths = {name: FactPath((area, "main", *name.split("/"))) for name in changed}
    return {
        name
        for name in changed
        if not any(
            glob.startswith(f"{area}/*/") and parse_glob(glob).matches(paths[o])
            for o in changed
            for glob in facts[name].follows
            if o != name
        )
    }
