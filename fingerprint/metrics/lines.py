"""Metrics that a program gives as JSON, one on each line."""

from collections.abc import Iterator

import msgspec

from fingerprint.metrics.given import given_metric
from fingerprint.metrics.metric import Better, Metric
from fingerprint.trouble import Trouble

EXAMPLE = '{"name": "ttft_ms", "values": [4.1, 4.3], "unit": "ms"}'


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """values: in the order measured. unit, better, series: as the options of `fingerprint metric`."""

    name: str
    values: tuple[float, ...]
    unit: str = ""
    better: Better | None = None
    series: bool = False


def metrics_of_lines(content: bytes, where: str) -> Iterator[Metric | Trouble]:
    """Each, or what is wrong with its line; of none at all that there is none."""
    if not content.strip():
        yield Trouble(f"{where} holds no metric: write one a line, e.g. {EXAMPLE}")
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                yield _metric(line)
            except msgspec.MsgspecError as error:
                yield Trouble(f"{where}:{number} is no metric ({error}): write e.g. {EXAMPLE}")
            except Trouble as trouble:
                yield trouble


def _metric(text: bytes) -> Metric:
    line = msgspec.json.decode(text, type=Line)
    if not line.values:
        raise Trouble(f"{line.name} has no values: a metric has one at least")
    return given_metric(line.name, line.values, line.unit, line.better, "series" if line.series else "repeats")
