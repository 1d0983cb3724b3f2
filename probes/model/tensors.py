"""The files that hold a model's tensors, by their names, sizes and headers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from probes.kit.answers import Stat
from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.host import Host
from probes.kit.shards import weights_among
from probes.kit.weights import Weights as Header
from probes.model.sections import Weights

HEADED = ("safetensors", "gguf")
MOST = 512
_NO_HEADER = Gap("unsupported", "files of this format have no header that tells")


def weights_in(files: Host, folder: str, names: Sequence[str]) -> Weights:
    """Of a folder with files of these names."""
    ending, found = weights_among(names)
    if not found:
        return without_weights(Gap("absent", "the folder holds no weights of a known format"))
    if ending not in HEADED:
        return _of_headers({}, _NO_HEADER, format=ending, count=len(found), bytes=_sizes(files, folder, found))
    return weights_of(files, folder, found)


def weights_of(files: Host, folder: str, names: Sequence[str]) -> Weights:
    """Of these files, each of which has a header."""
    if len(names) > MOST:
        return without_weights(Gap("failed", f"{len(names)} files of weights, of which at most {MOST} are looked at"))
    headers = {name: files.weights(f"{folder}/{name}") for name in names}
    told = {name: header for name, header in headers.items() if not isinstance(header, Gap)}
    gap = next((header for header in headers.values() if isinstance(header, Gap)), _NO_HEADER)
    formats = sorted({header.format for header in told.values()})
    return _of_headers(
        {} if len(told) < len(headers) else told,
        gap,
        format=", ".join(formats) or gap,
        count=len(names),
        bytes=_sizes(files, folder, names),
    )


def without_weights(why: Seen[object]) -> Weights:
    """Each fact with the same gap."""
    facts: dict[str, Any] = dict.fromkeys(Weights.__facts__, why)
    return Weights(**facts)


def _of_headers(headers: Mapping[str, Header], gap: Gap, **told: Any) -> Weights:
    """gap: stands for what headers tell where one of them is missing: a part of a sum is none."""
    if not headers:
        return Weights(parameters=gap, tensors=gap, headers=gap, metadata=gap, **told)
    types: Counter[str] = Counter()
    for header in headers.values():
        types.update(header.types)
    first = headers[min(headers)]
    return Weights(
        parameters=sum(header.parameters for header in headers.values()),
        tensors=Map(dict(sorted(types.items()))),
        headers=_joined(headers),
        metadata=Map(dict(first.metadata)),
        **told,
    )


def _joined(headers: Mapping[str, Header]) -> str:
    import hashlib

    lines = "".join(f"{name} {headers[name].digest}\n" for name in sorted(headers))
    return hashlib.sha256(lines.encode()).hexdigest()


def _sizes(files: Host, folder: str, names: Sequence[str]) -> Seen[int]:
    total = 0
    for name in names:
        size = then(files.stat(f"{folder}/{name}"), _size)
        if isinstance(size, Gap):
            return size
        total += size
    return total


def _size(info: Stat) -> Seen[int]:
    """A device and a FIFO are of 0 bytes, whatever comes out of them."""
    return info.size if info.is_regular else Gap("unsupported", "one of the files of weights is no regular file")
