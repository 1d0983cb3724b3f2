"""Which distributions an import path holds, by the names of their folders; METADATA where the name does not tell."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.imports import Folder
from probes.kit.lazy import lazy_regex

_SUFFIXES = (".dist-info", ".egg-info")
# NAME-VERSION, of an .egg-info also with -pyX.Y behind. `_` in a version stands for what may be `-` or `+`.
_NAMED = lazy_regex(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>\d[A-Za-z0-9.+!]*)(?:-py\d[\d.]*)?(?:\.dist|\.egg)-info")
_FIELDS = lazy_regex(r"^(Name|Version):\s*(\S+)", re.MULTILINE)
_HEAD = 4096  # bytes; Name and Version stand first
_OF_EGG = "EGG-INFO"  # in the folder NAME.egg, which is on the import path itself: setup.py install (setuptools < 80)
_BROKEN_OFF = "~"  # pip calls a package so while it replaces it


class Distribution(NamedTuple):
    """info: its .dist-info, .egg-info or EGG-INFO, a file where distutils wrote it. files: what that folder holds."""

    name: str
    version: Seen[str]
    info: str
    folder: Folder
    files: Seen[tuple[str, ...]]

    def has(self, file: str) -> bool:
        return not isinstance(self.files, Gap) and file in self.files


def normalized(name: str) -> str:
    """As PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(host: Host, listed: Mapping[Folder, Sequence[str]]) -> Mapping[str, list[Distribution]]:
    """By normalised name, those of one name in the order of the import path: the first is imported."""
    found: dict[str, list[Distribution]] = {}
    for folder, names in listed.items():
        for distribution in _in_folder(host, folder, names):
            found.setdefault(distribution.name, []).append(distribution)
    return found


def _in_folder(host: Host, folder: Folder, names: Sequence[str]) -> Iterator[Distribution]:
    for name in names:
        is_of_egg = name == _OF_EGG and folder.path.endswith(".egg")
        if (name.endswith(_SUFFIXES) and not name.startswith(_BROKEN_OFF)) or is_of_egg:
            yield _distribution(host, folder, name)


def _distribution(host: Host, folder: Folder, info: str) -> Distribution:
    place = f"{folder.path}/{info}"
    files = host.names(place)
    match = _NAMED.fullmatch(info)
    metadata = "METADATA" if info.endswith(".dist-info") else "PKG-INFO"
    if match and (isinstance(files, Gap) or metadata in files):
        told: Seen[str] = match["version"]
        if isinstance(files, Gap) and files.code == "denied":
            told = files
        return Distribution(normalized(match["name"]), told, place, folder, files)
    if not isinstance(files, Gap) and metadata not in files:
        return Distribution(_bare(folder, info), Gap("failed", f"{info} holds no {metadata}"), place, folder, files)
    head = host.head(place if isinstance(files, Gap) else f"{place}/{metadata}", _HEAD)
    fields = then(head, lambda text: dict(_FIELDS.findall(text.partition("\n\n")[0])))
    named = then(fields, lambda known: known["Name"])
    return Distribution(
        _bare(folder, info) if isinstance(named, Gap) else normalized(named),
        then(fields, lambda known: known.get("Version") or Gap("failed", f"{metadata} has no Version")),
        place,
        folder,
        files,
    )


def _bare(folder: Folder, info: str) -> str:
    """The name, as far as that of the folder tells it."""
    called = folder.path.rpartition("/")[2] if info == _OF_EGG else info
    return normalized(called.rpartition(".")[0].partition("-")[0])
