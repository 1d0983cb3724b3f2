"""What `collect_env` of torch and vLLM and `check_env` of SGLang print, in their older and newer layouts.

The CPUs and the matrix of GPUs in it are printed by `lscpu` and `nvidia-smi topo -m`, and are read as such.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fingerprint.imports.dump import Told, numbered
from fingerprint.snapshot import Key
from probes.driver import Driver
from probes.driver.answers import Answers
from probes.gpu import Gpu, Gpus
from probes.kernel import Kernel
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.probe import MAIN
from probes.kit.redact import Redactor
from probes.libraries.distributions import normalized
from probes.libraries.sections import Libraries, Package
from probes.process.sections import Process
from probes.process.variables import sorted_variables

COLLECT_BEGINS = lazy_regex(r"^PyTorch version *: \S.*$", re.MULTILINE)
CHECK_BEGINS = lazy_regex(r"^Python: \d.*$(?=\n\w{2,6} available: )", re.MULTILINE)

SOME_PACKAGES = Gap("not_observable", "the report names some packages only")
SOME_VARIABLES = Gap("not_observable", "the report names some variables only")

_PIP = lazy_regex(r"^\[pip3?\] ([A-Za-z0-9][\w.-]*)==(\S+)$", re.MULTILINE)
_CONDA = lazy_regex(r"^\[conda\] ([A-Za-z0-9][\w.-]*) +(\d\S*) +\S+(?: +\S+)?$", re.MULTILINE)
_CHECKED = lazy_regex(r"^([A-Za-z][\w.-]*): (\d+\.\d[\w.+!-]*)$", re.MULTILINE)
_GPUS = lazy_regex(r"(?:^|: )GPU (\d+(?:,\d+)*): (\S.*)$", re.MULTILINE)
_CAPABILITY = lazy_regex(r"^GPU (\d+(?:,\d+)*) Compute Capability: (\d+\.\d+)$", re.MULTILINE)
_DRIVER = lazy_regex(r"^(?:Nvidia driver version|CUDA Driver Version) *: (\d[\d.]*)$", re.MULTILINE)
_PYTHON = lazy_regex(r"^Python(?: version)? *: (\d+\.\d+\.\d+\S*)", re.MULTILINE)
_PLATFORM = lazy_regex(
    r"^Python platform *: Linux-(?P<release>\S+?)-(?P<machine>x86_64|aarch64|ppc64le)-with-", re.MULTILINE
)
_VLLM = lazy_regex(r"^vLLM Version *: (\d[^\s(@]*)", re.MULTILINE)
_VARIABLE = lazy_regex(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.MULTILINE)
_VARIABLES_FROM = lazy_regex(r"^(?:vLLM Version *:|[ \t]*Environment Variables[ \t]*$)", re.MULTILINE)
_NOT_PACKAGES = frozenset(("python", "nvcc"))
_DISTRIBUTION = {"pytorch": "torch", "zmq": "pyzmq", "multipart": "python-multipart", "pil": "pillow"}
"""Of SGLang's report, which calls packages by what is imported."""
_ENDS = lazy_regex(r"^(?:NVIDIA Topology|AMD Topology|GPU Topology|Hypervisor vendor|ulimit soft)\b", re.MULTILINE)


def read_collected(text: str, redactor: Redactor) -> Told:
    """Of torch and vLLM. The lists of pip and conda tell versions as they are installed; the one that torch tells of
    itself, which may have its build behind a `+`, counts where both are there and torch is in neither."""
    listed = {normalized(name): version for form in (_CONDA, _PIP) for name, version in form.findall(text)}
    torch = re.match(r"PyTorch version *: (\d\S*)", text) if "\n[conda]" in text else None
    vllm = _VLLM.search(text)
    packages = {
        **({"torch": torch[1]} if torch else {}),
        **({"vllm": vllm[1]} if vllm else {}),
        **listed,
    }
    platform = _PLATFORM.search(text)
    told: dict[Key, Section] = {
        **_common(text, packages),
        Key("process", MAIN): _process(text, redactor),
    }
    if platform:
        told[Key("kernel")] = Kernel(release=platform["release"], machine=platform["machine"])
    return Told(told)


def read_checked(text: str, _redactor: Redactor) -> Told:
    """Of SGLang, in which torch tells its own version, with its build behind a `+`."""
    end = _ENDS.search(text)
    listed = _CHECKED.findall(text[: end.start() if end else len(text)])
    packages = {_DISTRIBUTION.get(name.lower(), normalized(name)): version for name, version in listed}
    return Told(_common(text, {name: it for name, it in packages.items() if name not in _NOT_PACKAGES}))


def _common(text: str, packages: Mapping[str, str]) -> dict[Key, Section]:
    driver, python = _DRIVER.search(text), _PYTHON.search(text)
    told: dict[Key, Section] = {
        Key("libraries", MAIN): Libraries(
            python=python[1] if python else NOT_READ,
            folders=SOME_PACKAGES,
            packages=Map({name: Package(version=version) for name, version in packages.items()}),
        )
    }
    if driver:
        told[Key("driver")] = Driver(nvml=Answers(driver_version=driver[1]))
    if gpus := dict(_gpus(text)):
        told[Key("gpu")] = Gpus(gpus=Map({numbered(index): Gpu(**facts) for index, facts in gpus.items()}))
    return told


def _gpus(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    capabilities = {index: told for numbers, told in _CAPABILITY.findall(text) for index in numbers.split(",")}
    for numbers, name in _GPUS.findall(text):
        for index in numbers.split(","):
            yield (
                int(index),
                {"index": int(index), "name": name.rstrip(), "compute_cap": capabilities.get(index, NOT_READ)},
            )


def _process(text: str, redactor: Redactor) -> Process:
    """What of the environment vLLM tells, behind its version."""
    start = _VARIABLES_FROM.search(text)
    if start is None:
        return Process()
    given = sorted_variables(redactor.environment(dict(_VARIABLE.findall(text, start.start()))))
    env: Seen[Any] = given.env
    return Process(env=env, activation=SOME_VARIABLES)
