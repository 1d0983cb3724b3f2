"""What clients print: text in any colours, its tables and its numbers."""

import csv
import re
from collections.abc import Sequence

LONGEST = 16 << 10  # characters of a line
_COLORS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


def printed_text(data: bytes) -> str:
    """Without colours, of a line that was written over only what stood there at last; without lines that are too long
    for a result, and without a last line that has no end, for it may be cut within a number."""
    text = _COLORS.sub("", data.decode("utf-8", "backslashreplace")).replace("\r\n", "\n")
    lines = (line.rpartition("\r")[2] or line for line in text[: text.rfind("\n") + 1].split("\n"))
    return "\n".join(line for line in lines if len(line) <= LONGEST)


def plain(text: str) -> "str | int | float":
    """A number where it is one, `6,740.76` too; else the text itself, which is then refused by name."""
    text = text.strip()
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def fields(line: str) -> Sequence[str]:
    """Of a line of CSV; a field of these has no line's end within."""
    return next(csv.reader([line.strip().replace("\0", "")]), [])


def cells(line: str, bars: str = "|") -> Sequence[str]:
    """Of a row between bars, each without its blanks."""
    inner = line.strip()
    for bar in bars[1:]:
        inner = inner.replace(bar, bars[0])
    return [cell.strip() for cell in inner.strip(bars[0]).split(bars[0])]
