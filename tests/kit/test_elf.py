"""What an ELF file tells of itself, as readelf(1) tells it of the libraries of this machine."""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.kit.answers import Elf
from probes.kit.elf import DT_STRTAB
from probes.kit.facts import Gap
from probes.kit.host import Host

LIBRARIES = sorted(
    str(path)
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/cuda/lib64")
    for path in Path(folder).glob("lib*.so.*")
    if path.is_file() and not path.is_symlink()
)[::12]
needs_readelf = pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed")


def told(path: str, pattern: str = "") -> Elf:
    seen = Host().elf(path, pattern)
    assert isinstance(seen, Elf), seen
    return seen


def readelf(option: str, path: str) -> str:
    return subprocess.run(["readelf", option, "-W", path], capture_output=True, text=True, check=True).stdout


@needs_readelf
@pytest.mark.parametrize("path", LIBRARIES)
def test_names_versions_and_build_are_those_that_readelf_tells(path: str) -> None:
    seen = told(path)
    soname = re.search(r"Library soname: \[(.*)\]", readelf("-d", path))
    build = re.search(r"Build ID: (\w+)", readelf("-n", path))
    defined = readelf("-V", path).partition("Version definition section")[2].partition("Version needs section")[0]
    assert seen.soname == (soname[1] if soname else "")
    assert seen.build_id == (build[1] if build else "")
    assert seen.defines == tuple(re.findall(r"Index: \d+  Cnt: \d+  Name: (\S+)", defined))
    assert seen.size == os.stat(path).st_size


def test_there_are_libraries_to_look_at() -> None:
    assert LIBRARIES


def test_a_text_is_found_in_the_read_only_data_and_nowhere_else(tmp_path: Path) -> None:
    library = compiled(tmp_path, 'const char version[] = "Some library version 2.27.3+cuda12.9 of today";')
    assert told(library, r"library version ([0-9.]+\+cuda[0-9.]+)").told == "2.27.3+cuda12.9"
    assert told(library, r"version \d").told == "version 2"
    assert told(library, "test_source").told == "", "debugging data are no read-only data"


def test_without_section_headers_all_but_the_text_is_told(tmp_path: Path) -> None:
    library = Path(compiled(tmp_path, 'const char version[] = "version 1";'))
    whole = told(str(library), "version 1")
    content = bytearray(library.read_bytes())
    content[40:48] = bytes(8)  # where they start
    content[60:62] = bytes(2)  # how many there are
    library.write_bytes(content)
    stripped = told(str(library), "version 1")
    assert (stripped.soname, stripped.build_id, stripped.told) == (whole.soname, whole.build_id, "")
    assert whole.told == "version 1"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x01\x01" + b"\0" * 60, b"#!/bin/sh\n" * 20])
def test_what_is_no_such_file_is_failed(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(content)
    seen = Host().elf(str(tmp_path / "lib.so"))
    assert isinstance(seen, Gap)
    assert (seen.code, seen.detail) == ("failed", "no ELF file of 64 bits, little-endian")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 4095), st.binary(min_size=1, max_size=64), st.integers(64, 20000))
def test_a_damaged_file_is_told_or_failed_and_never_more(at: int, noise: bytes, length: int) -> None:
    content = bytearray(Path(LIBRARIES[0]).read_bytes()[:length])
    content[at : at + len(noise)] = noise
    with Unnamed(bytes(content)) as path:
        assert isinstance(Host().elf(path, "GLIBC"), (Elf, Gap))


def test_a_library_that_does_not_tell_where_its_names_are_is_failed() -> None:
    entry, another = (struct.pack("<q", tag) for tag in (DT_STRTAB, 77))
    with Unnamed(Path(LIBRARIES[0]).read_bytes().replace(entry, another)) as path:
        seen = Host().elf(path)
    assert isinstance(seen, Gap)
    assert (seen.code, seen.detail) == ("failed", "no table of names")


def test_a_file_is_read_anew_once_it_was_rewritten(tmp_path: Path) -> None:
    host, path = Host(), compiled(tmp_path, 'const char version[] = "version 1";')
    first = host.elf(path, r"version \d")
    os.replace(compiled(tmp_path, 'const char version[] = "version 2";', "other"), path)
    second = host.elf(path, r"version \d")
    assert isinstance(first, Elf)
    assert isinstance(second, Elf)
    assert (first.told, second.told) == ("version 1", "version 2")


def compiled(folder: Path, source: str, name: str = "libmade") -> str:
    """The path of a library made of this source."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "test_source.c").write_text(source)
    path = folder / f"{name}.so.1"
    build = [compiler, "-shared", "-fPIC", "-g", "-Wl,--build-id", f"-Wl,-soname,{name}.so.1", "-o", str(path)]
    subprocess.run([*build, str(folder / "test_source.c")], check=True)
    return str(path)


class Unnamed:
    def __init__(self, content: bytes) -> None:
        self._fd = os.memfd_create("elf")
        os.write(self._fd, content)

    def __enter__(self) -> str:
        return f"/proc/self/fd/{self._fd}"

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
