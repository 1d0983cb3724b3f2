"""Settings of NCCL that its own log does not confirm."""

from collections.abc import Iterator, Mapping

from fingerprint.findings.finding import Finding, named, plain
from fingerprint.findings.seats import paths
from fingerprint.findings.state import State
from probes.kit.facts import Gap
from probes.nccl.sections import Log, Nccl

NEVER_LOGGED = frozenset(
    # what decides about the log, and where variables are looked for (src/debug.cc, src/misc/param.cc)
    "NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE NCCL_DEBUG_TIMESTAMP_FORMAT NCCL_DEBUG_TIMESTAMP_LEVELS"
    " NCCL_WARN_ENABLE_DEBUG_INFO NCCL_SET_THREAD_NAME NCCL_CONF_FILE"
    # torch's by their former names (torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp)
    " NCCL_ASYNC_ERROR_HANDLING NCCL_BLOCKING_WAIT NCCL_DESYNC_DEBUG NCCL_ENABLE_TIMING"
    # of NVIDIA's container images
    " NCCL_VERSION".split()
)
OF_NETWORK: Mapping[str, str] = {"NCCL_IB_": "IB", "NCCL_SOCKET_": "Socket"}
"""Read only where NCCL uses this network."""
_TELLS_VARIABLES = ("ENV", "ALL")


def of_nccl(state: State) -> Iterator[Finding]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    unknown: dict[str, dict[str, Nccl]] = {}
    for target, nccl in state.sections("nccl", Nccl).items():
        for name in _unknown(nccl):
            unknown.setdefault(name, {})[target] = nccl
        for name, asked, took in _not_taken(nccl):
            found.setdefault(name, {})[target] = asked, took
    for name, readers in sorted(unknown.items()):
        yield _not_read(name, readers)
    for name, held in sorted(found.items()):
        yield _not_confirmed(name, held)


def _unknown(nccl: Nccl) -> tuple[str, ...]:
    return () if isinstance(nccl.unknown, Gap) else nccl.unknown


def _not_taken(nccl: Nccl) -> Iterator[tuple[str, str, str]]:
    """Name, what was asked, and what the log has; that is empty where it says nothing of it."""
    asked, took = nccl.variables, nccl.log.set_by_environment
    if isinstance(asked, Gap) or isinstance(took, Gap) or not (took.items or _tells(asked.items, nccl.log)):
        return
    for name, value in asked.items.items():
        if name in _unknown(nccl):
            continue
        there = took.items.get(name, "")
        if isinstance(value, str) and isinstance(there, str) and _is_logged(name, nccl.log) and not _same(value, there):
            yield name, value, there


def _tells(asked: Mapping[str, object], log: Log) -> bool:
    """Whether a log that names no variable would have: it was written at all, and its subject is among those chosen."""
    subjects = asked.get("NCCL_DEBUG_SUBSYS", "ENV")
    chosen = subjects.upper().split(",") if isinstance(subjects, str) else ()
    return not isinstance(log.version, Gap) and any(subject in _TELLS_VARIABLES for subject in chosen)


def _is_logged(name: str, log: Log) -> bool:
    needs = next((network for prefix, network in OF_NETWORK.items() if name.startswith(prefix)), None)
    used = "" if isinstance(log.network, Gap) else log.network
    return name.startswith("NCCL_") and name not in NEVER_LOGGED and (needs is None or used.startswith(needs))


def _same(asked: str, took: str) -> bool:
    """As numbers where both are (strtoll(3) with base 0), else as words of any case."""
    try:
        return int(asked, 0) == int(took, 0)
    except ValueError:
        return asked.strip().lower() == took.strip().lower()


def _not_read(name: str, held: Mapping[str, Nccl]) -> Finding:
    asked = {target: it.variables.items[name] for target, it in held.items() if not isinstance(it.variables, Gap)}
    return Finding(
        rule="variable-not-read",
        about=name,
        facts=(
            *paths("nccl", held, "unknown"),
            *paths("nccl", held, "variables", name),
            *paths("process", held, "env", name),
        ),
        values={target: plain(value) for target, value in asked.items()},
        says=f"{name} is set in {named(list(held))}, and neither the NCCL that is mapped nor a plugin of it has a "
        "variable of this name: it does nothing.",
        do="Compare the name with NCCL's list of variables for the release that is mapped.",
    )


def _not_confirmed(name: str, held: Mapping[str, tuple[str, str]]) -> Finding:
    asked, took = next(iter(held.values()))
    found = (
        f"took {took}"
        if took
        else "does not say that it took it: this release has no such setting, or had no use for it"
    )
    return Finding(
        rule="nccl-setting-not-taken",
        about=name,
        facts=(*paths("nccl", held, "variables", name), *paths("nccl", held, "log", "set_by_environment")),
        values={target: {"asked": ask, "took": there or None} for target, (ask, there) in held.items()},
        says=f"{named(list(held))} asked for {name}={asked}, and NCCL's log {found}.",
        do="Compare the name and its values with NCCL's list of variables for the release that is mapped; `strings` "
        f"of that libnccl.so.2 tells whether it knows {name}.",
    )
