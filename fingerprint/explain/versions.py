"""What weighs of a version that differs: whether the worse run has the later one, and both are of one branch."""

import re
from collections.abc import Mapping

from fingerprint.diff.changes import Folded
from fingerprint.explain.contract import MetricChange
from fingerprint.explain.stream import release

PATCH = -0.1
"""Of a driver or kernel of the same branch: what breaks or moves much comes with another one."""
NEWER_IS_WORSE, NEWER_IS_BETTER = 0.03, -0.05
"""Of a package whose later release the worse run has, or the better one: of 31 confirmed incidents of such upgrades 26
were for the worse."""
_BRANCHES: Mapping[str, int] = {
    "driver/module/version": 1, "driver/nvml/driver_version": 1, "driver/nvml/cuda_version": 1, "kernel/release": 2,
}  # fmt: skip
"""How many of the first numbers of a version tell its branch; of one flavour, which the letters tell. All of CUDA 12
runs what was built for any of it (minor version compatibility)."""
_LETTERS = re.compile(r"[a-z]+")
_BUILD = re.compile(r"-(\d+)\.(?:.*\bel\d|[\d.]+-default)")
"""Of Red Hat's kernels and SUSE's, whose first numbers stay for years: another one in each minor release."""


def is_patch(change: Folded) -> bool:
    told = _BRANCHES.get(change.text)
    sides = (change.first.before, change.first.after)
    return told is not None and all(map(release, sides)) and len({_branch(str(side), told) for side in sides}) == 1


def _branch(version: str, told: int) -> tuple[object, ...]:
    build = _BUILD.search(version)
    return (*release(version), *(0,) * told)[:told], build and build[1], *_LETTERS.findall(version)


def newer(change: Folded, metric: MetricChange | None) -> float:
    """Whether the worse run has the later release, or the better one."""
    path, (before, after) = change.first.path, map(release, (change.first.before, change.first.after))
    is_library = path[0] in ("libraries", "mapped") and path[-1] == "version"
    if not is_library or not before or not after or before == after:
        return 0.0
    if metric is None or metric.verdict not in ("worse", "better"):
        return 0.0
    return NEWER_IS_WORSE if (after > before) is (metric.verdict == "worse") else NEWER_IS_BETTER
