"""Where a Python looks for what it imports, in its own order, told from outside (CPython's getpath.py and site.py)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Union

from probes.kit.facts import Gap, Map, Redacted, Seen, no_answer, seen_or, then
from probes.kit.filepaths import absolute, folder_of, is_file, link_of, real
from probes.kit.host import Host
from probes.kit.interpreters import named, script_at
from probes.kit.lazy import lazy_regex
from probes.kit.pythons import environment, of_folders, path_folders, switches, untitled, version

Text = Union[str, Redacted]

_SYSTEM_SITE = lazy_regex(r"^include-system-site-packages\s*=\s*true\s*$", re.MULTILINE | re.IGNORECASE)
_HOME = lazy_regex(r"^home\s*=\s*(.+?)\s*$", re.MULTILINE)
_PLACING = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "HOME")
_DEBIAN = "/usr/lib/python3/dist-packages"  # Debian's site.py, for the prefix /usr


class Started(NamedTuple):
    """What decides it: the resolved executable, and what the process was given, or an ancestor where a title hides it.
    variables: those in clear. names: of all variables. untold: by name, why one that says where to look is not told."""

    executable: str
    argv: tuple[Text, ...]
    cwd: Seen[str]
    variables: "dict[str, str]"
    names: tuple[str, ...] = ()
    untold: Mapping[str, Gap] = {}


class Folder(NamedTuple):
    """One entry of the import path. site: whether its .pth files are read. kind: how it came to be there."""

    path: str
    kind: str
    site: bool = False


class Python(NamedTuple):
    """prefix: sys.prefix. folders: what stands on the path before any .pth file is read; the standard library is not
    among them, which holds no distributions. untold: why some may be missing."""

    prefix: Seen[str]
    version: Seen[str]
    folders: Seen[tuple[Folder, ...]]
    untold: Gap | None = None


def started(host: Host, pid: int) -> Seen[Started]:
    """A gap for a program that is no Python. Arguments before the executable's name: a process that had ended when
    they were read has neither."""
    argv, environ = host.arguments(pid), host.environ(pid)
    cwd, executable = link_of(host, pid, "cwd"), link_of(host, pid, "exe")
    if isinstance(executable, Gap):
        return Gap("absent", "the process ended") if executable.code == "absent" else executable
    path = executable.removesuffix(" (deleted)")
    known = named(path)
    if known is None or known.family != "python":
        return Gap("absent", "the program is no Python")
    names = () if isinstance(environ, Gap) else tuple(environ.items)
    started_with = then(argv, lambda words: untitled(host, pid, executable, words))
    return then(started_with, lambda words: Started(path, words, cwd, _in_clear(environ), names, _untold(environ)))


def _in_clear(environ: Seen[Map[Seen[Text]]]) -> dict[str, str]:
    items = {} if isinstance(environ, Gap) else environ.items
    return {name: value for name, value in items.items() if isinstance(value, str)}


def _untold(environ: Seen[Map[Seen[Text]]]) -> dict[str, Gap]:
    told = {name: of_folders(environ, name) for name in _PLACING}
    return {name: value for name, value in told.items() if isinstance(value, Gap)}


def python(host: Host, how: Started) -> Python:
    known = named(how.executable)
    assert known is not None
    called = how.argv[0] if how.argv else ""
    prefix = environment(host, how.executable, called, how.variables.get("PATH", ""), how.cwd)
    release = version(host, prefix, known)
    if isinstance(prefix, Gap):
        return Python(prefix, release, prefix)
    return _Layout(host, how, prefix, release).python()


class _Layout:
    """One interpreter's folders."""

    def __init__(self, host: Host, how: Started, prefix: str, release: Seen[str]) -> None:
        self._host = host
        self._how = how
        self._config = host.text(f"{prefix}/pyvenv.cfg")
        self._switches = switches(how.argv)
        self._release = release
        home = "" if self._ignores_variables else how.variables.get("PYTHONHOME", "").partition(":")[0]
        self._prefix = home if home and isinstance(self._config, Gap) else prefix

    @property
    def _ignores_variables(self) -> bool:
        return bool(self._switches & {"E", "I"})

    def python(self) -> Python:
        names = self._lib_names()
        folders = then(names, lambda libs: tuple(self._folders(libs)))
        release = self._release
        if isinstance(release, Gap) and not isinstance(names, Gap):
            release = names[0].partition("3.")[1] + names[0].partition("3.")[2].rstrip("t")
        return Python(self._prefix, release, folders, self._untold())

    def _untold(self) -> Gap | None:
        ignored = "PYTHON" if self._ignores_variables else "-"
        return next((gap for name, gap in self._how.untold.items() if not name.startswith(ignored)), None)

    def _lib_names(self) -> Seen[tuple[str, ...]]:
        """`python3.11` as the folders below lib are called. Of a free-threaded build `python3.13t`."""
        if not isinstance(self._release, Gap) and self._release.count("."):
            number = ".".join(self._release.split(".")[:2])
            free = "t" if self._how.executable.endswith("t") else ""
            return (f"python{number}{free}",)
        listed = then(self._host.names(f"{self._prefix}/lib"), lambda names: tuple(filter(_is_lib, names)))
        if isinstance(listed, Gap) or len(listed) == 1:
            return listed
        return Gap("not_observable", f"which of {', '.join(listed) or 'no'} releases below lib runs is not told")

    def _folders(self, libs: Sequence[str]) -> Iterator[Folder]:
        yield from self._first()
        if not self._ignores_variables:
            for place in path_folders(self._how.variables.get("PYTHONPATH", ""), self._how.cwd):
                yield Folder(place, "PYTHONPATH")
        if "S" not in self._switches:
            yield from self._sites(libs[0])

    def _first(self) -> Iterator[Folder]:
        """The script's folder, or the one that is run as a script; the working one for a module, and for code in the
        arguments or from standard input."""
        if self._switches & {"I", "P"} or self._how.variables.get("PYTHONSAFEPATH"):
            return
        at = script_at("python", self._how.argv)
        script = None if at is None else self._how.argv[at]
        if isinstance(script, str):
            place = seen_or(real(self._host, self._absolute(script)), self._absolute(script))
            runs_itself = is_file(self._host, f"{place}/__main__.py")
            yield Folder(place if runs_itself else folder_of(place), "program")
        elif script is None and not isinstance(self._how.cwd, Gap):
            yield Folder(self._how.cwd, "program")

    def _absolute(self, place: str) -> str:
        return absolute(place, seen_or(self._how.cwd, "/"))

    def _sites(self, lib: str) -> Iterator[Folder]:
        """A virtual environment's own first, then the user's, then those of the base."""
        if isinstance(self._config, Gap):
            yield from self._user_site(lib)
            yield from _site_packages(self._host, self._prefix, lib, "environment")
            return
        yield from _site_packages(self._host, self._prefix, lib, "environment")
        home = _HOME.search(self._config)
        if _SYSTEM_SITE.search(self._config) and home:
            yield from self._user_site(lib)
            yield from _site_packages(self._host, folder_of(home[1]), lib, "base")

    def _user_site(self, lib: str) -> Iterator[Folder]:
        """PEP 370. Without HOME the interpreter asks the user database, which is not read here."""
        variables = self._how.variables
        if self._switches & {"s", "I"} or ("PYTHONNOUSERSITE" in variables and not self._ignores_variables):
            return
        base = "" if self._ignores_variables else variables.get("PYTHONUSERBASE", "")
        home = variables.get("HOME", "")
        if base or home:
            yield Folder(self._absolute(f"{base or f'{home}/.local'}/lib/{lib}/site-packages"), "user", site=True)


def _is_lib(name: str) -> bool:
    return name.startswith(("python3.", "pypy3."))


def _site_packages(host: Host, prefix: str, lib: str, kind: str) -> Iterator[Folder]:
    """lib64 is that of Fedora's and SUSE's builds, for compiled packages. One that does not answer is on the path."""
    if prefix == "/usr" and not isinstance(host.stat(_DEBIAN), Gap):
        places = [f"/usr/local/lib/{lib}/dist-packages", _DEBIAN, f"/usr/lib/{lib}/dist-packages"]
    else:
        places = [f"{prefix}/lib64/{lib}/site-packages", f"{prefix}/lib/{lib}/site-packages"]
    seen = {place: host.stat(place) for place in places}
    found = {place: info for place, info in seen.items() if not isinstance(info, Gap)}
    if len({(info.device, info.inode) for info in found.values()}) < len(found):  # lib64 is a link to lib
        found.pop(places[0])
    for place in places:
        if place in found or no_answer(seen[place]):
            yield Folder(place, kind, site=True)
