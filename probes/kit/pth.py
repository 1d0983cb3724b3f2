"""What the .pth files of a site folder put on the import path, or import from elsewhere (CPython's site.py)."""

from collections.abc import Iterable, Iterator, Sequence

from probes.kit.facts import Gap, Map, Seen, no_answer, seen_or, then
from probes.kit.filepaths import absolute
from probes.kit.finders import Maps, imported_from, mapped
from probes.kit.host import Host
from probes.kit.imports import Folder


def files_among(names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if name.endswith(".pth") and not name.startswith("."))


def lines_of(host: Host, place: str) -> Seen[tuple[str, ...]]:
    return then(host.text(place), lambda text: tuple(_lines(text)))


def _lines(text: str) -> Iterator[str]:
    return (line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def is_code(line: str) -> bool:
    return line.startswith(("import ", "import\t"))


def adds(host: Host, folder: str, line: str) -> bool:
    """As site.py has it. What names nothing is not told: the file may be a link to somebody's secrets."""
    there = "" if is_code(line) else host.stat(absolute(line, folder))
    return bool(there) and (not isinstance(there, Gap) or no_answer(there) is not None)


def maps(host: Host, folder: str, lines: Sequence[str]) -> Maps:
    """By the first line that starts a finder."""
    told = (mapped(host, folder, line) for line in lines)
    return next((one for one in told if isinstance(one, Gap) or one.items), Map({}))


def importing(host: Host, before: Iterable[Folder]) -> Iterator[str]:
    """Where packages are imported from, also by finders. before: the folders that stand on the import path before any
    .pth file is read."""
    for folder in before:
        yield folder.path
        for name in files_among(seen_or(host.names(folder.path), ()) if folder.site else ()):
            lines = seen_or(lines_of(host, f"{folder.path}/{name}"), ())
            yield from (absolute(line, folder.path) for line in lines if adds(host, folder.path, line))
            yield from (place for place, _ in imported_from(maps(host, folder.path, lines)))
