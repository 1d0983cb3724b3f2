"""What files of weights tell in their headers; no tensor is read, and no length is believed."""

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from probes.kit import weights
from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.weights import Weights


def safetensors(path: Path, tensors: Mapping[str, tuple[str, list[int]]], **about: str) -> Path:
    """A file that ends behind its header: what follows is never read."""
    entries = {
        name: {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]} for name, (dtype, shape) in tensors.items()
    }
    header = json.dumps({"__metadata__": about, **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return path


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(path: Path, metadata: Mapping[str, bytes], tensors: Mapping[str, tuple[int, tuple[int, ...]]]) -> Path:
    """metadata: type and value, as they stand in the file."""
    data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    data += b"".join(text(key) + value for key, value in metadata.items())
    for name, (kind, shape) in tensors.items():
        data += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, 0)
    path.write_bytes(data)
    return path


STRINGS = struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
NUMBERS = struct.pack("<IIQ", 9, 5, 3) + struct.pack("<3i", 1, 2, 3)


def told(path: Path) -> Weights:
    found = Host().weights(str(path))
    assert isinstance(found, Weights)
    return found


def test_safetensors_tell_tensors_formats_and_parameters(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "m", {"a": ("BF16", [2, 3]), "b": ("F8_E4M3", [4]), "c": ("BF16", [])}, format="pt")
    found = told(path)
    assert (found.format, found.tensors, found.parameters) == ("safetensors", 3, 11)
    assert (found.types, found.metadata) == ({"BF16": 2, "F8_E4M3": 1}, {"format": "pt"})
    assert found.size == path.stat().st_size


def test_gguf_tells_metadata_with_arrays_as_their_length(tmp_path: Path) -> None:
    metadata = {
        "general.architecture": struct.pack("<I", 8) + text("llama"),
        "llama.block_count": struct.pack("<II", 4, 32),
        "tokenizer.ggml.tokens": STRINGS,
        "tokenizer.ggml.token_type": NUMBERS,
        "tokenizer.chat_template": struct.pack("<I", 8) + text("x" * 1000),
    }
    found = told(gguf(tmp_path / "m.gguf", metadata, {"a": (12, (256, 4)), "b": (0, (8,)), "c": (99, (1,))}))
    assert (found.format, found.tensors, found.parameters) == ("gguf", 3, 1033)
    assert found.types == {"F32": 1, "Q4_K": 1, "type 99": 1}
    assert found.metadata["general.architecture"] == "llama"
    assert found.metadata["llama.block_count"] == "32"
    assert found.metadata["tokenizer.ggml.tokens"] == "2 values"
    assert found.metadata["tokenizer.ggml.token_type"] == "3 values"
    assert found.metadata["tokenizer.chat_template"].startswith("sha256 ")


def test_the_digest_is_of_the_header_and_not_of_the_tensors(tmp_path: Path) -> None:
    first = safetensors(tmp_path / "a", {"a": ("BF16", [2])})
    second = safetensors(tmp_path / "b", {"a": ("BF16", [2])})
    second.write_bytes(second.read_bytes() + b"tensors")
    other = safetensors(tmp_path / "c", {"a": ("F16", [2])})
    assert told(first).digest == told(second).digest != told(other).digest
    assert told(first).size != told(second).size


def test_tensors_of_a_large_file_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = safetensors(tmp_path / "m", {"a": ("BF16", [2])})
    os.truncate(path, 40 << 30)
    pieces: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, count, at: pieces.append(count) or pread(fd, count, at))
    assert told(path).size == 40 << 30
    assert sum(pieces) <= 2 * weights.PIECE


def test_a_file_that_stays_the_same_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, host = safetensors(tmp_path / "m", {"a": ("BF16", [2])}), Host()
    first = host.weights(str(path))
    monkeypatch.setattr(os, "pread", lambda *_: pytest.fail("read again"))
    assert host.weights(str(path)) is first


BROKEN: Mapping[str, bytes] = {
    "empty": b"",
    "short": b"GG",
    "text": b"import torch\n" * 9,
    "longer than the file": struct.pack("<Q", 1 << 40) + b"{}",
    "no JSON": struct.pack("<Q", 4) + b"{]]]",
    "no object": struct.pack("<Q", 2) + b"[]",
    "other shapes": struct.pack("<Q", 24) + b'{"a":{"shape":"a lot!"}}',
    "version 1": b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
    "keys without end": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
    "a string without end": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62),
    "an array of arrays": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1 << 20),
    "an array without end": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 0, 1 << 62),
    "dimensions without end": b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + text("t") + struct.pack("<I", 1 << 31),
    "deep": struct.pack("<Q", 100_006) + b'{"a":' + b"[" * 100_000 + b"}",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_header_is_failed(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m"
    path.write_bytes(data)
    assert Host().weights(str(path)) == Gap("failed")


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert Host().weights(str(tmp_path / "fifo")) == Gap("unsupported")
    assert Host().weights(str(tmp_path / "none")) == Gap("absent")


def test_a_recording_holds_what_was_told(tmp_path: Path) -> None:
    from fingerprint.testing import Recorder, Replay, load, save

    path = str(safetensors(tmp_path / "m", {"a": ("BF16", [2])}))
    recorder = Recorder(Host())
    expected: Any = recorder.weights(path)
    save(recorder.answers, tmp_path / "recording")
    assert Replay(load(tmp_path / "recording")).weights(path) == expected
