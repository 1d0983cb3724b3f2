"""Which package brought a file, as far as a few small files tell it."""

import re
from functools import lru_cache

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

UNKNOWN = Gap("not_observable", "no package whose name is like the file's lists it")
DPKG = "/var/lib/dpkg/info"
_INSTALLED = lazy_regex(r"(?P<site>.*/(?:site|dist)-packages)/(?P<file>.*)")
_WORD = lazy_regex(r"[a-z0-9]+")


class Owners:
    """Of what one process has mapped, each file asked for once: a list of a thousand files takes a millisecond.

    Only packages whose names are like the file's path are asked: there may be thousands of others.
    """

    def __init__(self, _host: Host, _pid: int) -> None:
        self._known: dict[tuple[str, Seen[int]], Seen[str]] = {}

    def of(self, files: Host, path: str, size: Seen[int]) -> Seen[str]:
        """files: the host as the process sees its files."""
        if (path, size) not in self._known:
            self._known[path, size] = _owner(files, path)
        return self._known[path, size]


owners = lru_cache(maxsize=256)(Owners)


def _owner(files: Host, path: str) -> Seen[str]:
    installed = _INSTALLED.fullmatch(path)
    if installed:
        return then(files.names(installed["site"]), lambda names: _distribution(files, installed, names))
    return then(files.names(DPKG), lambda names: _package(files, path, names))


def _distribution(files: Host, installed: re.Match[str], names: tuple[str, ...]) -> Seen[str]:
    words = _WORD.findall(installed["file"].lower())
    listed = rf'^"?{re.escape(installed["file"])}"?,'
    for name in names:
        own = name.partition("-")[0]
        alike = name.endswith(".dist-info") and _alike(own.lower(), words)
        if alike and _lists(files, f"{installed['site']}/{name}/RECORD", listed):
            return f"pip {own.replace('_', '-')}"
    return UNKNOWN


def _package(files: Host, path: str, names: tuple[str, ...]) -> Seen[str]:
    """Since /lib became a link to /usr/lib, a package lists a file under either."""
    stem = path.rpartition("/")[2].partition(".so")[0].lower()
    listed = rf"^(?:/usr)?{re.escape(path.removeprefix('/usr'))}$"
    for name in names:
        if name.endswith(".list") and name.startswith(stem) and _lists(files, f"{DPKG}/{name}", listed):
            return f"dpkg {name.removesuffix('.list').partition(':')[0]}"
    return UNKNOWN


def _lists(files: Host, path: str, line: str) -> bool:
    found = files.matching(path, line)
    return not isinstance(found, Gap) and found != ()


def _alike(distribution: str, words: list[str]) -> bool:
    """nvidia_nccl_cu12 of nvidia/nccl/lib/libnccl.so.2, torch of torch/lib/libc10.so, numpy of numpy.libs/..."""
    return all(word in words for word in _WORD.findall(distribution) if not re.fullmatch(r"cu\d+|python|lib", word))
