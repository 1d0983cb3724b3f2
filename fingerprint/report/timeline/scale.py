"""Where a time stands in a picture: as long as something runs in proportion, gaps cut short."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from fingerprint.report.timeline.times import seconds
from fingerprint.timeline.contract import Timeline

GAP_SHARE = 6
"""A gap is drawn no longer than this part of the time in which something ran."""


class Gap(NamedTuple):
    """Drawn shorter than it was. left, right: as a share of the width; seconds: how long it was."""

    left: float
    right: float
    seconds: int


class Scale:
    """Times as shares of the width."""

    def __init__(self, points: Sequence[int], running: Sequence[tuple[int, int]]) -> None:
        """points: s since 1970, all that are drawn. running: from when to when something was."""
        self._points = sorted(set(points))
        spans = list(pairwise(self._points))
        ran = [any(begun <= left and right <= ended for begun, ended in running) for left, right in spans]
        whole = [right - left for left, right in spans]
        most = _longest(whole, ran)
        drawn = [span if is_run else min(span, most) for span, is_run in zip(whole, ran, strict=True)]
        total = sum(drawn) or 1
        self._places = [0.0, *(place / total for place in accumulate(drawn))]
        cut = zip(pairwise(self._places), whole, drawn, strict=True)
        self.gaps = [Gap(left, right, span) for (left, right), span, shown in cut if shown < span]

    def at(self, time: int) -> float:
        """Of a time between the first and the last point."""
        if len(self._points) == 1:
            return 0.5
        index = min(max(bisect_right(self._points, time) - 1, 0), len(self._points) - 2)
        left, right = self._points[index : index + 2]
        share = min(max((time - left) / (right - left), 0.0), 1.0)
        return self._places[index] + share * (self._places[index + 1] - self._places[index])


def _longest(whole: Sequence[int], ran: Sequence[bool]) -> float:
    """How long a gap is drawn at most: where nothing ran, as long as they all are on average."""
    if running := sum(span for span, is_run in zip(whole, ran, strict=True) if is_run):
        return max(running / GAP_SHARE, 1)
    return sum(whole) / max(1, len(whole))


def scale_of(timeline: Timeline) -> Scale:
    """Where runs are marked, the others are drawn for what lies beside those."""
    begin, end = seconds(timeline.since), seconds(timeline.until)
    runs = [run for run in timeline.runs if run.mark] or timeline.runs
    running = [(seconds(run.started), seconds(run.ended or timeline.until)) for run in runs]
    moments = [seconds(event.until) for event in timeline.events]
    within = (min(max(at, begin), end) for at in (*(at for span in running for at in span), *moments))
    return Scale([begin, end, *within], running)
