"""What an environment runs or adds at each start: .pth files, sitecustomize, usercustomize (CPython's site.py)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from probes.kit import pth
from probes.kit.facts import Gap, Map, no_answer, then
from probes.kit.filepaths import absolute, is_file
from probes.kit.host import Host
from probes.kit.imports import Folder
from probes.libraries.sections import Customisation, Hook, Text

_LONGEST = 300  # characters of a line that are told
_CUSTOMISATIONS = ("sitecustomize", "usercustomize")


class Path(NamedTuple):
    """The whole import path, with the names in each folder that could be listed. places: of the hooks, by name. silent:
    why one of the folders was not listed that may hold something."""

    folders: Mapping[Folder, tuple[str, ...]]
    hooks: Mapping[str, Hook]
    places: Mapping[str, str]
    silent: Gap | None = None


def path(host: Host, before: Iterable[Folder]) -> Path:
    """before: the folders that stand on it before any .pth file is read."""
    search = _Search(host)
    for folder in before:
        search.add(folder)
    return Path(search.folders, search.hooks, search.places, search.silent)


class _Search:
    def __init__(self, host: Host) -> None:
        self._host = host
        self.folders: dict[Folder, tuple[str, ...]] = {}
        self.hooks: dict[str, Hook] = {}
        self.places: dict[str, str] = {}
        self.silent: Gap | None = None
        self._known: set[str] = set()

    def add(self, folder: Folder) -> None:
        """One that is not there, or that cannot be listed, holds nothing that could be imported by name."""
        names = self._host.names(folder.path)
        self.silent = self.silent or no_answer(names)
        if folder.path in self._known or isinstance(names, Gap):
            return
        self._known.add(folder.path)
        self.folders[folder] = names
        for name in pth.files_among(names) if folder.site else ():
            self._hook(folder, name)

    def _hook(self, folder: Folder, name: str) -> None:
        place = f"{folder.path}/{name}"
        lines = pth.lines_of(self._host, place)
        adds = then(lines, lambda all_: tuple(line for line in all_ if pth.adds(self._host, folder.path, line)))
        runs = then(lines, lambda all_: tuple(self._told(line) for line in all_ if pth.is_code(line)))
        maps = then(lines, lambda all_: pth.maps(self._host, folder.path, all_))
        key = self._key(name)
        self.places[key] = place
        self.hooks[key] = Hook(sha256=self._host.sha256(place), adds=adds, runs=runs, maps=maps)
        for line in () if isinstance(adds, Gap) else adds:
            self.add(Folder(absolute(line, folder.path), "added"))

    def _key(self, name: str) -> str:
        """Files of one name in two site folders are both read."""
        again = sum(1 for known in self.hooks if known == name or known.startswith(f"{name}#"))
        return f"{name}#{again + 1}" if again else name

    def _told(self, line: str) -> Text:
        return self._host.redactor.parameter("", line if len(line) <= _LONGEST else f"{line[:_LONGEST]}...")


def customisations(host: Host, folders: Sequence[Folder], below: Callable[[str], str]) -> Map[Customisation]:
    """below: how a path is written."""
    found = ((name, _first(host, folders, name)) for name in _CUSTOMISATIONS)
    return Map({name: Customisation(path=below(place), sha256=host.sha256(place)) for name, place in found if place})


def _first(host: Host, folders: Sequence[Folder], name: str) -> str | None:
    tails = (f"{name}/__init__.py", f"{name}.py", f"{name}.pyc")
    places = (f"{folder.path}/{tail}" for folder in folders for tail in tails)
    return next((place for place in places if is_file(host, place)), None)
