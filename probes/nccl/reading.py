"""NCCL in one process, read from outside."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from probes.kit.answering import answering
from probes.kit.facts import Gap, Map, Seen, seen_or, then
from probes.kit.filepaths import link_of
from probes.kit.host import Host
from probes.kit.parse import fields
from probes.kit.written import written_since
from probes.nccl.known import unknown
from probes.nccl.log import told
from probes.nccl.sections import File, Log, Nccl
from probes.nccl.variables import SYSTEM_FILE, Variables, variables

NAMING = (
    "NCCL_TOPO_FILE",
    "NCCL_GRAPH_FILE",
    "NCCL_TUNER_CONFIG_FILE",  # of NCCL's example tuner, and of those made from it
    "NCCL_NET_PLUGIN",
    "NCCL_TUNER_PLUGIN",
    "NCCL_PROFILER_PLUGIN",
    "NCCL_ENV_PLUGIN",
    "NCCL_GIN_PLUGIN",
)
"""Variables that may hold the path of a file. A plugin's name without a slash is searched for by the loader."""
VIRTUAL_TOPOLOGY = "/var/run/nvidia-topologyd/virtualTopology.xml"  # loaded where it lies (src/graph/topo.cc)
LOG_BYTES = 4 << 20
TELLS = ("INFO", "TRACE", "ABORT")


def nccl(host: Host, pid: int) -> Nccl:
    files = answering(host, pid)
    found = variables(host, files, pid)
    cwd = seen_or(link_of(host, pid, "cwd"), "/")
    named = found.values if isinstance(found.values, Gap) else Map(dict(_files(files, found, cwd)))
    return Nccl(
        variables=found.values,
        origins=found.origins,
        unknown=then(found.values, lambda values: unknown(host, files, pid, values.items)),
        files=named,
        log=_log(host, files, pid, found, cwd),
        written_since=then(named, lambda told: written_since(host, pid, files, _places(told.items, found, cwd))),
    )


def _places(named: Mapping[str, File], found: Variables, cwd: str) -> Iterator[tuple[str, str]]:
    """Files, and what they set."""
    for name, path in () if isinstance(found.origins, Gap) else found.origins.items.items():
        yield f"variables/{name}", seen_or(path, "")
    for name, file in named.items():
        yield f"files/{name}", posixpath.join(cwd, seen_or(file.path, ""))


def _files(files: Host, found: Variables, cwd: str) -> Iterator[tuple[str, File]]:
    """By the variable that names each; what nothing names, by the name of the file, and only where it is there."""
    standing = {
        "nccl.conf": SYSTEM_FILE,
        ".nccl.conf": seen_or(found.user_file, ""),
        "virtualTopology.xml": VIRTUAL_TOPOLOGY,
    }
    named = {name: found.named(name) for name in NAMING if "/" in found.named(name)}
    if found.named("NCCL_CONF_FILE"):
        named["NCCL_CONF_FILE"] = standing.pop(".nccl.conf")
    for name, path in {**standing, **named}.items():
        digest = files.sha256(posixpath.join(cwd, path)) if path else Gap("absent")
        if name in named or not (isinstance(digest, Gap) and digest.code in ("absent", "not_read")):
            yield name, File(path=path, sha256=digest)


def _log(host: Host, files: Host, pid: int, found: Variables, cwd: str) -> Log:
    path = then(_pattern(found), lambda pattern: _written(files, posixpath.join(cwd, pattern), _own_pid(host, pid)))
    text = then(path, lambda there: files.head(there, LOG_BYTES))
    if isinstance(path, Gap) or isinstance(text, Gap):
        return _unread(path, text)
    return replace(told(text, host.redactor, _own_pid(host, pid)), path=path)


def _unread(path: Seen[str], why: Seen[str]) -> Log:
    """Each fact with the same gap."""
    fields: dict[str, Any] = dict.fromkeys(Log.__struct_fields__, why)
    return Log(**{**fields, "path": path})


def _pattern(found: Variables) -> Seen[str]:
    if isinstance(found.values, Gap):
        return found.values
    if found.named("NCCL_DEBUG").upper() not in TELLS:
        return Gap("absent", "NCCL_DEBUG is not INFO: NCCL tells nothing of what it chose")
    pattern = found.named("NCCL_DEBUG_FILE")
    return pattern or Gap("not_observable", "NCCL's log goes to standard output: set NCCL_DEBUG_FILE to a path with %p")


def _own_pid(host: Host, pid: int) -> int:
    """The pid that the process has in its own namespace, which its log names."""
    seen = then(host.text(f"/proc/{pid}/status"), lambda text: int(fields(text)["NSpid"].split()[-1]))
    return seen_or(seen, pid)


def _written(files: Host, pattern: str, pid: int) -> Seen[str]:
    """The file that the pattern became: %p is the pid, %h the name of the host, which may be a container's. Of several
    the one that was written last."""
    folder, _, name = pattern.rpartition("/")
    form = re.compile("".join(_piece(piece, pid) for piece in re.findall(r"%.|[^%]+|%", name)))
    names = files.names(folder or "/")
    paths = then(names, lambda found: tuple(f"{folder}/{one}" for one in found if form.fullmatch(one)))
    return then(paths, lambda found: _latest(files, found))


def _piece(piece: str, pid: int) -> str:
    special: Mapping[str, str] = {"%p": str(pid), "%h": "[^/]+", "%%": "%"}
    return special.get(piece, re.escape(piece))


def _latest(files: Host, paths: tuple[str, ...]) -> Seen[str]:
    if not paths:
        return Gap("absent", "NCCL has written no log: no communicator was built yet, or its folder is not there")
    times = ((stat.mtime_ns, path) for path in paths if not isinstance(stat := files.stat(path), Gap))
    return max(times, default=(0, paths[-1]))[1]
