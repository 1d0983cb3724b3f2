"""Which packages an editable installation imports from elsewhere by a finder of its own, told by the finder's literals;
none of its code is run.

    setuptools             __editable___NAME_VERSION_finder.py: MAPPING = {'NAME': 'FOLDER'}, of NAMESPACES lists
    hatchling, pdm-backend  _editable_impl_NAME.py (editables): F.map_module('NAME', 'FOLDER/__init__.py')
"""

from ast import literal_eval
from collections.abc import Iterator

import msgspec

from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.filepaths import folder_of
from probes.kit.host import Host
from probes.kit.imports import Text
from probes.kit.lazy import lazy_regex

CAP = 256 << 10  # bytes
_FINDER = lazy_regex(r"import[ \t]+(__editable___\w+_finder|_editable_impl_\w+)")
_LITERAL = r"^(?:MAPPING|NAMESPACES)(?:: [^=\n]+)? = (\{.*\})$|^F\.map_module(\(.*\))$"
_INIT = "/__init__.py"


Maps = Seen[Map[Seen[Text]]]


def mapped(host: Host, folder: str, line: str) -> Maps:
    """By package, the folder or the file that it is; of a namespace several, as in PATH. line: of a .pth file there."""
    finder = _FINDER.match(line)
    if finder is None:
        return Map({})
    literals = host.matching(f"{folder}/{finder[1]}.py", _LITERAL, CAP)
    pairs = then(literals, lambda found: tuple(sorted(pair for text in found for pair in _pairs(text))))
    return then(pairs, lambda told: Map({name: host.redactor.parameter("", places) for name, places in told}))


def _pairs(literal: str) -> Iterator[tuple[str, str]]:
    try:
        told = msgspec.convert(literal_eval(literal), type=dict[str, str | list[str]] | tuple[str, str])
        msgspec.json.encode(told)  # half a surrogate pair is no text
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("what it maps is no literal of names and paths") from error
    for name, places in told.items() if isinstance(told, dict) else (told,):
        yield name, places if isinstance(places, str) else ":".join(places)


def imported_from(maps: Maps) -> Iterator[tuple[str, str]]:
    """Of each package the folder that its own lies in, as if that were on the import path, and its name."""
    for name, places in () if isinstance(maps, Gap) else maps.items.items():
        if isinstance(places, str):
            yield folder_of(places.partition(":")[0].removesuffix(_INIT)), name
