"""What each mapped library tells of itself."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from probes.kit.answering import answering
from probes.kit.answers import Elf
from probes.kit.facts import Gap, Map, Seen, no_answer, then
from probes.kit.filepaths import inside, root_of
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.mapped.objects import Object, Objects
from probes.mapped.owner import owners
from probes.mapped.sections import File, Library

PRELOAD = "/etc/ld.so.preload"
WHOLE = 64 << 20  # what is digested where no build id tells it
_WORDS = lazy_regex(r"[^\s:]+")
SILENT = Gap("unsupported", "this file tells no version")

# The text in which a library says its version, as found in builds of it: NCCL 2.19 (wheel), OpenBLAS 0.3.31 (numpy's
# and scipy's wheels), jemalloc 5.3 (Debian), llama.cpp b10068 to b11549 (three wheels): ggml by its release, which
# stands behind the words of its states, llama.cpp by its commit, which stands behind its compiler.
_VERSIONS = (
    ("libnccl", r"NCCL version (\d[\w.]*(?:\+cuda[\d.]+)?)"),
    ("libopenblas", r"OpenBLAS (\d+\.\d+\.\d+)"),
    ("libscipy_openblas", r"OpenBLAS (\d+\.\d+\.\d+)"),
    ("libggml-base", r"GGML status: \w+\0+(\d+\.\d+\.\d+)\0"),
    ("libllama-common", r"(?:GNU|Clang) [\d.]+\0+([0-9a-f]{7,40}(?:-dirty)?)\0"),
    ("libjemalloc", r"(\d+\.\d+\.\d+-\d+-g[0-9a-f]{8,40})"),
)


def libraries(host: Host, pid: int, objects: Seen[Objects]) -> Seen[Map[Library]]:
    return then(objects, lambda found: _read(_Reading(host, pid), found))


def _read(reading: "_Reading", objects: Objects) -> Map[Library]:
    return Map({name: _library([reading.of(name, file) for file in files]) for name, files in objects.named.items()})


def _library(files: Sequence[File]) -> Library:
    first, *others = files
    numbered = {str(number): file for number, file in enumerate(others, start=2)}
    return Library(**msgspec.structs.asdict(first), copies=len(files), others=Map(numbered))


def preloaded(host: Host, pid: int) -> Seen[tuple[str, ...]]:
    """As they are written: paths, or names that the loader searches for."""
    variables = host.environ(pid)
    variable = then(variables, lambda environ: environ.items.get("LD_PRELOAD", ""))
    if not isinstance(variable, (str, Gap)):
        variable = Gap("not_observable", "LD_PRELOAD holds what may not be told")
    listed = answering(host, pid).text(PRELOAD)
    if isinstance(listed, Gap) and listed.code == "absent":
        listed = ""
    return then(variable, lambda own: then(listed, lambda everybodys: tuple(_WORDS.findall(f"{own} {everybodys}"))))


class _Reading:
    def __init__(self, host: Host, pid: int) -> None:
        self._host, self._pid = host, pid
        self._files = answering(host, pid)
        self._owners = owners(host, pid)
        self._root = root_of(host, pid)

    def of(self, name: str, file: Object) -> File:
        path = inside(file.path, self._root)
        files, place = self._place(file, path)
        elf = files.elf(place, next((text for start, text in _VERSIONS if name.startswith(start)), ""))
        size = then(elf, lambda told: told.size)
        return File(
            path=path,
            version=then(elf, lambda told: _version(name, told)),
            build_id=then(elf, lambda told: told.build_id or Gap("absent", "the linker wrote none")),
            sha256=then(elf, lambda told: _digest(files, place, told)),
            size=size,
            soname=then(elf, lambda told: told.soname or Gap("absent", "it has no name of its own")),
            owner=self._owners.of(self._files, path, size),
            deleted=file.deleted,
        )

    def _place(self, file: Object, path: str) -> tuple[Host, str]:
        """What no folder lists any more, or by a name that is no text, the kernel still hands to root."""
        seen = self._files.stat(path)
        if (file.deleted and not no_answer(seen)) or (isinstance(seen, Gap) and seen.code == "absent"):
            return self._host, f"/proc/{self._pid}/map_files/{file.addresses}"
        return self._files, path


def _digest(files: Host, path: str, told: Elf) -> Seen[str]:
    if told.build_id:
        return Gap("absent", "the build id tells it")
    return files.sha256(path) if told.size <= WHOLE else Gap("not_observable", "larger than 64 MiB")


def _version(name: str, told: Elf) -> Seen[str]:
    """Else the last of the symbol versions that bear its name: 12 of libcudart.so.12, GOMP_5.0.1."""
    return told.told or next(_defined(name, told.defines), SILENT)


def _defined(name: str, versions: Sequence[str]) -> Iterator[str]:
    own = name.removeprefix("lib")
    for version in reversed(versions[1:]):
        if version.startswith(f"{name}.so."):
            yield version.removeprefix(f"{name}.so.")
    yield from sorted(_numbered(own, versions), key=_numbers, reverse=True)


def _numbered(own: str, versions: Iterable[str]) -> Iterator[str]:
    return (version for version in versions if re.fullmatch(rf"{re.escape(own)}_[\d.]+", version, re.IGNORECASE))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.rpartition("_")[2])]
