"""Which files of a folder hold a model's tensors, by their names."""

import posixpath
import re
from collections.abc import Sequence

from probes.kit.facts import Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

FORMATS = ("safetensors", "gguf", "bin", "pt", "pth", "engine")
"""By ending, the first of which there are files: beside safetensors others are what a download left over."""
_SHARD = lazy_regex(r"(?P<stem>.*-)\d{5}(?P<of>-of-\d{5}\.gguf)")


def weights_among(names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Their format and names; both empty where there are none."""
    for ending in FORMATS:
        if found := tuple(name for name in names if name.endswith(f".{ending}")):
            return ending, found
    return "", ()


def shards(files: Host, path: str) -> Seen[tuple[str, ...]]:
    """Names of the file itself; of one that is split (`-00001-of-00003.gguf`) of all."""
    folder, name = posixpath.split(path)
    match = _SHARD.fullmatch(name)
    if match is None:
        return (name,)
    form = re.compile(re.escape(match["stem"]) + r"\d{5}" + re.escape(match["of"]))
    return then(files.names(folder), lambda found: tuple(one for one in found if form.fullmatch(one)))
