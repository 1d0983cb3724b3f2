"""Reads what hyperfine writes with --export-json (seen: 1.15; 1.19 adds memory_usage_byte).

`times` are the wall times of the single starts in s, without the shell's; `user` and `system` are means of all
starts. The file tells neither hyperfine's version nor its warm-ups.
https://github.com/sharkdp/hyperfine#json
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fingerprint.metrics.found import Found, folded
from fingerprint.metrics.metric import Metric, Summary
from fingerprint.metrics.values import condensed, sample, samples

CLIENT = "hyperfine"


class Result(msgspec.Struct, frozen=True):
    command: str
    mean: float
    stddev: float | None = None
    median: float | None = None
    user: float | None = None
    system: float | None = None
    min: float | None = None
    max: float | None = None
    times: tuple[float, ...] | None = None
    memory_usage_byte: tuple[float, ...] | None = None
    exit_codes: tuple[int | None, ...] | None = None
    parameters: Mapping[str, str] = {}

    @property
    def failed(self) -> int | None:
        """Starts that ended otherwise than by exit 0; None where it is not told."""
        return None if self.exit_codes is None else sum(code != 0 for code in self.exit_codes)


class Export(msgspec.Struct, frozen=True):
    results: tuple[Result, ...]


def recognises(document: Any) -> bool:
    results = document.get("results") if isinstance(document, dict) else None
    return (
        isinstance(results, list)
        and results != []
        and all(isinstance(result, dict) and {"command", "mean", "min", "max"} <= result.keys() for result in results)
    )


def read(document: Any) -> Found:
    results = _named(msgspec.convert(document, Export).results)
    metrics = tuple(metric for name, result in results.items() for metric in _metrics(name, result))
    failed = tuple(
        f"{result.failed} of {len(result.exit_codes or ())} starts of '{name}' did not exit with 0"
        for name, result in results.items()
        if result.failed
    )
    workload = folded(CLIENT, {name: _asked(result) for name, result in results.items()}) if results else {}
    return Found(metrics, workload, failed)


def _named(results: Sequence[Result]) -> dict[str, Result]:
    """By command; one that was measured twice is told apart by `#2`."""
    named: dict[str, Result] = {}
    for result in results:
        same = sum(other.command == result.command for other in named.values())
        named[f"{result.command}#{same + 1}" if same else result.command] = result
    return named


def _metrics(name: str, result: Result) -> Iterator[Metric]:
    yield _wall(name, result)
    for part in ("user", "system"):
        mean = getattr(result, part)
        if mean is not None:
            mean = sample(mean, f"{name}: {part}", "s")
            told = Summary(count=len(result.times or ()), mean=mean)
            yield Metric(
                f"{name}/{part}", "s", "lower", source=f"{CLIENT}, mean {part} time", kind="summary", summary=told
            )
    if result.memory_usage_byte:
        used = samples(result.memory_usage_byte, f"{name}: memory_usage_byte", "B")
        yield condensed(
            Metric(
                f"{name}/peak_memory", "B", "lower", used, f"{CLIENT}, memory_usage_byte",
                peak=True, processes=(1,) * len(used),
            )
        )  # fmt: skip
    if result.failed is not None:
        yield Metric(f"{name}/failed", "", "lower", (float(result.failed),), source=f"{CLIENT}, exit_codes")


def _wall(name: str, result: Result) -> Metric:
    if result.times:
        times = samples(result.times, f"{name}: times", "s")
        return condensed(
            Metric(name, "s", "lower", times, f"{CLIENT}, wall time of each start", processes=(1,) * len(times))
        )
    told = {key: getattr(result, key) for key in ("mean", "stddev", "median", "min", "max")}
    told = {key: sample(value, f"{name}: {key}", "s") for key, value in told.items() if value is not None}
    summary = Summary(**{"stdev" if key == "stddev" else key: value for key, value in told.items()})
    return Metric(name, "s", "lower", source=f"{CLIENT}, wall times' summary", kind="summary", summary=summary)


def _asked(result: Result) -> dict[str, Any]:
    return {f"parameter/{name}": value for name, value in result.parameters.items()}
