"""Which environment a Python runs in, which release it is and how its switches change where it imports from."""

import re
from collections.abc import Sequence

from probes.kit.facts import Gap, Map, Redacted, Seen, no_answer, seen_or, then
from probes.kit.filepaths import absolute, folder_of, found, is_file, link_of, real
from probes.kit.host import Host
from probes.kit.interpreters import Named, named
from probes.kit.lazy import lazy_regex
from probes.kit.processes import stat

_VERSION = lazy_regex(r"^version(?:_info)?\s*=\s*(\S+)", re.MULTILINE)
_NO_UTF8 = lazy_regex(r"\\x[89a-f][0-9a-f]")  # what a Host makes of such a byte
_WITH_VALUE = "WX"  # the rest of the word, else the next one, is their value
_LAST = "cm"  # what follows is the program's
_MOST_ABOVE = 4  # an engine's core has workers below it, and is below the launcher


def environment(host: Host, executable: str, called: str | Redacted, search: str, cwd: Seen[str]) -> Seen[str]:
    """The folder that sys.prefix names: two above argv[0] as it was found, since a virtual environment's python is
    a link to its base (PEP 405). Links on the way to that folder are followed: `current` may be another one now.

    called: argv[0]. search: PATH of the process.
    """
    if isinstance(called, Redacted) or named(called) is None or isinstance(cwd, Gap):
        return Gap("not_observable", "argv[0] was overwritten, so the environment's python is not told")
    place = found(host, called, search, cwd)
    home = then(place, lambda path: real(host, folder_of(folder_of(path))))
    if not isinstance(home, Gap) and is_file(host, f"{home}/pyvenv.cfg"):
        return home
    return no_answer(home) or folder_of(folder_of(executable))


Words = tuple[str | Redacted, ...]


def untitled(host: Host, pid: int, executable: str, argv: Words) -> Words:
    """What a Python was started with, where a title stands over its arguments (setproctitle), as in engines' workers:
    those of its nearest ancestor of the same executable, which forked it or handed its import path on to it."""
    own, known = argv, named(executable.removesuffix(" (deleted)"))
    for _ in range(_MOST_ABOVE if known and known.family == "python" else 0):
        if not argv or isinstance(argv[0], Redacted) or named(argv[0]):
            return argv
        parent = then(stat(host, pid), lambda seen: seen.parent)
        if isinstance(parent, Gap) or link_of(host, parent, "exe") != executable:
            break
        pid, argv = parent, seen_or(host.arguments(parent), ())
    return own


def version(host: Host, prefix: Seen[str], known: Named) -> Seen[str]:
    """Of the interpreter: from pyvenv.cfg, else from the name of its file, which has no third number."""
    config = then(prefix, lambda home: host.text(f"{home}/pyvenv.cfg"))
    match = None if isinstance(config, Gap) else _VERSION.search(config)
    if match:
        return match[1]
    return known.version or Gap("not_observable", "neither pyvenv.cfg nor the file name tells it")


def switches(argv: Sequence[str | Redacted]) -> frozenset[str]:
    """The letters among the interpreter's own options: `-sE -Om module` are s, E, O and m."""
    letters: set[str] = set()
    words = iter(argv[1:])
    for word in words:
        if isinstance(word, Redacted) or word[:1] != "-" or word.startswith("--") or word == "-":
            break
        for place, letter in enumerate(word[1:], start=2):
            letters.add(letter)
            if letter in _LAST:
                return frozenset(letters)
            if letter in _WITH_VALUE:
                if place == len(word):
                    next(words, None)
                break
    return frozenset(letters)


def of_folders(environ: Seen[Map[Seen[str | Redacted]]], name: str) -> Seen[str]:
    """A variable whose value is one folder or several; empty where it is not set. `not_observable` where they cannot be
    looked into."""
    if isinstance(environ, Gap):
        return environ
    value = environ.items.get(name, "")
    if isinstance(value, Redacted):
        return Gap("not_observable", f"{name} holds what looks like a secret and was redacted")
    if isinstance(value, str) and _NO_UTF8.search(value):
        return Gap("not_observable", f"{name} is no UTF-8")
    return value


def path_folders(value: str, cwd: Seen[str]) -> tuple[str, ...]:
    """What PYTHONPATH adds. An empty entry is the working directory, as `$PYTHONPATH:/more` leaves one where nothing
    was set before; without any the variable counts as unset (getpath.py)."""
    if not value:
        return ()
    places = value.split(":")
    if isinstance(cwd, Gap):
        return tuple(place for place in places if place.startswith("/"))
    return tuple(absolute(place, cwd) for place in places)
