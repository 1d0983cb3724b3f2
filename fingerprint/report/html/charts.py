"""Pictures of numbers, as SVG that stretches: places are shares of the width, so that text keeps its size."""

from collections.abc import Sequence
from math import exp, floor, log, log10
from statistics import median
from typing import NamedTuple

from fingerprint.explain.contract import MetricChange, Spread
from fingerprint.report.markup import Html, tag
from fingerprint.words import quantity

LANE = 30
QUARTILES_FROM = 8
_TICKS = 4
_HARDLY, _NOTHING = 1e-12, 1e-300
"""As a share of the values, and by itself: apart by less, no scale can be drawn."""


class Axis(NamedTuple):
    """From low to high, linear; a logarithm is the caller's."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """A share of the width, which leaves room for marks at both ends."""
        return f"{4 + 92 * (value - self.low) / (self.high - self.low):.2f}%"


def axis_of(values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    if high - low <= max(_HARDLY * max(abs(low), abs(high)), _NOTHING):
        return Axis(low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
    return Axis(low, high)


def ticks(axis: Axis) -> list[float]:
    """Round numbers within the axis."""
    rough = (axis.high - axis.low) / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough)
    first = -int(-axis.low // step)
    return [float(f"{n * step:.12g}") for n in range(first, first + 12) if n * step <= axis.high]


def strip(metric: MetricChange, names: tuple[str, str]) -> Html | None:
    """Each value that was measured, side below side; None where one side has none."""
    if not (metric.a and metric.b and metric.a.each and metric.b.each):
        return None
    axis = axis_of([*metric.a.each, *metric.b.each])
    better = "" if metric.better == "unknown" else f", {metric.better} is better"
    lanes = (_lane(mark, name, side, axis, metric.unit)
             for mark, name, side in zip("ab", names, (metric.a, metric.b), strict=True))  # fmt: skip
    caption = tag("figcaption", tag("b", metric.name), f" in {metric.unit or 'its own unit'}{better}")
    return tag("figure", caption, *lanes, _ruler(axis), class_="strip")


def _lane(mark: str, name: str, side: Spread, axis: Axis, unit: str) -> Html:
    said = f"{name}: {len(side.each)} values, {quantity(min(side.each), unit)} to {quantity(max(side.each), unit)}"
    middle = f"median {quantity(side.median, unit)}"
    drawing = tag(
        "svg",
        tag("title", f"{said}, {middle}"),
        _grid(axis),
        _quartiles(side.each, axis) if len(side.each) >= QUARTILES_FROM else None,
        tag("line", x1=axis.at(side.median), x2=axis.at(side.median), y1=3, y2=LANE - 3, class_="median"),
        [_dot(mark, axis.at(value), len(side.each)) for value in side.each],
        role="img", height=LANE, width="100%",
    )  # fmt: skip
    return tag("div", _who(mark, name), drawing, tag("span", quantity(side.median, unit)), class_=f"lane {mark}")


def _who(mark: str, name: str) -> Html:
    return tag("span", tag("b", mark.upper(), class_=f"side {mark}"), " ", name)


def _dot(mark: str, at: str, count: int) -> Html:
    """A circle for A and a diamond for B: they are told apart without colour."""
    size = 4.5 if count <= QUARTILES_FROM else 3
    if mark == "a":
        return tag("circle", cx=at, cy=LANE // 2, r=size)
    diamond = tag("path", d=f"M0-{size + 1}L{size + 1} 0 0 {size + 1}-{size + 1} 0z")
    return tag("svg", diamond, x=at, y=LANE // 2, overflow="visible", width=1, height=1)


def _quartiles(values: Sequence[float], axis: Axis) -> Html:
    ordered = sorted(values)
    half = len(ordered) // 2
    low, high = median(ordered[:half]), median(ordered[-half:])
    return tag("line", x1=axis.at(low), x2=axis.at(high), y1=LANE // 2, y2=LANE // 2, class_="quartiles")


def _grid(axis: Axis) -> list[Html]:
    return [tag("line", x1=axis.at(at), x2=axis.at(at), y1=0, y2=LANE, class_="grid") for at in ticks(axis)]


def _ruler(axis: Axis) -> Html:
    labels = [tag("text", f"{at:g}", x=axis.at(at), y=12, text_anchor="middle") for at in ticks(axis)]
    return tag("div", tag("span"), tag("svg", labels, height=16, width="100%", aria_hidden="true"), tag("span"),
               class_="lane ruler")  # fmt: skip


class Ratios(NamedTuple):
    """The scale on which the ratios of all metrics stand: logarithms, so that x 2 and x 0.5 are as far from 1."""

    axis: Axis

    def drawn(self, metric: MetricChange) -> Html | None:
        """Where B lies against A, and the interval of that where there is one."""
        if not metric.ratio or metric.ratio < 0:
            return None
        at, one = self.axis.at(log(metric.ratio)), self.axis.at(0)
        low, high = (max(end, _LEAST) for end in metric.ci or (metric.ratio, metric.ratio))
        interval = f", 95 % interval {low:.2f} to {high:.2f}" if metric.ci else ""
        return tag(
            "svg",
            tag("title", f"{metric.name}: B is {metric.ratio:.2f} times A{interval}"),
            tag("line", x1=one, x2=one, y1=0, y2=20, class_="one"),
            tag("line", x1=one, x2=at, y1=10, y2=10, class_="away"),
            tag("line", x1=self.axis.at(log(low)), x2=self.axis.at(log(high)), y1=10, y2=10, class_="interval"),
            tag("circle", cx=at, cy=10, r=4),
            role="img", height=20, width="100%", class_=f"ratio {metric.verdict}",
        )  # fmt: skip

    @property
    def ends(self) -> tuple[str, str]:
        return f"{exp(self.axis.low):.2f}", f"{exp(self.axis.high):.2f}"


_LEAST = 1e-6
_NARROWEST = 0.1


def ratios(metrics: Sequence[MetricChange]) -> Ratios:
    """Both sides of 1, as far as the farthest interval; at least 10 %."""
    ends = [end for it in metrics if it.ratio and it.ratio > 0 for end in (it.ratio, *(it.ci or ()))]
    farthest = max([abs(log(max(end, _LEAST))) for end in ends] + [_NARROWEST])
    return Ratios(Axis(-farthest, farthest))


def share(low: float, high: float, whole: float) -> Html:
    """Which part of a change a suspect can explain: a full bar up to `low`, a faint one up to `high`."""
    ends = [f"{100 * min(max(part / whole, 0), 1):.1f}%" for part in (low, high)]
    said = f"{100 * min(high / whole, 1):.0f} % of the change at most"
    bars = [tag("rect", width=end, height=8, class_=kind) for end, kind in zip(ends, ("sure", "most"), strict=True)]
    return tag("svg", tag("title", said), tag("rect", width="100%", height=8, class_="all"), bars[::-1],
               role="img", height=8, width="100%", class_="share")  # fmt: skip
