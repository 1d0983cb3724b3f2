"""The places of one process: of its models, of its caches, of its engine's settings."""

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Union

from msgspec.structs import replace

from probes.kit.answering import answering
from probes.kit.answers import Resident
from probes.kit.asked import asked
from probes.kit.configured import configured
from probes.kit.facts import Gap, Map, Redacted, Seen, seen_or, then
from probes.kit.filepaths import link_of
from probes.kit.host import Host
from probes.kit.hub import Place, place
from probes.kit.imports import python, started
from probes.kit.parse import fields
from probes.kit.probe import Target
from probes.kit.processes import began, stat
from probes.kit.pth import importing
from probes.kit.shards import shards, weights_among
from probes.storage.caches import STEERING, cache, folders, held
from probes.storage.places import Where, mounts, where
from probes.storage.sections import Cache, InMemory, Model, Mount, Storage, Tuned
from probes.storage.tuned import folders as tuned_folders
from probes.storage.tuned import tuned

Text = Union[str, Redacted]

MOST_BYTES = 4 << 30
"""That are looked at of all files of one model: 2 million pages in 0.1 s."""
_NONE, _ALL = 5, 95  # percent
_TOP = Gap("absent", "nothing above it is of the run")


def storage(host: Host, target: Target) -> Storage:
    pid = target.pid
    files, env = answering(host, pid), _environ(host, pid)
    models = _models(host, pid, files, env)
    above = then(stat(host, pid), lambda seen: seen.parent) if "." in target.name else _TOP
    if isinstance(above, Gap) or _stands(host, pid, env) != _stands(host, above, _environ(host, above)):
        return Storage(models=models, caches=_caches(host, pid, files, env), tuned=_tuned(host, pid, files, env))
    if link_of(host, pid, "exe") != link_of(host, above, "exe"):
        return Storage(models=models, tuned=_tuned(host, pid, files, env))
    return Storage(models=models)


Env = Mapping[str, Text]


def _environ(host: Host, pid: int) -> Env:
    environ = host.environ(pid)
    items = {} if isinstance(environ, Gap) else environ.items
    return {name: value for name, value in items.items() if not isinstance(value, Gap)}


def _stands(host: Host, pid: int, env: Env) -> tuple[object, ...]:
    """What decides where caches lie."""
    links = tuple(host.link(f"/proc/{pid}/{name}") for name in ("ns/mnt", "root"))
    return *links, {name: env[name] for name in STEERING & env.keys()}


def _models(host: Host, pid: int, files: Host, env: Env) -> Seen[Map[Model]]:
    argv, cwd = host.arguments(pid), link_of(host, pid, "cwd")
    if isinstance(argv, Gap):
        return argv
    file = configured(files, argv, cwd, partial(began, host, pid))
    found = asked(argv, env, {} if isinstance(file, Gap) else file.flags)
    places = {role: place(files, one, env, cwd) for role, one in found.items()}
    at = {role: _folder(files, there, found[role].name, cwd) for role, there in places.items()}
    mounted = mounts(host, pid, files, (one for one in at.values() if not isinstance(one, Gap)))
    return Map({role: _model(files, there, at[role], mounted) for role, there in places.items()})


def _folder(files: Host, there: Place, name: Text, cwd: Seen[str]) -> Seen[Where]:
    """Of a model that does not answer, what its name says."""
    path = there.path
    if not isinstance(path, Gap):
        return Where(path if there.folder else posixpath.dirname(path), None)
    if path.code != "timed_out" or isinstance(name, Redacted):
        return path
    return then(name if name.startswith("/") else cwd, lambda base: where(files, posixpath.join(base, name)))


def _model(files: Host, there: Place, at: Seen[Where], mounted: Mapping[str, Mount]) -> Model:
    seen = then(there.path, lambda path: _weights(files, path, there.folder))
    told = then(seen, lambda paths: _in_memory(files, paths))
    return Model(
        mount=_mounted(at, mounted),
        in_memory=then(told, _share),
        in_memory_bytes=then(told, lambda it: it.there),
        looked_at=then(told, lambda it: it.looked_at),
        nodes=then(told, _nodes),
    )


def _weights(files: Host, path: str, folder: bool) -> Seen[tuple[str, ...]]:
    names = then(files.names(path), lambda found: weights_among(found)[1]) if folder else shards(files, path)
    home = path if folder else posixpath.dirname(path)
    return then(names, lambda found: tuple(f"{home}/{name}" for name in found) or Gap("absent", "no files of weights"))


def _in_memory(files: Host, paths: Sequence[str]) -> Seen[Resident]:
    """A part of the files would be no share of them: one that is not told is the gap of all."""
    total, nodes = Resident(0, 0, {}), Counter[str]()
    for path in paths:
        one = files.resident(path, MOST_BYTES // len(paths))
        if isinstance(one, Gap):
            return one
        nodes.update(one.nodes)
        total = Resident(total.looked_at + one.looked_at, total.there + one.there, nodes)
    return total


def _share(seen: Resident) -> InMemory:
    percent = 100 * seen.there / (seen.looked_at or 1)
    return "none" if percent <= _NONE else "all" if percent >= _ALL else "part"


def _nodes(seen: Resident) -> Seen[Map[Seen[int]]]:
    asked_of = sum(seen.nodes.values())
    if not asked_of:
        return Gap("absent" if not seen.there else "unsupported", "no page whose node is told")
    return Map({node: round(100 * count / asked_of) for node, count in sorted(seen.nodes.items())})


def _caches(host: Host, pid: int, files: Host, env: Env) -> Map[Cache]:
    uid = then(host.text(f"/proc/{pid}/status"), lambda text: int(fields(text)["Uid"].split()[0]))
    found, start = folders(files, env, uid), began(host, pid)
    at = {name: then(path, lambda it: where(files, it)) for name, path in found.items()}
    mounted = mounts(host, pid, files, (one for one in at.values() if not isinstance(one, Gap)))
    told = {name: cache(path, then(path, partial(held, files)), start) for name, path in found.items()}
    return Map({name: replace(one, mount=_mounted(at[name], mounted)) for name, one in told.items()})


def _mounted(at: Seen[Where], mounted: Mapping[str, Mount]) -> Mount:
    return Mount(**dict.fromkeys(Mount.__facts__, at)) if isinstance(at, Gap) else mounted[at.path]


def _tuned(host: Host, pid: int, files: Host, env: Env) -> Map[Tuned]:
    path = then(started(host, pid), lambda how: python(files, how).folders)
    return tuned(host, files, tuned_folders(files, env, importing(files, seen_or(path, ()))))
