"""Files of /proc as they are, or as nvidia-bug-report.sh lists them: read by the probes themselves."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from fingerprint.imports.dump import Told, of_host
from probes.driver import Driver
from probes.driver.module import PARAMETERS_FILE, VERSION_FILE, read_module
from probes.gpu import Gpu, Gpus
from probes.kernel import Kernel
from probes.kernel.cmdline import parameters
from probes.kit.facts import NOT_READ, Map, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.parse import fields
from probes.kit.redact import Redactor

R = TypeVar("R")

VERSION_BEGINS = lazy_regex(r"^NVRM version: .*$", re.MULTILINE)
INFORMATION_BEGINS = lazy_regex(r"^Model:[ \t]+\S.*\n(?:IRQ|GPU UUID):", re.MULTILINE)
PARAMETERS_BEGINS = lazy_regex(r"^(?:Mobile: \d+\n)?ResmanDebugLevel: \d+$", re.MULTILINE)
CMDLINE_BEGINS = lazy_regex(r"^BOOT_IMAGE=\S+(?: .*)?$", re.MULTILINE)
RELEASE_BEGINS = lazy_regex(r"^Linux version (?P<release>\S+) \(.*(?P<version>#\d.*)$", re.MULTILINE)
UNAME_BEGINS = lazy_regex(
    r"^Linux (?P<host>\S+) (?P<release>\d+\.\d\S+) (?P<version>#\d.*?) (?P<machine>x86_64|aarch64|ppc64le|i686)\b.*$",
    re.MULTILINE,
)
_ADDRESS = lazy_regex(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_PARAMETER = lazy_regex(r"\w+: .*")


class Texts(Host):
    """A host of which these files are told, and nothing else."""

    def __init__(self, texts: Mapping[str, str], redactor: Redactor) -> None:
        super().__init__(redactor=redactor)
        self._texts = texts

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        told = self._texts.get(key) if call == "text" else None
        return NOT_READ if told is None else told  # type: ignore[return-value]  # a text is asked for


def read_version(text: str, redactor: Redactor) -> Told:
    return _module({VERSION_FILE: text.partition("\n")[0]}, redactor)


def read_parameters(text: str, redactor: Redactor) -> Told:
    """Up to the first line that is no parameter."""
    lines = text.splitlines()
    end = next((at for at, line in enumerate(lines) if not _PARAMETER.fullmatch(line)), len(lines))
    return _module({PARAMETERS_FILE: "\n".join(lines[:end])}, redactor)


def _module(texts: Mapping[str, str], redactor: Redactor) -> Told:
    return of_host({"driver": Driver(module=read_module(Texts(texts, redactor)))})


def read_information(text: str, _redactor: Redactor) -> Told:
    """Of all GPUs that are told of, one below another."""
    starts = [match.start() for match in INFORMATION_BEGINS.finditer(text)]
    blocks = [fields(text[at:to].partition("\n_")[0]) for at, to in zip(starts, (*starts[1:], None), strict=True)]
    gpus = {block["Bus Location"]: _gpu(block) for block in blocks if _ADDRESS.fullmatch(block.get("Bus Location", ""))}
    if not gpus:
        raise ValueError("information of /proc/driver/nvidia/gpus without a whole Bus Location")
    return of_host({"gpu": Gpus(gpus=Map(gpus))})


def _gpu(block: Mapping[str, str]) -> Gpu:
    minor = block.get("Device Minor", "")
    return Gpu(
        name=_known(block, "Model"),
        uuid=_known(block, "GPU UUID"),
        vbios_version=then(_known(block, "Video BIOS"), str.upper),
        minor_number=int(minor) if minor.isdecimal() else NOT_READ,
    )


def _known(block: Mapping[str, str], line: str) -> Seen[str]:
    """`?` stands for what a GPU that nobody opened does not tell."""
    value = block.get(line, "?")
    return NOT_READ if "?" in value else value


def read_cmdline(text: str, redactor: Redactor) -> Told:
    return of_host({"kernel": Kernel(cmdline=parameters(text.partition("\n")[0], redactor))})


def read_release(text: str, _redactor: Redactor) -> Told:
    found = RELEASE_BEGINS.match(text)
    assert found is not None
    return of_host({"kernel": Kernel(release=found["release"], version=found["version"].strip())})


def read_uname(text: str, _redactor: Redactor) -> Told:
    found = UNAME_BEGINS.match(text)
    assert found is not None
    kernel = Kernel(
        release=found["release"], version=found["version"], machine=found["machine"], hostname=found["host"]
    )
    return of_host({"kernel": kernel}, host=found["host"])
