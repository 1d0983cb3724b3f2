"""Which packages of a Python environment a run had in memory: what is installed and never loaded moves nothing."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from fingerprint.explain.programs import Items
from fingerprint.runs.effective import Effective
from probes.kit.paths import FactPath

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


class _File(msgspec.Struct, frozen=True):
    owner: Any = None


class _Mapped(msgspec.Struct, frozen=True):
    libraries: Items = Items()


def loaded(states: Iterable[Effective]) -> frozenset[str] | None:
    """Packages with machine code in any process of either run; None where not all was read that could tell."""
    found: set[str] = set()
    read = False
    for mapped in _every(states):
        owners = [msgspec.convert(file, _File).owner for file in mapped.libraries.items.values()]
        if len(owners) >= MOST_FILES:
            return None
        told = [owner.removeprefix(_OF_PIP) for owner in owners if str(owner).startswith(_OF_PIP)]
        read = read or bool(told)
        found.update(told)
    return frozenset(found) if read else None


def _every(states: Iterable[Effective]) -> Iterator[_Mapped]:
    for state in states:
        for key, standing in state.sections.items():
            if key.area == "mapped" and standing.blob is not None:
                yield msgspec.json.decode(standing.blob.body, type=_Mapped)


def not_loaded(path: FactPath, found: frozenset[str] | None) -> str:
    """Why a package that differs moved nothing; empty where it may have."""
    if found is None or path[0] != "libraries" or path[2:3] not in (("packages",), ("origins",)) or len(path) < 5:
        return ""
    package = path[3]
    if _MACHINE_CODE.fullmatch(package):
        return "" if package in found else "no process had any of its machine code in memory"
    return (
        "no process had torch in memory, which it is used with"
        if _UPON_TORCH.fullmatch(package) and _TORCH not in found
        else ""
    )
