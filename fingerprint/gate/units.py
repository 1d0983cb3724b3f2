"""Units that a person may write in a policy, in terms of those that facts have."""

from collections.abc import Mapping
from fractions import Fraction

_BYTES = {"B": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1 << 10}
_FAMILIES: tuple[Mapping[str, int | Fraction], ...] = (
    {"uW": 1, "mW": 1000, "W": 10**6, "kW": 10**9},
    {"Hz": 1, "kHz": 1000, "MHz": 10**6, "GHz": 10**9},
    {**_BYTES, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    {"ns": 1, "us": 1000, "ms": 10**6, "1/100 s": 10**7, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9},
    {"mJ": 1, "J": 1000, "kJ": 10**6},
    {"MT/s": 1, "GT/s": 1000},
    {"B/s": 1, "MB/s": 10**6, "MiB/s": 1 << 20, "GB/s": 10**9, "GiB/s": 1 << 30},
    {"1/100 %": 1, "%": 100},
    {"1/1000 of a CPU": 1, "CPUs": 1000},
)
"""What is one thing in several sizes. kB is the kernel's, 1024 bytes, as in /proc/meminfo."""


def factor(unit: str, of: str) -> Fraction | None:
    """How many of a fact's unit one of `unit` is; None where they do not measure the same."""
    if unit == of:
        return Fraction(1)
    family = next((family for family in _FAMILIES if unit in family and of in family), None)
    return Fraction(family[unit]) / Fraction(family[of]) if family else None


def instead(of: str) -> tuple[str, ...]:
    """The units in which a fact's can be written, its own first."""
    return next(((of, *(unit for unit in family if unit != of)) for family in _FAMILIES if of in family), (of,))


def must_be_said(of: str) -> bool:
    """Whether a bare number could be meant in another size: 600 of a fact in mW is taken for W by who writes it."""
    return len(instead(of)) > 1 and of not in ("%", "CPUs")
