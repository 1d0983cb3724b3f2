"""What `breakeven` answers, for a person, made from its document (`fingerprint.breakeven/1`) alone."""

from collections.abc import Mapping
from typing import Any

from fingerprint.report.layout import printed, said


def render(document: Mapping[str, Any], *, width: int = 80, color: bool = False) -> str:
    """The answer first, then what of the cycle is not accounted for, and what cannot be true."""
    first, *others = document["says"]
    return printed([said(first, "bold"), *map(said, others)], width=width, color=color)
