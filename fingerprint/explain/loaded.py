"""What a run had in memory of packages and libraries: what is installed and never loaded moves nothing."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fingerprint.explain.programs import Items
from fingerprint.runs.effective import Effective
from fingerprint.snapshot import Key
from probes.kit.paths import FactPath
from probes.kit.probe import MAIN

MOST_FILES = 256
"""Of an address space with more, the first by path are told, so that a file that is not told may be there."""
_OF_PIP = "pip "
_TORCH = "torch"
_MACHINE_CODE = re.compile(
    r"torch|torch-xla|jaxlib|tensorflow(-cpu|-gpu|-rocm)?|onnxruntime(-gpu)?|numpy|vllm|sgl-kernel|"
    r"nvidia-(nccl|cublas|cudnn|cusparse|cufft|cusolver|curand|nvjitlink|cuda-nvrtc)(-cu\d+)?"
)
"""Packages that are loaded as machine code as soon as a program imports them, if it does."""
_UPON_TORCH = re.compile(r"(pytorch-)?triton.*|torchvision|torchaudio|xformers|flash-attn|bitsandbytes|torchao")
"""Packages that are used with torch alone."""


_READERS: Mapping[str, str] = {
    "PYTORCH_": "torch", "TORCH_": "torch", "TORCHINDUCTOR_": "torch", "INDUCTOR_": "torch", "OPENBLAS_": "openblas",
    "GOTO_": "openblas",
}  # fmt: skip
"""By the first letters of variables, what the libraries that read them have in their names. Others are linked into
programs as well, so that no file tells of them."""


class Loaded(NamedTuple):
    """Of all processes of either run. packages: of pip. libraries: by their names without version."""

    packages: frozenset[str]
    libraries: frozenset[str]


class _File(msgspec.Struct, frozen=True):
    owner: Any = None


class _Mapped(msgspec.Struct, frozen=True):
    libraries: Items = Items()


def loaded(states: Iterable[Effective]) -> Loaded | None:
    """None where not all was read that could tell."""
    packages, libraries = set[str](), set[str]()
    for mapped in (one for state in states for one in _every(state)):
        files = mapped.libraries.items
        owners = [str(msgspec.convert(file, _File).owner) for file in files.values()]
        if not files or len(files) >= MOST_FILES:
            return None
        libraries.update(files)
        packages.update(owner.removeprefix(_OF_PIP) for owner in owners if owner.startswith(_OF_PIP))
    return Loaded(frozenset(packages), frozenset(libraries))


def _every(state: Effective) -> Iterator[_Mapped]:
    """Of each process that is told of, with no file where nobody read what it mapped."""
    for target in {key.target for key in state.sections if key.area in ("process", "mapped")} or {MAIN}:
        standing = state.sections.get(Key("mapped", target))
        read = standing.blob if standing else None
        yield msgspec.json.decode(read.body, type=_Mapped) if read else _Mapped()


def not_loaded(path: FactPath, found: Loaded | None) -> str:
    """Why a package or variable that differs moved nothing; empty where it may have."""
    if found is None:
        return ""
    if path[0] == "libraries" and path[2:3] in (("packages",), ("origins",)) and len(path) > 4 and found.packages:
        return _no_package(path[3], found.packages)
    return _no_reader(path[-1], found.libraries) if path[-2:-1] == ("env",) else ""


def _no_package(package: str, loaded: frozenset[str]) -> str:
    if _MACHINE_CODE.fullmatch(package):
        return "" if package in loaded else "no process had any of its machine code in memory"
    is_idle = _UPON_TORCH.fullmatch(package) and _TORCH not in loaded
    return "no process had torch in memory, which it is used with" if is_idle else ""


def _no_reader(variable: str, loaded: frozenset[str]) -> str:
    reader = next((reader for start, reader in _READERS.items() if variable.startswith(start)), "")
    is_there = any(reader in name for name in loaded)
    return "" if is_there else f"no process had a library of {reader} in memory, which reads it"
