"""Sections some of whose facts are enumerators: read by their sources, told by their words."""

from collections.abc import Mapping
from typing import Any, TypeVar

from probes.gpu.asking import Device, Words
from probes.kit.facts import Section
from probes.kit.knobs import read_each

S = TypeVar("S", bound=Section)

YES: Words = {0: "no", 1: "yes"}


def read_worded(section: type[S], device: Device, words: Mapping[str, Words], **others: Any) -> S:
    """Each fact as NVML answers its source; those in `words` by word. `others` are given as they are."""
    told = {name: device.word(section.__facts__[name].source, choice) for name, choice in words.items()}
    return read_each(section, device.answer, **told, **others)
