"""One GPU, and how its facts ask about it: a fact's source is the question.

    nvmlDeviceGetName                      what the getter answers
    nvmlDeviceGetClockInfo(1)              with an argument after the handle
    nvmlDeviceGetMemoryInfo.total          one member of a struct that it answers
    nvmlDeviceGetEccMode.0                 one of several values that it answers
    NVML_FI_DEV_POWER_CURRENT_LIMIT        a field, of nvmlDeviceGetFieldValues
    NVML_FI_DEV_POWER_CURRENT_LIMIT(1)     a field of another scope

`read_each(SomeSection, device.answer)` reads all of a section's facts by their sources.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from probes.gpu.fields import FIELD_IDS
from probes.kit.facts import NOT_READ, Gap, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.nvml.inquiry import FIELDS

Words = Mapping[int, str]

ENABLED: Words = {0: "disabled", 1: "enabled"}  # nvmlEnableState_t
UNSUPPORTED = Gap("unsupported")
_SOURCE = lazy_regex(r"(?P<name>\w+)(?:\((?P<args>[^)]*)\))?(?:\.(?P<member>\w+))?")
_NO_VALUE = frozenset((0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF))  # NVML_VALUE_NOT_AVAILABLE: all ones
_NO_TEXT = frozenset(("", "N/A", "[N/A]", "Unknown"))


class Device(NamedTuple):
    """A GPU by its PCI address, in the kernel's form: `0000:17:00.0`."""

    host: Host
    key: str

    def answer(self, source: str) -> Seen[Any]:
        """What NVML answers to a fact's source. All ones, and texts like `N/A`, are `unsupported`.

        NOT_READY, which drivers answer for some time after boot and reset, is `settling` (kit/nvml/errors.py).
        """
        call, member = _question(source)
        found = self.host.nvml(self.key, call)
        if isinstance(found, Gap):
            return NOT_READ if found == NOT_READ else found  # as nobody writes it: a sample asks little
        return then(found, lambda whole: told_of(_member(whole, member))) if member else told_of(found)

    def word(self, source: str, words: Words) -> Seen[str]:
        """An enumerator by its word; one that nvml.h did not have yet is `unknown (17)`."""
        return then(self.answer(source), lambda number: words.get(int(number), f"unknown ({number})"))

    def first(self, *sources: str) -> Seen[Any]:
        """The first that is answered; the gap of the first where none is."""
        answers = [self.answer(source) for source in sources]
        return next((answer for answer in answers if not isinstance(answer, Gap)), answers[0])


@cache
def _question(source: str) -> tuple[str, str]:
    """The key of the call, as a recording has it, and the member of its answer."""
    asked = _SOURCE.fullmatch(source)
    if asked is None:
        raise ValueError(f"no question for NVML: {source!r}")
    name, args, member = asked["name"], asked["args"], asked["member"] or ""
    if name in FIELD_IDS:
        name, args = FIELDS, f"{FIELD_IDS[name]},{args}" if args not in (None, "", "0") else str(FIELD_IDS[name])
    return f"{name}({args})" if args else name, member


def _member(whole: Any, member: str) -> Any:
    if isinstance(whole, dict):
        return whole.get(member, UNSUPPORTED)  # a struct's older version has fewer members
    if isinstance(whole, (list, tuple)):
        return whole[int(member)]
    raise ValueError(f"no {member} in {whole!r}")


def told_of(value: Any) -> Seen[Any]:
    """The value, or `unsupported` for what stands where there is none."""
    if isinstance(value, Gap):
        return value
    nothing = value in _NO_TEXT if isinstance(value, str) else isinstance(value, int) and value in _NO_VALUE
    return UNSUPPORTED if nothing else value
