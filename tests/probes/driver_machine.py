"""A made-up machine with an NVIDIA driver: files, what its kernel logged, and what NVML tells."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from probes.driver import Driver
from probes.driver.next_load import FOLDERS
from probes.kit.facts import Gap
from probes.kit.host import Host
from tests.probes.tree import read, tree

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (builder@host)  Sun Mar 23 2025
GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)
"""
PROPRIETARY = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024\n"
VERSION = "/proc/driver/nvidia/version"
PARAMS = "/proc/driver/nvidia/params"


class Machine:
    """Files under a root, and answers to the questions that no file answers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.answers: dict[tuple[str, str], Any] = {("pids", ""): {"kthreadd": (2,)}}
        for folder in FOLDERS:
            (root / folder.lstrip("/")).mkdir(parents=True)
        self.files({VERSION: OPEN, PARAMS: 'RmProfilingAdminOnly: 1\nRegistryDwords: ""\n', "/proc/cmdline": "quiet\n"})

    def files(self, files: Mapping[str, str]) -> None:
        tree(self.root, files)

    def link(self, path: str, target: str) -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    def logged(self, *texts: str) -> None:
        self.answers["kernel_log", ""] = "\n".join(f"{n},{n * 1_000_000};{text}" for n, text in enumerate(texts))

    def runs(self, **programs: int) -> None:
        """By the name that the kernel keeps, `_` for `-`."""
        pids = {name.replace("_", "-"): (pid,) for name, pid in programs.items()}
        self.answers["pids", ""] = {"kthreadd": (2,), **pids}

    def nvml(self, **answers: Any) -> None:
        self.answers.update({("nvml", name): answer for name, answer in answers.items()})

    def read(self) -> Driver:
        found: Driver = read("driver", Told(str(self.root), self.answers))
        return found


class Told(Host):
    """A tree, with answers for the rest. A key of "" stands for every key of that question."""

    def __init__(self, root: str, answers: Mapping[tuple[str, str], Any]) -> None:
        super().__init__(root)
        self.told = answers

    def _ask(self, call: str, key: str, live: Callable[[], Any]) -> Any:
        for question in ((call, key), (call, "")):
            if question in self.told:
                return self.told[question]
        return super()._ask(call, key, live)


def code(value: Any) -> str:
    """Of a Gap."""
    assert isinstance(value, Gap), value
    return value.code
