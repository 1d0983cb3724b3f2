"""Where a model's files lie: a folder, a file, or a snapshot in the hub's cache.

The cache is as huggingface_hub lays it out: models--OWNER--NAME/refs/BRANCH holds a commit, snapshots/COMMIT the files.
"""

from collections.abc import Mapping
from typing import NamedTuple, Union

from probes.kit.asked import Asked
from probes.kit.facts import Gap, Redacted, Seen, then
from probes.kit.filepaths import absolute, folder_of, real
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

Text = Union[str, Redacted]

_TYPE, _FOLDER, _REGULAR = 0o170000, 0o040000, 0o100000
_HUB_NAME = lazy_regex(r"[\w.-]+(?:/[\w.-]+)?(?::[\w.-]+)?")  # llama.cpp puts a quantisation behind a colon
_COMMIT = lazy_regex(r"[0-9a-f]{40}")
_SNAPSHOT = lazy_regex(r"/models--[^/]+/snapshots/([0-9a-f]{40})(?:/|$)")
_CACHES = (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "/hub"))
_XDG, _HOME = ("XDG_CACHE_HOME", "/huggingface/hub"), ("HOME", "/.cache/huggingface/hub")
_MODELSCOPE = ("VLLM_USE_MODELSCOPE", "SGLANG_USE_MODELSCOPE", "LMDEPLOY_USE_MODELSCOPE")
_OFF = ("", "0", "false", "no")


class Place(NamedTuple):
    """path: of a folder, whose links are resolved, or of one file of weights in such a folder, which in the hub's cache
    is a link to a name that tells nothing. folder: which of the two."""

    path: Seen[str]
    revision: Seen[str]
    folder: bool = True


def place(files: Host, asked: Asked, env: Mapping[str, Text], cwd: Seen[str]) -> Place:
    """files: the host as the process sees its files."""
    name = asked.name
    if isinstance(name, Redacted):
        return _nowhere(Gap("not_observable", "the model's name looks like a secret and was redacted"))
    path = name if name.startswith("/") else then(cwd, lambda folder: absolute(name, folder))
    info = then(path, files.stat)
    if isinstance(path, Gap) or isinstance(info, Gap):
        return _of_hub(files, asked, name, env) if _may_be_of_hub(name, info) else _nowhere(info)
    if info.mode & _TYPE == _FOLDER:
        folder = real(files, path)
        return Place(folder, then(folder, lambda there: _revision_of(files, there)))
    if info.mode & _TYPE == _REGULAR:
        folder, file = real(files, folder_of(path)), path.rpartition("/")[2]
        revision = then(folder, lambda there: _revision_of(files, there))
        return Place(then(folder, lambda there: f"{there}/{file}"), revision, folder=False)
    return _nowhere(Gap("unsupported", f"{name} is neither a folder nor a file"))


def _nowhere(why: Seen[object]) -> Place:
    gap = why if isinstance(why, Gap) else Gap("absent")
    return Place(gap, gap)


def _may_be_of_hub(name: str, info: Seen[object]) -> bool:
    return isinstance(info, Gap) and info.code != "denied" and _HUB_NAME.fullmatch(name) is not None


def _of_hub(files: Host, asked: Asked, name: str, env: Mapping[str, Text]) -> Place:
    cache = asked.cache or _cache(env)
    if isinstance(cache, Gap):
        return _nowhere(cache)
    home = f"{cache}/models--{name.partition(':')[0].replace('/', '--')}"
    wanted = asked.revision or "main"
    commit = wanted if _COMMIT.fullmatch(wanted) else files.line(f"{home}/refs/{wanted}")
    path = then(commit, lambda found: _snapshot(files, home, found))
    return Place(path, commit)


def _snapshot(files: Host, home: str, commit: str) -> Seen[str]:
    if not _COMMIT.fullmatch(commit):
        return Gap("failed", f"{home}/refs names no commit")
    path = f"{home}/snapshots/{commit}"
    return then(files.stat(path), lambda _: path)


def _cache(env: Mapping[str, Text]) -> Seen[str]:
    """As huggingface_hub/constants.py finds it."""
    if any(str(env.get(name, "")).lower() not in _OFF for name in _MODELSCOPE):
        return Gap("not_observable", "the model comes from ModelScope, whose cache is not looked into")
    for variable, below in (*_CACHES, _XDG, _HOME):
        value = env.get(variable)
        if isinstance(value, Redacted):
            return Gap("not_observable", f"{variable}, which says where the hub's cache lies, was redacted")
        if value:
            return f"{value.rstrip('/')}{below}"
    return Gap("absent", "neither HF_HOME nor HOME is set: where the hub's cache lies is not told")


def _revision_of(files: Host, folder: str) -> Seen[str]:
    """A folder that the hub's tools filled keeps the commit of each file that it has."""
    if match := _SNAPSHOT.search(folder):
        return match[1]
    told = files.matching(f"{folder}/.cache/huggingface/download/config.json.metadata", r"\A([0-9a-f]{40})$")
    return then(told, lambda found: found[0] if found else Gap("absent", "the folder does not say whose it is"))
