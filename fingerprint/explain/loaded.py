"""What a run had in memory of packages and libraries: what is installed and never loaded moves nothing."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fingerprint.explain.program import words
from fingerprint.explain.stored import Items, section_of
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
_UPON_TORCH = re.compile(
    r"(pytorch-)?triton.*|torchvision|torchaudio|xformers|flash-attn|bitsandbytes|torchao|accelerate|deepspeed|peft|trl|"
    r"sentence-transformers"
)
"""Packages that are used with torch alone."""
_OF_NVIDIA = "nvidia"
"""Packages that begin so are as many libraries."""
_OF_BUILDS = re.compile(r"cu\d+|cpu|gpu|rocm")
"""In names of packages, for what they were built."""
_READERS: Mapping[str, str] = {
    "PYTORCH_": "torch", "TORCH_": "torch", "TORCHINDUCTOR_": "torch", "INDUCTOR_": "torch", "OPENBLAS_": "openblas",
    "GOTO_": "openblas", "CUDA_DISABLE_CONTROL": "vgpu", "CUDA_DEVICE_MEMORY_LIMIT": "vgpu",
    "CUDA_DEVICE_SM_LIMIT": "vgpu", "GPU_CORE_UTILIZATION_POLICY": "vgpu",
}  # fmt: skip
"""By the first letters of variables, what the libraries that read them have in their names. Others are linked into
programs as well, so that no file tells of them."""


class Loaded(NamedTuple):
    """Of all processes of either run. packages: of pip. libraries: by their names without version. unowned: paths of
    those of which no package is known: what was built from source, or conda's."""

    packages: frozenset[str]
    libraries: frozenset[str]
    unowned: frozenset[str] = frozenset()

    def has(self, package: str) -> bool:
        """By a file of the package or of another build of it, as tensorflow-cpu is of tensorflow, or by one that no
        package lists and whose path bears all words of its name."""
        named = [word for word in words(package) if not _OF_BUILDS.fullmatch(word)]
        if package in self.packages or any(all(word in path for word in named) for path in self.unowned):
            return True
        return named[0] != _OF_NVIDIA and any(one.partition("-")[0] == named[0] for one in self.packages)


class _File(msgspec.Struct, frozen=True):
    path: Any = None
    owner: Any = None


class _Mapped(msgspec.Struct, frozen=True):
    libraries: Items = Items()


def loaded(states: Iterable[Effective]) -> Loaded | None:
    """None where not all was read that could tell."""
    packages, libraries, unowned = set[str](), set[str](), set[str]()
    for mapped in (one for state in states for one in _every(state)):
        files = mapped.libraries.items
        read = msgspec.convert([*files.values()], list[_File])
        owners = [str(file.owner) for file in read]
        if not files or len(files) >= MOST_FILES:
            return None
        libraries.update(files)
        packages.update(owner.removeprefix(_OF_PIP) for owner in owners if owner.startswith(_OF_PIP))
        unowned.update(str(file.path) for file in read if not isinstance(file.owner, str))
    return Loaded(frozenset(packages), frozenset(libraries), frozenset(unowned))


def _every(state: Effective) -> Iterator[_Mapped]:
    """Of each process that is told of, with no file where nobody read what it mapped."""
    for target in {key.target for key in state.sections if key.area in ("process", "mapped")} or {MAIN}:
        yield section_of(state, Key("mapped", target), _Mapped) or _Mapped()


def not_loaded(path: FactPath, found: Loaded | None) -> str:
    """Why a package or variable that differs moved nothing; empty where it may have."""
    if found is None:
        return ""
    if path[0] == "libraries" and path[2:3] in (("packages",), ("origins",)) and len(path) > 4 and found.packages:
        return _no_package(path[3], found)
    return _no_reader(path[-1], found.libraries) if path[-2:-1] == ("env",) else ""


def _no_package(package: str, loaded: Loaded) -> str:
    if _MACHINE_CODE.fullmatch(package):
        return "" if loaded.has(package) else "no process had any of its machine code in memory"
    is_idle = _UPON_TORCH.fullmatch(package) and not loaded.has(_TORCH)
    return "no process had torch in memory, which it is used with" if is_idle else ""


def _no_reader(variable: str, loaded: frozenset[str]) -> str:
    reader = next((reader for start, reader in _READERS.items() if variable.startswith(start)), "")
    is_there = any(reader in name for name in loaded)
    return "" if is_there else f"no process had a library of {reader} in memory, which reads it"
