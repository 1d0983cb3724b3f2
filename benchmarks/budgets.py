"""What fingerprint may cost: each budget, its yardstick and how both are measured."""

import json
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import NamedTuple

from benchmarks import processes, yields
from benchmarks.place import ROOT, Place
from benchmarks.timing import Program, Ratio, UnfitError, amount_of, output, ratio, ratio_of, wall
from tests.nvml.build import compiler, header

SERIES = tuple(ROOT / "examples/story" / f"{name}.json" for name in ("run-A", "run-B"))

POLICY = ROOT / "examples/policies/ci-runner.toml"


class Budget(NamedTuple):
    """limit: the largest ratio (or amount) that is within it, or the least where `at_least`."""

    name: str
    what: str
    yardstick: str
    limit: float
    measure: Callable[[Place], Ratio]
    at_least: bool = False

    def holds(self, measured: Ratio) -> bool:
        return measured.median >= self.limit if self.at_least else measured.median <= self.limit


def _version(place: Place) -> Ratio:
    return ratio(place.fingerprint("--version"), place.python("-c", "import click"), place.pairs)


def _snapshot(place: Place) -> Ratio:
    return ratio(place.fingerprint("snapshot"), place.ceteris("capture"), place.pairs)


def _snapshot_torch(place: Place) -> Ratio:
    if not place.torch:
        raise UnfitError("no Python with torch was named (--torch PYTHON)")
    return ratio(place.fingerprint("snapshot"), place.collect_env(), max(2, place.pairs // 3))


def _yield(place: Place) -> Ratio:
    ours = yields.of_fingerprint(place.fingerprint("snapshot", "--format", "json"))
    return ratio_of([(ours, yields.of_ceteris(place.ceteris("capture")))], "facts")


def _memory(place: Place) -> Ratio:
    program = place.fingerprint("snapshot")
    return amount_of([processes.peak_pss_mb(program) for _ in range(place.pairs)], "MB")


def _execs(place: Place) -> Ratio:
    return amount_of([processes.execs(place.fingerprint("snapshot"))], "programs")


def _run(place: Place) -> Ratio:
    return ratio(place.fingerprint("run", "--", "true"), place.ceteris("run", "--", "true"), place.pairs)


def _large_diff(place: Place) -> Ratio:
    taken = [json.loads(output(place.python("-m", "benchmarks.large_diff"))) for _ in range(max(2, place.pairs // 3))]
    return ratio_of([(pair["ours"] * 1000, pair["deepdiff"] * 1000) for pair in taken], "ms")


def _server_log(name: str, place: Place) -> Ratio:
    program = place.python("-m", "benchmarks.server_log", name)
    taken = [json.loads(output(program)) for _ in range(max(2, place.pairs // 3))]
    return ratio_of([(pair["ours"] * 1000, pair["grep"] * 1000) for pair in taken], "ms")


def _libraries(place: Place) -> Ratio:
    if find_spec("pip") is None:
        raise UnfitError("this environment has no pip")
    taken = json.loads(output(place.python("-m", "benchmarks.libraries", str(place.pairs))))
    return ratio_of([(ours * 1000, pip * 1000) for ours, pip in taken], "ms")


def _year_size(_place: Place) -> Ratio:
    return amount_of([_year()["megabytes"]], "MB")


def _year_speed(_place: Place) -> Ratio:
    year = _year()
    return ratio_of([(year["old"] * 1000, year["young"] * 1000)], "ms")


@cache
def _year() -> dict[str, float]:
    """Generated once, for both."""
    year = Program([sys.executable, "-m", "benchmarks.year"], cwd=str(ROOT))
    taken: dict[str, float] = json.loads(output(year))
    return taken


def _gpu_cpu(place: Place) -> Ratio:
    return _of_gpus(place, 0)


def _gpu_time(place: Place) -> Ratio:
    return _of_gpus(place, 1)


def _of_gpus(place: Place, of: int) -> Ratio:
    """of: 0 for CPU time, 1 for the time on the clock."""
    return ratio_of([(ours[of] * 1000, theirs[of] * 1000) for ours, theirs in _gpu_part(place.pairs)], "ms")


@cache
def _gpu_part(pairs: int) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Measured once, for both."""
    try:
        compiler(), header()
    except LookupError as error:
        raise UnfitError(str(error)) from None
    part = Program([sys.executable, "-m", "benchmarks.gpu_part", str(pairs)], cwd=str(ROOT))
    taken: list[tuple[tuple[float, float], tuple[float, float]]] = json.loads(output(part))
    return taken


def _gate(place: Place) -> Ratio:
    return _gate_of(place)


def _gate_baseline(place: Place) -> Ratio:
    place.two_runs()
    return _gate_of(place, "--baseline", "run-A", "--policy", str(POLICY))


def _gate_of(place: Place, *words: str) -> Ratio:
    """Whatever it says of this host."""
    return ratio(place.fingerprint("gate", *words, statuses=(0, 1, 3)), place.fingerprint("snapshot"), place.pairs)


def _diff(place: Place) -> Ratio:
    place.two_runs()
    return _diff_of(place, "run-A", "run-B")


def _diff_series(place: Place) -> Ratio:
    for side in SERIES:
        wall(place.fingerprint("import", str(side)))
    return _diff_of(place, "run-A", "run-B")


def _diff_files(place: Place) -> Ratio:
    return _diff_of(place, *map(str, SERIES))


def _diff_of(place: Place, a: str, b: str) -> Ratio:
    program = place.fingerprint("diff", a, b, statuses=(0, 1))
    return ratio(program, place.python("-c", "import click"), place.pairs)


# A grep that reads 4 to 5 GB a second of CPU time leaves 100 MB a second at 40 to 50 times its time.
_LOG_LIMITS = {
    "sglang": 45,
    "sglang-decode": 60,
    "sglang-compose": 60,
    "vllm": 60,
    "vllm-drafts": 55,
    "vllm-requests": 22,
    "vllm-compose": 75,
    "llama-cpp": 38,
    "llama-cpp-timings": 55,
    "llama-cpp-compose": 45,
    "tensorrt-llm": 60,
}
_LOGS = tuple(
    Budget(
        f"server-log-{name}",
        f"256 MiB of a server's log: {name}",
        "grep -c of its lines of readings",
        limit,
        partial(_server_log, name),
    )
    for name, limit in _LOG_LIMITS.items()
)
BUDGETS: tuple[Budget, ...] = (
    Budget("version", "`fingerprint --version`", "python -c 'import click'", 2, _version),
    Budget("snapshot", "`fingerprint snapshot`", "ceteris capture", 2.5, _snapshot),
    Budget("snapshot-torch", "`fingerprint snapshot`", "python -m torch.utils.collect_env", 1 / 8, _snapshot_torch),
    Budget("yield", "distinct declared facts with a value", "ceteris capture's", 4, _yield, at_least=True),
    Budget("memory", "peak PSS of all own processes of a snapshot", "", 60, _memory),
    Budget("execs", "programs started by a snapshot, itself included", "", 10, _execs),
    Budget("run", "`fingerprint run -- true`", "ceteris run -- true", 2, _run),
    Budget("gpu-cpu", "GPU part, 8 GPUs, instant NVML: CPU time", "python -I -c 'import pynvml'", 1.6, _gpu_cpu),
    Budget("gpu-time", "the same: time", "python -I -c 'import pynvml'", 3, _gpu_time),
    Budget("large-diff", "two runs of 50,000 facts -> Changes", "DeepDiff on loaded dictionaries", 1 / 20, _large_diff),
    *_LOGS,
    Budget("libraries", "an environment of 500 distributions, read again", "python -m pip list", 1 / 10, _libraries),
    Budget("year-size", "a year of minutely snapshots of this quiet host", "", 200, _year_size),
    Budget("year-speed", "newest, list and diff after that year", "the same after a day", 1.5, _year_speed),
    Budget("gate", "`fingerprint gate`", "`fingerprint snapshot`", 1.6, _gate),
    Budget("gate-baseline", "the same with a baseline and a policy", "`fingerprint snapshot`", 2, _gate_baseline),
    Budget("diff", "`fingerprint diff` of two runs of this host", "python -c 'import click'", 6, _diff),
    Budget(
        "diff-series",
        "the same of two series: 3 runs on 8 GPUs each",
        "python -c 'import click'",
        6,
        _diff_series,
    ),
    Budget("diff-files", "the same, of exported files", "python -c 'import click'", 6, _diff_files),
)
