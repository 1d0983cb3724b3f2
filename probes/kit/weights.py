"""What a file of weights tells of itself in its header: no tensor is read.

safetensors: 8 bytes of length, then JSON (https://github.com/huggingface/safetensors). GGUF of version 2 and 3:
metadata, then what each tensor is (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Everything comes from
the file and may be wrong by malice: each length is held against a cap before anything is read or counted.
"""

import os
from collections import Counter
from collections.abc import Mapping
from math import prod
from struct import unpack
from typing import Any, Literal

import msgspec

HEADER_CAP = 64 << 20
PIECE = 1 << 20
MOST_KEYS = 1 << 16
MOST_TENSORS = 1 << 20
MOST_DIMENSIONS = 16
SHORT = 200  # a longer text, as a chat template, is told by its digest

GGML_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K",
    12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S",
    20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9


class Weights(msgspec.Struct, frozen=True):
    """types: how many tensors have each number format. digest: of the header's bytes, SHA-256 in hexadecimal.
    metadata: what the header says beside its tensors, arrays as their length. size: of the file, in bytes."""

    format: Literal["safetensors", "gguf"]
    size: int
    tensors: int
    parameters: int
    types: Mapping[str, int]
    digest: str
    metadata: Mapping[str, str]


class _Tensor(msgspec.Struct):
    dtype: str = ""
    shape: tuple[int, ...] = ()


class _About(msgspec.Struct):
    metadata: dict[str, str] = msgspec.field(name="__metadata__", default_factory=dict)


def read_weights(fd: int) -> Weights:
    """Raises ValueError for what is no such file, OSError."""
    file = _Header(fd)
    try:
        return _gguf(file) if file.take(4) == b"GGUF" else _safetensors(_Header(fd))
    except RecursionError:
        raise ValueError("no header of weights that makes sense: JSON without end") from None


class _Header:
    """The beginning of a file, read as far as it is asked for."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._data = bytearray()
        self._at = 0
        self.size = os.fstat(fd).st_size

    def take(self, count: int) -> bytes:
        end = self._at + count
        if not 0 <= count <= HEADER_CAP or end > min(HEADER_CAP, self.size):
            raise ValueError("no header of weights that makes sense: it does not end in the file")
        while len(self._data) < end:
            piece = os.pread(self._fd, max(PIECE, end - len(self._data)), len(self._data))
            if not piece:
                raise ValueError("the file became shorter meanwhile")
            self._data += piece
        taken = bytes(self._data[self._at : end])
        self._at = end
        return taken

    def number(self, form: str, size: int) -> Any:
        return unpack(form, self.take(size))[0]

    def count(self, most: int) -> int:
        found: int = self.number("<Q", 8)
        if found > most:
            raise ValueError(f"no header of weights that makes sense: {found} entries")
        return found

    def string(self) -> str:
        return self.take(self.count(HEADER_CAP)).decode("utf-8", "backslashreplace")

    def digest(self) -> str:
        return _digest(self._data[: self._at])


def _safetensors(file: _Header) -> Weights:
    header = file.take(file.count(HEADER_CAP))
    if header[:1] != b"{":
        raise ValueError("neither safetensors nor GGUF")
    about = msgspec.json.decode(header, type=_About).metadata
    found = msgspec.json.decode(header, type=dict[str, _Tensor])
    tensors = [tensor for name, tensor in found.items() if name != "__metadata__"]
    return Weights(
        format="safetensors",
        size=file.size,
        tensors=len(tensors),
        parameters=sum(prod(tensor.shape) for tensor in tensors),
        types=_counted(tensor.dtype for tensor in tensors),
        digest=file.digest(),
        metadata={key: _short(about[key]) for key in sorted(about)[:MOST_KEYS]},
    )


def _gguf(file: _Header) -> Weights:
    version: int = file.number("<I", 4)
    if version not in (2, 3):
        raise ValueError(f"GGUF of version {version}, of which 2 and 3 are known")
    tensors, keys = file.count(MOST_TENSORS), file.count(MOST_KEYS)
    metadata = {file.string(): _value(file, file.number("<I", 4)) for _ in range(keys)}
    shapes = [_tensor(file) for _ in range(tensors)]
    return Weights(
        format="gguf",
        size=file.size,
        tensors=tensors,
        parameters=sum(parameters for _, parameters in shapes),
        types=_counted(kind for kind, _ in shapes),
        digest=file.digest(),
        metadata=metadata,
    )


def _tensor(file: _Header) -> tuple[str, int]:
    """Its number format and how many numbers it has."""
    file.string()
    dimensions = file.number("<I", 4)
    if dimensions > MOST_DIMENSIONS:
        raise ValueError(f"no header of weights that makes sense: {dimensions} dimensions")
    shape = [file.number("<Q", 8) for _ in range(dimensions)]
    kind, _offset = file.number("<I", 4), file.number("<Q", 8)
    return GGML_TYPES.get(kind, f"type {kind}"), prod(shape)


def _value(file: _Header, kind: int) -> str:
    if kind == _STRING:
        return _short(file.string())
    if kind == _ARRAY:
        return _array(file)
    if kind not in _SCALARS:
        raise ValueError(f"no header of weights that makes sense: values of type {kind}")
    return str(file.number(_SCALARS[kind], _SIZES[kind]))


def _array(file: _Header) -> str:
    kind = file.number("<I", 4)
    count = file.count(HEADER_CAP)
    if kind == _STRING:
        for _ in range(count):
            file.take(file.count(HEADER_CAP))
    elif kind in _SIZES:
        file.take(count * _SIZES[kind])
    else:
        raise ValueError(f"no header of weights that makes sense: arrays of type {kind}")
    return f"{count} values"


def _counted(kinds: Any) -> dict[str, int]:
    return dict(sorted(Counter(kinds).items()))


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"sha256 {_digest(text.encode())}"


def _digest(data: bytes | bytearray) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()
