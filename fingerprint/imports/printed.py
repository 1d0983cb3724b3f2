"""Values as nvidia-smi prints them: with their unit, in its words, or with NVML's error in their place."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from probes.kit.facts import Gap, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.nvml.errors import EXPECTED, GAPS
from probes.kit.parse import cpu_list

Decoder = Callable[[str], Any]
"""Raises ValueError for a text that is not of its form."""

ERRORS: Mapping[str, int] = {
    "uninitialized": 1, "invalid argument": 2, "not supported": 3, "insufficient permissions": 4,
    "already initialized": 5, "not found": 6, "insufficient size": 7, "insufficient external power": 8,
    "driver not loaded": 9, "timeout": 10, "interrupt request issue": 11, "nvml shared library not found": 12,
    "function not found": 13, "corrupted inforom": 14, "gpu is lost": 15, "gpu requires reset": 16,
    "the operating system has blocked the request.": 17, "rm has detected an nvml/rm version mismatch.": 18,
    "insufficient memory": 20, "requested functionality has been deprecated": 26, "unknown error": 999, "err!": 999,
}  # fmt: skip
"""What nvmlErrorString says -> nvmlReturn_t."""

KINDS = {"compute": "C", "graphics": "G", "mps": "M"}
LONGEST_LIST = 1 << 16
NOTHING = ("", "n/a")
_MARK = lazy_regex(r"\s*\[deprecated\b[^]]*\]", re.IGNORECASE)  # R610: `610.57.04 [Deprecated; will be removed in ...]`


def told(printed: str, element: str) -> Seen[str]:
    """The text of a value; the gap that NVML itself would have given where there is none."""
    text = _MARK.sub("", printed).strip()
    if not text and printed.strip():
        return Gap("retired")
    text = text[1:-1].strip() if text[:1] == "[" and text[-1:] == "]" else text
    if text.casefold() in NOTHING:
        return Gap("unsupported")
    error = ERRORS.get(text.casefold())
    return text if error is None else _gap(GAPS[error], f"{element}: {text}")


def _gap(code: Any, words: str) -> Gap:
    return Gap(code) if code in EXPECTED else Gap(code, words)


def number(unit: str = "", times: int = 1) -> Decoder:
    """Reads `1980 MHz`, `16x`, `5952 bank(s)`; `times` turns the printed unit into the fact's."""
    form = re.compile(rf"(-?\d+(?:\.\d+)?)\s*{re.escape(unit)}")

    def read(text: str) -> int:
        found = form.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no number{unit and f' of {unit}'}")
        return round(Decimal(found[1]) * times)

    return read


def word(text: str) -> str:
    """`Exclusive_Process`, `Non SR-IOV`: exclusive_process, non_sriov."""
    return text.lower().replace("-", "").replace(" ", "_")


def worded(**others: Any) -> Decoder:
    """As `word`; by `others` where nvml.h has another word, or a number."""
    return lambda text: others.get(word(text), word(text))


def one_of(**values: Any) -> Decoder:
    """By `values` alone."""

    def read(text: str) -> Any:
        if word(text) not in values:
            raise ValueError(f"{text!r} is none of {', '.join(values)}")
        return values[word(text)]

    return read


def names(text: str) -> tuple[str, ...]:
    """`Max-Q, Compute`."""
    return tuple(word(part.strip()) for part in text.split(","))


def atomics(text: str) -> tuple[str, ...]:
    """`FETCHADD_32 SWAP_64`, as nvml.h calls them."""
    return tuple(text.lower().replace("_", "").split())


def kinds(text: str) -> str:
    """`C+G`, of a process that computes and draws; `M+C` computes through MPS."""
    printed = text.split("+")
    return "+".join(kind for kind, letter in KINDS.items() if letter in printed)


def pci_id(text: str) -> str:
    """`233010DE`, or `0x233010DE`: device and vendor."""
    return f"0x{int(text, 16):08x}"


def cpus_in(text: str) -> frozenset[int]:
    """A list of CPUs or nodes, of numbers that there are."""
    if len(text) > LONGEST_LIST or re.search(r"\d{6}", text):
        raise ValueError(f"no list of CPUs: {text[:40]!r}")
    return cpu_list(text)
