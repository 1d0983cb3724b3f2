"""What an exit status tells of its cause: what a shell or the kernel leaves, and no program of its own."""

from collections.abc import Mapping, Sequence

from fingerprint.explain.contract import MetricChange
from fingerprint.explain.mechanisms.graph import Resource, Rule
from fingerprint.explain.metrics import EXIT_STATUS
from probes.kit.paths import FactPath, parse_glob

_BY_SIGNAL = 128
KILLED = _BY_SIGNAL + 9
"""By SIGKILL, as the kernel does where memory ran out."""
_OF_MEMORY: frozenset[Resource] = frozenset(("host memory",))
_DAEMONS = ("platform/daemons/**",)
_NATIVE = ("process/*/env/LD_*", "mapped/*/libraries/**", "mapped/*/preloaded/**", "process/*/program/sha256")
_TO_BE_RUN = (
    "process/*/activation/**", "process/*/program/**", "process/*/interpreter/**", "process/*/cwd", "process/*/uid",
    "process/*/gid",
)  # fmt: skip
_LEFT_BY: Mapping[int, Sequence[str]] = {
    126: _TO_BE_RUN,
    127: _TO_BE_RUN,
    _BY_SIGNAL + 4: _NATIVE,
    _BY_SIGNAL + 6: _NATIVE,
    _BY_SIGNAL + 7: _NATIVE,
    KILLED: _DAEMONS,
    _BY_SIGNAL + 11: _NATIVE,
    _BY_SIGNAL + 15: _DAEMONS,
}
"""A command that cannot be run or found; SIGILL, SIGABRT, SIGBUS, SIGSEGV, which native code meets; SIGKILL and
SIGTERM, which others send: killers before memory runs out, supervisors."""


def was_killed(metric: MetricChange | None) -> bool:
    return KILLED in _statuses(metric)


def could_not_run(metric: MetricChange | None) -> bool:
    return bool(_statuses(metric) & {126, 127})


def is_told_by(path: FactPath, rules: Sequence[Rule], metric: MetricChange | None) -> bool:
    statuses = _statuses(metric)
    if KILLED in statuses and rules and _OF_MEMORY & {*rules[0].moves}:
        return True
    globs = [glob for status in statuses for glob in _LEFT_BY.get(int(status), ())]
    return any(parse_glob(glob).matches(path) for glob in globs)


def _statuses(metric: MetricChange | None) -> frozenset[float]:
    """Those that either run left; none where it is another number that is to be explained."""
    sides = (metric.a, metric.b) if metric is not None and metric.name == EXIT_STATUS else ()
    return frozenset(side.median for side in sides if side is not None)
