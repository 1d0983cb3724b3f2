"""Where libraries and engines keep what they compiled and tuned, as this process finds it, and what lies there."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from probes.kit.facts import Gap, Redacted, Seen, no_answer, seen_or, then
from probes.kit.host import Host
from probes.storage.sections import AtStart, Cache

MOST_FOLDERS = 1024
MOST_FILES = 8192
_TYPE, _FOLDER, _REGULAR = 0o170000, 0o040000, 0o100000
_PASSING = (".lock", ".tmp", ".pid")
"""Ends of the names of files that tell nothing of what was compiled: a lock is written by whoever reads."""


class Kept(NamedTuple):
    """variables: by the first that is set, with what the library puts behind it. defaults: otherwise the first of these
    that is there."""

    variables: tuple[tuple[str, str], ...]
    defaults: tuple[str, ...]


# As the libraries' own code finds them: torch 2.9, triton 3.5, vllm 0.11, flashinfer 0.4, DeepGEMM 2.1, sglang 0.5.
KEPT: Mapping[str, Kept] = {
    "inductor": Kept((("TORCHINDUCTOR_CACHE_DIR", ""),), ("{tmp}/torchinductor_{user}",)),
    "triton": Kept((("TRITON_CACHE_DIR", ""), ("TRITON_HOME", "/.triton/cache")), ("{home}/.triton/cache",)),
    "vllm": Kept((("VLLM_CACHE_ROOT", "/torch_compile_cache"),), ("{cache}/vllm/torch_compile_cache",)),
    "flashinfer": Kept((("FLASHINFER_WORKSPACE_BASE", "/.cache/flashinfer"),), ("{home}/.cache/flashinfer",)),
    "deep_gemm": Kept(
        (("DG_JIT_CACHE_DIR", ""), ("SGLANG_DG_CACHE_DIR", ""), ("DG_CACHE_DIR", "")),
        ("{home}/.deep_gemm", "{home}/.cache/deep_gemm", "{cache}/vllm/deep_gemm"),
    ),
    "sglang": Kept((("SGLANG_JIT_CACHE_ROOT", ""),), ("{home}/.cache/sglang",)),
    "cuda": Kept((("CUDA_CACHE_PATH", ""),), ("{home}/.nv/ComputeCache",)),
    "tilelang": Kept((("TILELANG_CACHE_DIR", ""),), ("{home}/.tilelang/cache",)),
    "aiter": Kept((("AITER_JIT_DIR", ""),), ("{home}/.aiter",)),
    "torch_extensions": Kept((("TORCH_EXTENSIONS_DIR", ""),), ("{cache}/torch_extensions",)),
}
STEERING = frozenset(
    (*(name for kept in KEPT.values() for name, _ in kept.variables), "HOME", "TMPDIR", "XDG_CACHE_HOME")
)
"""Variables that say where caches lie."""


class Held(NamedTuple):
    """files: time of modification in ns and size, by path below the folder. cut: whether there were more than are
    listed."""

    files: Mapping[str, tuple[int, int]]
    cut: bool


def folders(files: Host, env: Mapping[str, str | Redacted], uid: Seen[int]) -> Mapping[str, Seen[str]]:
    """By cache, of those that are there. A gap where one cannot be looked at, or the variable was redacted."""
    words = _words(files, env, uid)
    found = {name: _folder(files, env, kept, words) for name, kept in KEPT.items()}
    return {name: place for name, place in found.items() if not isinstance(place, Gap) or place.code != "absent"}


def _words(files: Host, env: Mapping[str, str | Redacted], uid: Seen[int]) -> Mapping[str, str]:
    """What stands in the defaults. Without HOME a library asks the list of users, as for a user's name."""
    told = {name: value for name, value in env.items() if isinstance(value, str) and value}
    user = then(uid, lambda number: files.matching("/etc/passwd", rf"^([^:\n]+:[^:\n]*:{number}:[^\n]*)$"))
    fields = (user[0] if user and not isinstance(user, Gap) else "").split(":")
    home = told.get("HOME") or (fields[5] if len(fields) > 5 else "/")  # passwd(5)
    return {
        "home": home.rstrip("/"),
        "cache": told.get("XDG_CACHE_HOME", f"{home.rstrip('/')}/.cache"),
        "tmp": told.get("TMPDIR", "/tmp").rstrip("/"),  # noqa: S108  # as tempfile finds it
        "user": fields[0] or str(seen_or(uid, 0)),
    }


def _folder(files: Host, env: Mapping[str, str | Redacted], kept: Kept, words: Mapping[str, str]) -> Seen[str]:
    for name, below in kept.variables:
        value = env.get(name)
        if isinstance(value, Redacted):
            return Gap("not_observable", f"{name}, which says where it lies, was redacted")
        if value:
            return _named(files, f"{value.rstrip('/')}{below}")
    found = (_there(files, default.format_map(words)) for default in kept.defaults)
    return next((one for one in found if not isinstance(one, Gap) or one.code != "absent"), Gap("absent"))


def _named(files: Host, path: str) -> Seen[str]:
    """It may not be there yet: who compiles makes it."""
    if not path.startswith("/"):
        return Gap("not_observable", "a path that is relative to wherever the process is at the time")
    there = _there(files, path)
    return path if isinstance(there, Gap) and there.code == "absent" else there


def _there(files: Host, path: str) -> Seen[str]:
    return then(files.stat(path), lambda info: path if info.mode & _TYPE == _FOLDER else Gap("absent"))


def held(files: Host, folder: str) -> Seen[Held]:
    """Without links. The folders nearest to the top first, where it is cut."""
    found: dict[str, tuple[int, int]] = {}
    waiting, looked = [""], 0
    while waiting and looked < MOST_FOLDERS and len(found) < MOST_FILES:
        below = waiting.pop(0)
        entries = files.stats(f"{folder}/{below}".rstrip("/"))
        looked += 1
        if isinstance(entries, Gap):
            if no_answer(entries) or (not below and entries.code != "absent"):
                return entries
            continue
        for name, info in sorted(entries.items()):
            kind = info.mode & _TYPE
            if kind == _FOLDER:
                waiting.append(f"{below}{name}/")
            elif kind == _REGULAR and not name.endswith(_PASSING):
                found[f"{below}{name}"] = (info.mtime_ns, info.size)
    return Held(found, bool(waiting))


def cache(path: Seen[str], there: Seen[Held], began: Seen[int]) -> Cache:
    """began: when the process did, in ns since 1970."""
    whole = then(there, _whole)
    return Cache(
        path=path,
        at_start=then(there, lambda seen: then(began, lambda at: _at_start(seen, at))),
        digest=then(whole, lambda seen: _digest(seen.files)),
        files=then(whole, lambda seen: len(seen.files)),
        bytes=then(whole, lambda seen: sum(size for _, size in seen.files.values())),
        newest=then(there, _newest),
    )


def _whole(seen: Held) -> Seen[Held]:
    return Gap("failed", f"more than {len(seen.files)} files: only these were looked at") if seen.cut else seen


def _at_start(seen: Held, began: int) -> Seen[AtStart]:
    later = [at > began for at, _ in seen.files.values()]
    if any(later) and not all(later):
        return "added to"
    if seen.cut:
        return Gap("failed", f"of more than {len(later)} files only these were looked at, and all are of one time")
    return "cold" if all(later) else "warm"


def _newest(seen: Held) -> Seen[int]:
    if not seen.files:
        return Gap("absent", "it holds no files")
    return max(at for at, _ in seen.files.values()) // 10**9


def _digest(names: Mapping[str, object]) -> str:
    return hashlib.sha256("".join(_lines(names)).encode("utf-8", "surrogateescape")).hexdigest()


def _lines(names: Mapping[str, object]) -> Iterator[str]:
    return (f"{name}\n" for name in sorted(names))
