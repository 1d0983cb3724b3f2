"""Why nothing that is there heeds a state that differs: variables, flags, parameters, modules, files of others."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from fingerprint.diff.changes import Change, Folded
from fingerprint.explain.circumstances import Circumstances
from fingerprint.explain.engines import SERVE
from fingerprint.explain.loaded import not_loaded
from fingerprint.explain.machine import OF_OTHERS
from fingerprint.explain.mechanisms import rules_of
from fingerprint.explain.mechanisms.graph import Reader, Rule
from fingerprint.explain.programs import readers_of
from probes.kit.facts import Gap
from probes.kit.paths import FactPath

_OF_AN_INTERPRETER = "PYTHON"
"""Of variables that an interpreter reads, and no program that none runs."""
_OF_NVIDIA = re.compile(r"(CUDA|NVIDIA|CUDNN|CUBLAS|NVSHMEM)_(?!VISIBLE_DEVICES)")
"""Of variables that no software of other GPUs reads."""
_WHEN_A_CONTAINER_STARTS = re.compile(
    r"NVIDIA_(DRIVER_CAPABILITIES|REQUIRE_.*|DISABLE_REQUIRE|MIG_(CONFIG|MONITOR)_DEVICES|IMEX_CHANNELS|"
    r"GDS|MOFED|GDRCOPY|NVSWITCH|CUDA_END_OF_LIFE)"
)
"""Variables that the container toolkit reads, and no program."""
_MITIGATIONS, _NOT_AFFECTED = ("cpu", "mitigations"), "Not affected"
_PROCESSORS: Mapping[str, tuple[str, ...]] = {"amd_": ("AuthenticAMD", "HygonGenuine"), "intel_": ("GenuineIntel",)}
"""Of parameters of the boot line about processors of one maker."""
_IN_SWITCHES = re.compile(r"NCCL_NVLS_")
_WITHOUT_SUCH_SWITCHES = re.compile(
    r"\b(K\d+|M\d+|P\d+|V100|T4G?|A\d+[A-Z]?|L4|L40S?|GB10|Orin|Thor)\b|GeForce|RTX|GTX|TITAN|Quadro"
)
"""GPUs of before Hopper, and of workstations: whose NVSwitches, if they have any, do not reduce."""
_CALLED: Mapping[str, Reader] = {
    "vllm": "vllm", "sgl-kernel": "sglang", "tensorrt-llm": "tensorrt-llm", "llama-cpp-python": "llama.cpp",
}  # fmt: skip
"""Packages by whose machine code in memory it is told that an engine was called."""
_MADE_FOR = re.compile(r"device_name=([^,.]+)")
"""In the name of a file of tuned kernels."""


def unread(change: Folded, rules: Sequence[Rule], around: Circumstances) -> str:
    """Of one line for several, why nothing heeds any of them.

    rules: by which the line leads to the metric, and of these each has those that see it."""
    if all(map(_costs_nothing, change.changes)):
        return "what is not affected runs no mitigation"
    paths = [one.path for one in change.changes]
    whys = [unread_by(path, [rule for rule in rules_of(path) if rule in rules], around) for path in paths]
    return whys[0] if all(whys) else ""


def _costs_nothing(change: Change) -> bool:
    """A kernel that names a further flaw, which this processor does not have."""
    sides = (change.before, change.after)
    is_named = any(isinstance(side, str) and side.startswith(_NOT_AFFECTED) for side in sides)
    return is_named and change.path[:2] == _MITIGATIONS and all(map(_is_no_mitigation, sides))


def _is_no_mitigation(side: object) -> bool:
    return side.startswith(_NOT_AFFECTED) if isinstance(side, str) else isinstance(side, Gap) and side.code == "absent"


def unread_by(path: FactPath, rules: Sequence[Rule], around: Circumstances) -> str:
    """By the first letters of its name, or the narrowest of its rules; empty where something may heed it. Of the host's
    other states a server may be the user that nobody started."""
    if path[:2] == ("kernel", "cmdline"):
        return _of_other_processors(path[-1], around)
    if path[:2] == ("kernel", "modules"):
        on, is_of_others = around.on, path[2:3] and path[2] in OF_OTHERS
        is_idle = is_of_others and on.gpus and on.products and not on.mixed
        return "the GPUs that were there are of another maker" if is_idle else ""
    if path[0] == "storage" and path[2:3] == ("tuned",) and len(path) > 3:
        return _of_another_engine(path[3], around) or _of_other_gpus(path[-1], around)
    if path[0] == "libraries":
        return "" if _is_used_elsewhere(path, around) else not_loaded(path, around.loaded)
    return _of_other_programs(path, rules, around) if path[0] == "process" else ""


def _is_used_elsewhere(path: FactPath, around: Circumstances) -> bool:
    """Whether it is of the package that ran, whose Python code no machine code tells of; or whether GPUs worked and no
    process that was read opened one: a server that nobody recorded may be of the same environment."""
    ran = {*around.ran.engines, *around.ran.called}
    return around.on.elsewhere or (len(path) > 3 and path[3] in ran)


def _of_other_processors(parameter: str, around: Circumstances) -> str:
    makers = next((makers for start, makers in _PROCESSORS.items() if parameter.startswith(start)), ())
    others = sorted(around.on.cpus) if makers and not around.on.cpus & {*makers} else ()
    return f"it is for processors of {' and '.join(makers)}, and these are of {', '.join(others)}" if others else ""


def _of_another_engine(tuned: str, around: Circumstances) -> str:
    """tuned: ENGINE.KERNEL, or the variable that names the folder. A script may import any engine's kernels."""
    ran, of_any = around.ran, frozenset((tuned.partition(".")[0],))
    engines = (readers_of(tuned) or of_any) & SERVE
    if not engines or not ran.engines or engines & ran.engines or not (ran.engines & SERVE or ran.compiled):
        return ""
    return f"what ran is {_listed(ran.compiled or ran.engines)}, and these are kernels of {_listed(engines)}"


def _of_other_gpus(file: str, around: Circumstances) -> str:
    """Files of an NVIDIA_H200 are for all that is one: NVIDIA_H200_NVL. Of other makers' GPUs no name is known."""
    wanted = _MADE_FOR.search(unquote(file))
    products = around.on.products
    if wanted is None or products is None or (not products and not wanted[1].startswith("NVIDIA")):
        return ""
    if any(_is_one_of(name.replace(" ", "_"), wanted[1]) for name in products):
        return ""
    there = ", ".join(sorted(products)) or "none of NVIDIA's"
    return f"it is for GPUs called {wanted[1].replace('_', ' ')}, and these are {there}"


def _of_other_switches(around: Circumstances) -> str:
    products = around.on.products
    if products is None or around.spans_hosts or not all(map(_WITHOUT_SUCH_SWITCHES.search, products)):
        return ""
    return f"it is for NVSwitches from Hopper's on, and the GPUs are {', '.join(sorted(products)) or 'no NVIDIA ones'}"


def _is_one_of(product: str, wanted: str) -> bool:
    """Or an instance of it under MIG, which has a name of its own."""
    return f"{product}_".startswith(f"{wanted}_") or wanted.startswith(f"{product}_MIG_")


def _of_other_programs(path: FactPath, rules: Sequence[Rule], around: Circumstances) -> str:
    ran, is_variable = around.ran, path[-2:-1] == ("env",)
    there = ran.reads.get(path[1], ran.engines)
    if is_variable and path[-1].startswith(_OF_AN_INTERPRETER) and ran.compiled and there:
        return f"what ran is {_listed(ran.compiled)}, which no interpreter runs"
    if is_variable and ran.unseen:
        return ""
    if is_variable and around.on.products == frozenset() and _OF_NVIDIA.match(path[-1]):
        return "it is for GPUs of NVIDIA, and none was there"
    if is_variable and around.on.contained is False and _WHEN_A_CONTAINER_STARTS.fullmatch(path[-1]):
        return "it is read when a container starts, and no process was in one"
    if is_variable and _IN_SWITCHES.match(path[-1]) and (why := _of_other_switches(around)):
        return why
    if is_variable and (why := not_loaded(path, around.loaded)):
        return why
    told = [frozenset(rule.read_by) for rule in rules if rule.read_by]
    told += [readers] if is_variable and (readers := readers_of(path[-1])) else []
    if not told or not there or frozenset.intersection(*told) & {*there, *_in_memory(around)}:
        return ""
    return f"what ran is {_listed(ran.named.get(path[1], there))}, which is not known to use it"


def _in_memory(around: Circumstances) -> Iterator[Reader]:
    """Engines that others may call: SGLang's first releases called vLLM."""
    for package, engine in _CALLED.items():
        if around.loaded is not None and around.loaded.has(package):
            yield engine


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
