"""One made-up GPU that answers NVML's questions as it is told to, and no others."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from fingerprint.sections import decoder_of
from fingerprint.testing import Replay
from probes.gpu.asking import Device
from probes.kit.facts import Section

GPU = "0000:17:00.0"
S = TypeVar("S", bound=Section)


def gpu(answers: Mapping[str, Any], others: Mapping[tuple[str, str], Any] | None = None, key: str = GPU) -> Device:
    """answers: call -> answer. others: answers to further questions to the host."""
    told = {("nvml", f"{key} {call}"): answer for call, answer in answers.items()}
    return Device(Replay({**told, **(others or {})}), key)


def field(number: int, scope: int = 0) -> str:
    """The key of a field's answer."""
    return f"nvmlDeviceGetFieldValues({number},{scope})" if scope else f"nvmlDeviceGetFieldValues({number})"


def received(section: S) -> S:
    """The section as whoever receives it from the reader decodes it, strictly."""
    return decoder_of(type(section))(msgspec.json.encode(section))
