"""Files that somebody put into a package's folders, of which its RECORD knows nothing: tuned kernel configurations,
modules, machine code. Engines find them by their names alone."""

from collections.abc import Iterator, Mapping, Sequence

from probes.kit.answers import Stat

RUN = (".py", ".so", ".json", ".cubin", ".hsaco")
_REGULAR, _TYPE = 0o100000, 0o170000
_INIT = "__init__.py"

Held = Mapping[str, frozenset[str]]
"""By folder the names of its files that end so."""


def held(paths: Sequence[str]) -> Held:
    """paths: of a RECORD, those without a hash included. Of folders that are this distribution's alone: at or below
    one whose `__init__.py` it brought, as a folder without may hold several distributions' files."""
    packages = {folder for folder, _, name in (path.rpartition("/") for path in paths) if name == _INIT and folder}
    found: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if any(above in packages for above in _upwards(folder)):
            found.setdefault(folder, set()).update((name,) if name.endswith(RUN) else ())
    return {folder: frozenset(names) for folder, names in found.items()}


def _upwards(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def added(names: frozenset[str], there: Mapping[str, Stat]) -> Iterator[tuple[str, Stat]]:
    """there: what the folder holds."""
    for name in there.keys() - names:
        if name.endswith(RUN) and there[name].mode & _TYPE == _REGULAR:
            yield name, there[name]
