"""Why a changed state can have moved a number: the mechanism graph, one file a theme."""

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from importlib import import_module
from operator import itemgetter
from typing import get_args

from fingerprint.explain.mechanisms.graph import SERVES, Phase, Resource, Rule
from probes.kit.paths import FactPath, parse_glob, parse_path

THEMES: Mapping[str, str] = {
    "gpu_power": "gpu",
    "gpu_clocks": "gpu",
    "gpu_thermal": "gpu",
    "gpu_unit": "gpu",
    "gpu_memory": "gpu",
    "gpu_division": "driver gpu process",
    "gpu_modes": "driver gpu",
    "gpu_links": "driver gpu",
    "pcie": "pcie",
    "iommu": "pcie",
    "driver": "driver gpu",
    "driver_options": "driver",
    "driver_errors": "driver",
    "cpu_clock": "cpu",
    "cpu_time": "cpu process usage",
    "host_memory": "memory process usage",
    "huge_pages": "memory process",
    "numa": "kernel numa",
    "scheduler": "kernel",
    "isolation": "kernel",
    "timekeeping": "kernel",
    "kernel_code": "kernel",
    "boot_line": "kernel",
    "boot_memory": "kernel",
    "boot_devices": "kernel",
    "modules": "kernel",
    "gpu_module_parameters": "kernel",
    "device_parameters": "kernel",
    "kernel_watching": "kernel",
    "kernel_limits": "kernel",
    "kernel_trouble": "kernel",
    "network_stack": "kernel",
    "interfaces": "network",
    "rdma": "network",
    "program": "process",
    "server_flags": "process",
    "host_flags": "process",
    "serving_flags": "process",
    "placement_flags": "process",
    "training_flags": "process",
    "image_flags": "process",
    "transfer_flags": "process",
    "packages": "libraries",
    "libraries": "libraries",
    "mapped": "mapped",
    "model_files": "model",
    "engine_answers": "engine",
    "storage": "block storage",
    "compile_caches": "storage",
    "container": "container usage",
    "cuda_install": "platform",
    "platform": "platform",
    "thread_variables": "process",
    "cuda_variables": "process",
    "gpu_grant_variables": "process",
    "amd_variables": "process",
    "collective_variables": "nccl process",
    "nccl_network_variables": "nccl process",
    "fabric_variables": "nccl process",
    "nccl_configuration": "nccl",
    "framework_variables": "process",
    "engine_variables": "process",
    "engine_kernel_variables": "process",
    "engine_serving_variables": "process",
    "engine_exchange_variables": "process",
    "llama_variables": "process",
    "host_variables": "process",
    "variables": "process",
}
"""Modules of this package, each with its `RULES`, told and listed in this order; and the areas that these see."""

ANY_NAME, ANY_NUMBER = 3, 4
BREAKS = "it ends runs"
_MEMORY: frozenset[Resource] = frozenset(("gpu memory", "host memory"))
_Shelf = tuple[str, ...]


@lru_cache(maxsize=1)
def themes() -> Mapping[str, tuple[Rule, ...]]:
    """The first line of each theme's module, and its rules."""
    return {_title(name): _rules(name) for name in THEMES}


def _rules(theme: str) -> tuple[Rule, ...]:
    found: tuple[Rule, ...] = import_module(f"{__name__}.{theme}").RULES
    return found


def _title(name: str) -> str:
    module = import_module(f"{__name__}.{name}")
    return (module.__doc__ or name).strip().partition("\n")[0].rstrip(".")


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """Every rule, by theme, in declared order."""
    return tuple(rule for declared in themes().values() for rule in declared)


def rule(name: str) -> Rule:
    """Raises LookupError where no rule has this name. Who has it from a fact needs no further theme imported."""
    return next((rule for rule in _imported() if rule.name == name), None) or _by_name()[name]


def _imported() -> Iterator[Rule]:
    for theme in THEMES:
        if f"{__name__}.{theme}" in sys.modules:
            yield from _rules(theme)


@lru_cache(maxsize=1)
def _by_name() -> Mapping[str, Rule]:
    return {rule.name: rule for rule in rules()}


@lru_cache(maxsize=4096)
def rules_of(path: FactPath) -> tuple[Rule, ...]:
    """The rules that see the fact, those with the most specific globs first. One that leaves a name open, or sees those
    that begin alike, is about those that no other rule knows better."""
    shelved = _shelved(path[0])
    near = (one for shelf in _shelves(path) for one in shelved.get(shelf, ()))
    seeing = [(_breadth(glob), rule.name, rule) for glob, rule in near if parse_glob(glob).matches(path)]
    kept = (one for one in seeing if not any(_knows_better(other[0][0], one[0][0]) for other in seeing))
    return tuple({name: rule for _, name, rule in sorted(kept, key=itemgetter(0, 1))}.values())


def _knows_better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Of two globs' breadths: whether they are alike but for one name, which this one tells more of."""
    unlike = [(ours, theirs) for ours, theirs in zip(one, other, strict=False) if ours != theirs]
    return len(one) == len(other) and len(unlike) == 1 and unlike[0][0] < unlike[0][1] < ANY_NUMBER


def rules_below(path: FactPath) -> tuple[Rule, ...]:
    """The rules that see some fact below it: of a whole section or item."""
    return tuple(rule for rule in _rules_of_area(path[0]) if any(_lies_below(glob, path) for glob in rule.sees))


def _rules_of_area(area: str) -> Iterator[Rule]:
    """Themes of other areas are not imported."""
    return (rule for theme, areas in THEMES.items() if area in areas.split() for rule in _rules(theme))


def _lies_below(glob: str, path: FactPath) -> bool:
    parts = glob.split("/")
    return len(parts) > len(path) and parse_glob("/".join(parts[: len(path)])).matches(path)


@cache
def _shelved(area: str) -> Mapping[_Shelf, list[tuple[str, Rule]]]:
    """Each glob of each rule that sees the area, where `_shelves` of any path that it matches looks: by area, depth
    and last name."""
    shelved: dict[_Shelf, list[tuple[str, Rule]]] = {}
    for rule in _rules_of_area(area):
        for glob in rule.sees:
            shelved.setdefault(_shelf(glob), []).append((glob, rule))
    return shelved


def _shelf(glob: str) -> _Shelf:
    parts = glob.split("/")
    if "**" in parts:
        return (parts[0],)
    return (parts[0], str(len(parts)), "*" if "*" in parts[-1] else parse_path(parts[-1])[0])


def _shelves(path: FactPath) -> Set[_Shelf]:
    return {(path[0],), (path[0], str(len(path)), "*"), (path[0], str(len(path)), path[-1])}


def _breadth(glob: str) -> tuple[tuple[float, ...], int]:
    """Less is more specific, from the first name on: a name, its beginning or end, a part of it, any name, any number
    of them; of two beginnings the longer one."""
    parts = glob.split("/")
    return tuple(map(_breadth_of_part, parts)), -len(glob.replace("*", ""))


def _breadth_of_part(part: str) -> float:
    if part in ("*", "**"):
        return ANY_NAME if part == "*" else ANY_NUMBER
    return (2 if part[0] == part[-1] == "*" else 1) + 1 / len(part) if "*" in part else 0


@cache
def phases_of(rule: Rule) -> Mapping[Phase, str]:
    """The phases that the rule reaches, and why each waits for what it moves."""
    reached = {phase: _reasons(rule, phase) for phase in _within(rule)}
    found: dict[Phase, str] = {phase: "; ".join(reasons) for phase, reasons in reached.items() if reasons}
    return {**found, "completion": f"{BREAKS}, {rule.breaks}"} if rule.breaks != "never" else found


def _within(rule: Rule) -> Sequence[Phase]:
    """How much memory is taken follows from what moves memory, whichever times do."""
    if not rule.phases:
        return get_args(Phase)
    return (*rule.phases, "memory use") if _MEMORY & {*rule.moves} else rule.phases


def _reasons(rule: Rule, phase: Phase) -> list[str]:
    served = ((resource, SERVES[resource].get(phase)) for resource in rule.moves)
    return [f"{resource}: {why}" for resource, why in served if why]
