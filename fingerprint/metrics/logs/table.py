"""The readings of a log: those that may be compared, as metrics."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isfinite, isnan
from typing import NamedTuple

from fingerprint.metrics.logs.lines import number_of
from fingerprint.metrics.metric import Better, Metric
from fingerprint.metrics.values import condensed

LIMIT = 1 << 13  # rows that are held
_SIZES = (1, 2, 3, 4, *(size << doubled for doubled in range(1, 24) for size in (3, 4)))

NO_NUMBER = (
    "where the log tells of it, or of what it is reckoned from, stands no number of 0 or more (but nan, inf, -1), "
    "or a 0 that it cannot be"
)


@lru_cache(maxsize=1024)
def size_class(requests: int) -> int:
    """How many streams a batch stands for: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24 ..., the next that is no less.

    A step costs about the same for 13 requests as for 16, and of a busy server the number is never the same twice.
    """
    return _SIZES[min(bisect_left(_SIZES, requests), len(_SIZES) - 1)] if requests else 0


@lru_cache(maxsize=1024)
def running_of(digits: bytes) -> tuple[float, int]:
    """How many requests a log says that run, and their `size_class`: the same few come a million times.

    0 of what is no number.
    """
    requests = number_of(digits)
    return (requests, size_class(int(requests))) if isfinite(requests) else (0.0, 0)


def requests_in_words(streams: int) -> str:
    """Of a `size_class`."""
    return f"{streams} request{'s' * (streams > 1)}" if streams < 5 else f"up to {streams} requests"


class Column(NamedTuple):
    """A metric that rows may have a value for."""

    name: str
    unit: str
    better: Better


PER_STREAM = Column("throughput_per_stream", "tok/s", "higher")
"""What each of several requests at once got: of one alone it is the throughput."""


def per_stream(throughput: float | None, requests: float) -> float | None:
    """Of one reading: both differ from line to line."""
    return throughput / requests if throughput and requests > 1 else None


class Row(NamedTuple):
    number: int
    values: dict[str, float]


class Table:
    """Rows by how many streams they are of. Of more than LIMIT each second is kept, then each fourth, and so on."""

    def __init__(self) -> None:
        self.counted: Counter[int] = Counter()
        self.stride = 1
        self._rows: defaultdict[int, list[Row]] = defaultdict(list)
        self._held = 0

    def wants(self, streams: int, number: int) -> bool:
        """Counts a row; whether its values are to be kept. number: it is the how many-th of its rank."""
        self.counted[streams] += 1
        return number % self.stride == 0

    def add(self, streams: int, number: int, values: Mapping[str, float | None]) -> dict[str, float]:
        """A row that was wanted; what is returned may still be added to."""
        known = {name: value for name, value in values.items() if value is not None}
        self._rows[streams].append(Row(number, known))
        self._held += 1
        if self._held > LIMIT:
            self._thin()
        return known

    def _thin(self) -> None:
        self.stride *= 2
        for streams, rows in self._rows.items():
            self._rows[streams] = [row for row in rows if row.number % self.stride == 0]
        self._held = sum(map(len, self._rows.values()))

    @property
    def kept(self) -> str:
        """What a sentence on how many readings count ends with."""
        return f"; one in {self.stride} of them is kept" if self.stride > 1 else ""

    @property
    def streams(self) -> int:
        """Which most rows are of; 0 where there are none."""
        return max(self.counted, key=lambda streams: (self.counted[streams], -streams), default=0)

    def metrics(self, columns: Iterable[Column], source: str) -> Iterator[Metric]:
        """Of the rows of `streams`: the columns that they have values for, and a gap where none can be read."""
        rows = self._rows.get(self.streams, [])
        for column in columns:
            told = [row.values[column.name] for row in rows if column.name in row.values]
            values = tuple(value for value in told if not isnan(value))
            if values:
                yield condensed(Metric(column.name, column.unit, column.better, values, source, kind="series"))
            elif told:
                yield Metric(column.name, column.unit, column.better, gap=NO_NUMBER)
