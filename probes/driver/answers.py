"""What NVML tells of the driver as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from probes.kit.facts import Gap, Section, Seen, config, then
from probes.kit.host import Host

MISFIT = "driver/libraries/match_module"
"""With it goes all that NVML tells: it answers no question of a module of another version."""
CONFIDENTIAL = "nvmlSystemGetConfComputeSettings"
NO_VALUE = 0xFFFFFFFF  # NVML_VALUE_NOT_AVAILABLE, in a struct's members
# nvml.h: NVML_GPU_NVLINK_BW_MODE_*, NVML_CC_SYSTEM_ENVIRONMENT_*, _FEATURE_*, _DEVTOOLS_MODE_*, _MULTIGPU_*
BANDWIDTH = ("full", "off", "min", "half", "3quarter")
ENVIRONMENT = ("unavailable", "sim", "prod")
FEATURE = ("disabled", "enabled")
DEVTOOLS = ("off", "on")
MULTI_GPU = ("none", "protected_pcie", "nvle")


class Confidential(Section):
    """Confidential computing, which a whole system is in or out of."""

    feature: Seen[str] = config(
        "Encrypts what crosses the bus: an engine upgrade cost 3.3 times more, and only where this was on",
        CONFIDENTIAL,
        follows=(MISFIT,),
    )
    environment: Seen[str] = config(
        "Whether what confidential computing promises is real or simulated",
        CONFIDENTIAL,
        context=True,
        follows=(MISFIT,),
    )
    devtools_mode: Seen[str] = config(
        "Allows profilers under confidential computing", CONFIDENTIAL, context=True, follows=(MISFIT,)
    )
    multi_gpu_mode: Seen[str] = config(
        "How GPUs talk to each other under confidential computing: protected PCIe is slower than NVLink",
        CONFIDENTIAL,
        follows=(MISFIT,),
    )


class Answers(Section):
    version: Seen[str] = config(
        "The library's own version, whose getters the other facts come from",
        "nvmlSystemGetNVMLVersion",
        context=True,
        follows=("driver/libraries/nvml", MISFIT),
    )
    driver_version: Seen[str] = config(
        "The driver that answers: in a container, under WSL or gVisor no file tells it",
        "nvmlSystemGetDriverVersion",
        follows=("driver/module/version", MISFIT),
    )
    driver_branch: Seen[str] = config(
        "Where the driver comes from: a production branch, a new feature branch, a developer's",
        "nvmlSystemGetDriverBranch",
        follows=("driver/module/version", "driver/nvml/driver_version", MISFIT),
    )
    cuda_version: Seen[str] = config(
        "The latest CUDA that this driver takes: an engine built for a later one falls back or refuses",
        "nvmlSystemGetCudaDriverVersion_v2",
        follows=("driver/module/version", "driver/nvml/driver_version", MISFIT),
    )
    nvlink_bw_mode: Seen[str] = config(
        "Half the links can be put to sleep for power: less bandwidth for every collective, without an error",
        "nvmlSystemGetNvlinkBwMode",
        follows=(MISFIT,),
    )


def read_answers(host: Host) -> Answers:
    return Answers(
        version=then(host.nvml("", "nvmlSystemGetNVMLVersion"), _text),
        driver_version=then(host.nvml("", "nvmlSystemGetDriverVersion"), _text),
        driver_branch=then(host.nvml("", "nvmlSystemGetDriverBranch"), lambda answer: _text(_field(answer, "branch"))),
        cuda_version=then(host.nvml("", "nvmlSystemGetCudaDriverVersion_v2"), _cuda),
        nvlink_bw_mode=then(host.nvml("", "nvmlSystemGetNvlinkBwMode"), lambda value: _word(BANDWIDTH, value)),
    )


def read_confidential(host: Host) -> Confidential:
    """Drivers before 550 have only the state, without `multiGpuMode`."""
    told = host.nvml("", CONFIDENTIAL)
    older = host.nvml("", "nvmlSystemGetConfComputeState")
    either = older if isinstance(told, Gap) else told
    return Confidential(
        feature=then(either, lambda answer: _word(FEATURE, _field(answer, "ccFeature"))),
        environment=then(either, lambda answer: _word(ENVIRONMENT, _field(answer, "environment"))),
        devtools_mode=then(either, lambda answer: _word(DEVTOOLS, _field(answer, "devToolsMode"))),
        multi_gpu_mode=then(told, lambda answer: _word(MULTI_GPU, _field(answer, "multiGpuMode"))),
    )


def _field(answer: Any, name: str) -> Any:
    if not isinstance(answer, Mapping):
        raise ValueError(f"no struct: {answer!r}")
    return answer[name]


def _text(answer: Any) -> str:
    if not isinstance(answer, str):
        raise ValueError(f"no text: {answer!r}")
    return answer


def _word(words: Sequence[str], value: Any) -> Seen[str]:
    if value == NO_VALUE:
        return Gap("unsupported")
    return words[value] if value in range(len(words)) else f"unknown ({value})"


def _cuda(number: Any) -> str:
    """1000 times the major number and 10 times the minor one."""
    if not isinstance(number, int):
        raise ValueError(f"no number: {number!r}")
    return f"{number // 1000}.{number % 1000 // 10}"
