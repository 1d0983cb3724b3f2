"""Which of the variables that bear an engine's name the installed engine reads at all, told from its source.

A variable of an older release, of a newer one, or with a letter too few is set and does nothing, without a word in any
log: vLLM warns of some (platforms/interface.py, validate_environ), SGLang and LMDeploy of none.

The engine's own list of its variables is asked first, which is one file. What that does not name is looked for in all
Python files of the package and of its plugins: of vLLM 0.33.0 15 of 321 names stand elsewhere, of SGLang 0.5.23 235 of
1,084, of LMDeploy 0.18.0 14 of 65; SGLang 0.4.6 has no list. No compiled part of vLLM 0.8.5 and 0.33.0 holds such a
name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from probes.kit.facts import Gap, Map, Seen, seen_or, then
from probes.kit.host import Host
from probes.libraries.sections import Engine, Origin

_NAME = r"(?<![A-Za-z0-9_])((?:%s)_[A-Z0-9_]*[A-Z0-9])(?![A-Za-z0-9_])"
_NOT_LISTED = Gap("absent", "this release keeps no list of its variables")
NOTHING_LIKE_IT = "none"
_BELOW = ("", "python/", "src/")  # of a source tree, where its package lies
_LIKE = 0.8  # of difflib: one letter of ten


class _Own(NamedTuple):
    """Of one engine. prefixes: of its variables. lists: files below its package that name them. plugins: how the names
    of all packages begin that read variables of these prefixes. rewritten: a prefix that it takes for its first one."""

    prefixes: tuple[str, ...]
    lists: tuple[str, ...]
    plugins: str
    rewritten: str = ""


ENGINES: Mapping[str, _Own] = {
    "vllm": _Own(("VLLM",), ("envs.py",), "vllm"),
    "sglang": _Own(("SGLANG", "SGL"), ("srt/environ.py",), "sgl", rewritten="SGL"),
    "lmdeploy": _Own(("LMDEPLOY",), ("pytorch/envs.py",), "lmdeploy"),
}
"""By distribution, which is what its package is called too. SGLang rewrites SGL_ to SGLANG_ when it is imported
(srt/environ.py, _handle_deprecated_envs)."""


def engines(
    host: Host,
    variables: Callable[[], Iterable[str]],
    folders: Mapping[str, Sequence[str]],
    origins: Mapping[str, Origin | None],
) -> Map[Engine]:
    """variables: what the processes of the environment have, by name. folders: those of the import path, with what lies
    in each. origins: by distribution."""
    installed = [name for name in ENGINES if name in origins]
    names = sorted(variables()) if installed else ()
    return Map({name: _Look(host, name, folders, origins).engine(names) for name in installed})


class _Look:
    """At one engine."""

    def __init__(
        self, host: Host, name: str, folders: Mapping[str, Sequence[str]], origins: Mapping[str, Origin | None]
    ) -> None:
        self._host = host
        self._name = name
        self._own = ENGINES[name]
        self._places = tuple(_places(host, self._own.plugins, folders, origins))

    def engine(self, variables: Sequence[str]) -> Engine:
        listed = self._listed()
        wanted = [name for name in variables if self._is_own(name) and self._as_read(name) not in listed]
        return Engine(listed=len(listed) or _NOT_LISTED, unknown=self._unknown(wanted, listed))

    def _is_own(self, variable: str) -> bool:
        return variable.startswith(tuple(f"{prefix}_" for prefix in self._own.prefixes))

    def _as_read(self, variable: str) -> str:
        prefix, _, rest = variable.partition("_")
        return f"{self._own.prefixes[0]}_{rest}" if prefix == self._own.rewritten else variable

    def _listed(self) -> frozenset[str]:
        pattern = _NAME % "|".join(self._own.prefixes)
        package = next((place for place in self._places if place.endswith(f"/{self._name}")), None)
        files = [f"{package}/{file}" for file in self._own.lists] if package else []
        return frozenset(name for file in files for name in seen_or(self._host.matching(file, pattern), ()))

    def _unknown(self, wanted: Sequence[str], listed: frozenset[str]) -> Seen[Map[Seen[str]]]:
        if wanted and not self._places:
            return Gap("not_observable", "the folder of the package was not found: it may read them or not")
        return then(self._nowhere(wanted), lambda names: Map({name: _like(name, listed) for name in names}))

    def _nowhere(self, wanted: Sequence[str]) -> Seen[Sequence[str]]:
        for place in self._places:
            found = self._host.mentioned(place, wanted) if wanted else ()
            if isinstance(found, Gap):
                return found
            wanted = [name for name in wanted if name not in found]
        return wanted


def _places(
    host: Host, plugins: str, folders: Mapping[str, Sequence[str]], origins: Mapping[str, Origin | None]
) -> Iterator[str]:
    """The packages whose names begin like the engine's; of editable trees, those that no folder of the path shows."""
    told: set[str] = set()
    for folder, names in folders.items():
        for name in names:
            if name.startswith(plugins) and name.isidentifier() and name not in told:
                told.add(name)
                yield f"{folder}/{name}"
    for distribution, origin in origins.items():
        package = distribution.replace("-", "_")
        if origin and package.startswith(plugins) and package not in told and not isinstance(origin.tree.path, Gap):
            places = (f"{origin.tree.path}/{below}{package}" for below in _BELOW)
            yield from (place for place in places if not isinstance(host.names(place), Gap))


def _like(name: str, listed: frozenset[str]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(listed), 1, _LIKE)), NOTHING_LIKE_IT)
