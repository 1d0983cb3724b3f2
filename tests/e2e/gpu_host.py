"""A host with GPUs for `fingerprint`: a fake NVML, and, for root, the kernel's and the administrator's files beside it.

def test_x(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8)
    before = host.snapshot()
    host.nvml.put_all(POWER_LIMIT, 450_000)
    told = host.diff(before, host.snapshot())
    assert told.causes == {"gpu/*/power_limit": ("8/8", 700_000, 450_000)}
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pytest

from probes.gpu.machine import INITIAL_PIDS
from probes.kit.paths import parse_path
from tests.nvml.fake import Fake, FakeNvml
from tests.nvml.profiles import host_of
from tests.turned import standing

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

DRIVER = "580.65.06"
AREAS = ("driver", "gpu", "kernel")
PYTHON = os.path.realpath(sys.executable)
"""Of no virtual environment: the one that the tests run in holds this tree, which somebody may edit meanwhile."""
ONE, OTHER = "0000:17:00.0", "0000:2a:00.0"
"""The first two of tests/nvml/profiles.py's PCI addresses where there are 2 to 8."""
POWER_LIMIT, ENFORCED = "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetEnforcedPowerLimit"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting over /proc and /sys needs root")
LAID_OVER = ("dev", "etc", "run", "usr")
"""Folders whose staged files stand among those of this machine."""
IN_PLACE = ("proc/driver", "proc/sys/kernel/random/boot_id", "sys/bus/pci")
"""What is staged in place of this machine's."""
# A root of its own, since nothing can be mounted that hides a file like /.dockerenv.
ENTER = f"""
mount --make-rprivate /
new=$1 staged=$2; shift 2
mount -t tmpfs root "$new"
for path in /*; do
  name=${{path#/}}
  if [ -L "$path" ]; then
    cp -P "$path" "$new/"
  elif [ -d "$path" ]; then
    mkdir "$new/$name"
    case " {" ".join(LAID_OVER)} " in
      *" $name "*) mount -t overlay -o "lowerdir=$staged/$name:$path" overlay "$new/$name";;
      *) mount --rbind "$path" "$new/$name";;
    esac
  fi
done
for path in {" ".join(IN_PLACE)}; do mount --bind "$staged/$path" "$new/$path"; done
if [ -e "$staged/.dockerenv" ]; then touch "$new/.dockerenv"; fi
exec chroot "$new" sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
"""
MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {0}  Release Build  (builder@host)  Sun Mar 23 2025\n"
    "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n"
)


class Around:
    """Files of the machine around NVML, staged below `folder`; `before` is what a command is started by to see them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "staged"
        self.root = folder / "root"
        self.root.mkdir()
        for name in (*LAID_OVER, "proc/driver", "sys/bus/pci/drivers/nvidia", "sys/bus/pci/devices"):
            (self.folder / name).mkdir(parents=True)
        self.boot(1)

    def boot(self, number: int) -> None:
        self.file("/proc/sys/kernel/random/boot_id", f"00000000-0000-4000-8000-{number:012}\n")

    def module(self, version: str) -> None:
        self.file("/proc/driver/nvidia/version", MODULE.format(version))

    def library(self, version: str) -> None:
        self.link("/usr/local/nvidia/lib64/libnvidia-ml.so.1", f"libnvidia-ml.so.{version}")

    def drives(self, *slots: str) -> None:
        """The kernel module has these, by minor numbers in their order."""
        for minor, slot in enumerate(slots):
            self.link(f"/sys/bus/pci/drivers/nvidia/{slot}", f"../../devices/{slot}")
            self.file(f"/proc/driver/nvidia/gpus/{slot}/information", f"Device Minor: \t {minor}\n")
            self.runtime(slot, "active")

    def runtime(self, slot: str, status: str) -> None:
        self.file(f"/sys/bus/pci/devices/{slot}/power/runtime_status", f"{status}\n")

    def gives(self, *minors: int) -> None:
        """A container has the nodes of these GPUs."""
        for minor in minors:
            self.file(f"/dev/nvidia{minor}", "")

    def contain(self) -> None:
        """As docker does: its own file at the root."""
        (self.folder / ".dockerenv").touch()

    def file(self, path: str, text: str) -> None:
        place = self._place(path)
        place.write_text(text)

    def link(self, path: str, target: str) -> None:
        place = self._place(path)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    def _place(self, path: str) -> Path:
        place = self.folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    @property
    def before(self) -> tuple[str, ...]:
        return ("unshare", "-m", "sh", "-ec", ENTER, "sh", str(self.root), str(self.folder))


class Snapshot(NamedTuple):
    """id: as `diff` takes it. sections: of the document, by area."""

    id: str
    sections: Mapping[str, Any]

    def fact(self, path: str) -> Any:
        """The value at `gpu/0000:17:00.0/power_limit`; of a gap its code, None where it was not read."""
        area, *names = parse_path(path)
        found = self.sections[area]["facts"]
        for name in names:
            found = _inside(found).get(name)
        return found["code"] if isinstance(found, dict) and found.get("$") == "gap" else found

    @property
    def gpus(self) -> list[str]:
        return list(_inside(self.sections["gpu"]["facts"]))


def _inside(found: Any) -> Mapping[str, Any]:
    inside: Mapping[str, Any] = found["items"] if found.get("$") == "map" else found
    return inside


class Told:
    """What `diff a b` says, as JSON and, once it is asked for, as text."""

    def __init__(self, cli: "Cli", a: str, b: str) -> None:
        self.json = cli.diff(a, b)
        self._cli, self._sides = cli, (a, b)

    @cached_property
    def text(self) -> str:
        return self._cli("diff", *self._sides, status=None).stdout

    @property
    def causes(self) -> dict[str, tuple[str, Any, Any]]:
        """Of the suspects, in their order: fact -> on how many, before, after."""
        return {s["facts"][0]: (s["on"], s["before"], s["after"]) for s in self.json["suspects"]}

    @property
    def others(self) -> dict[str, str]:
        """Changes that are neither suspects, nor follow from one, nor context: fact -> verdict."""
        found = (c for c in self.json["changes"] if c["suspect"] is None and not c["context"])
        return {change["fact"]: change["verdict"] for change in found}

    @property
    def context(self) -> dict[str, tuple[Any, Any]]:
        """What follows from a suspect is told with it."""
        found = (c for c in self.json["changes"] if c["context"] and c["suspect"] is None)
        return {c["fact"]: (c["before"], c["after"]) for c in found}

    @property
    def with_it(self) -> set[str]:
        """What follows from the first suspect."""
        return set(self.json["suspects"][0]["consequences"])

    @property
    def pairing(self) -> dict[tuple[str, str], str]:
        """Of devices; those that are where they were are left out."""
        quiet = ("same slot and unit", "same slot")
        return {(p["a"], p["b"]): p["how"] for p in self.json["pairing"][1:] if p["how"] not in quiet}

    @property
    def line(self) -> str:
        """The text on one line, as words."""
        return " ".join(self.text.split())


class GpuHost:
    def __init__(self, cli: "Cli", nvml: Fake, around: Around | None) -> None:
        self.cli, self.nvml, self._around = cli, nvml, around
        cli.env |= {"FINGERPRINT_NVML": str(nvml.library), "FINGERPRINT_NVML_LOCK": str(nvml.lock)}
        cli.env |= {"FINGERPRINT_SAMPLING_FIRST_MINUTE_HZ": "50", "COLUMNS": "100"}
        cli.env |= {"FINGERPRINT_AREAS_SKIP": "mapped"}  # which tells that what runs here has no GPU open

    @property
    def around(self) -> Around:
        assert self._around, "made without what is around NVML"
        return self._around

    @property
    def before(self) -> tuple[str, ...]:
        return self._around.before if self._around else ()

    def drives(self, nvml: Fake) -> None:
        """From here on another driver, or another machine's GPUs, answer."""
        self.nvml = nvml
        self.cli.env["FINGERPRINT_NVML"] = str(nvml.library)

    def snapshot(self) -> Snapshot:
        areas = [word for area in AREAS for word in ("--area", area)]
        answer = json.loads(self.cli("snapshot", *areas, "--format", "json", before=self.before).stdout)
        assert {section["outcome"] for section in answer["sections"].values()} == {"ok"}, answer["sections"]
        return Snapshot(answer["id"], answer["sections"])

    def run(self, name: str, seconds: float = 0.4, meanwhile: Callable[[], None] | None = None) -> None:
        """A run of a command that sleeps; `meanwhile` happens when a half of that has passed."""
        half = f"time.sleep({seconds / 2})"
        command = (PYTHON, "-c", f"import time; {half}; print(flush=True); {half}")
        argv = self.cli.argv("run", "-q", "--name", name, "--", *command)
        with subprocess.Popen(
            [*self.before, *argv], env=self.cli.env, cwd=self.cli.home, stdout=subprocess.PIPE, text=True
        ) as run:
            assert run.stdout
            assert run.stdout.readline() == "\n"
            if meanwhile:
                meanwhile()
        assert run.returncode == 0

    def diff(self, a: Snapshot | str, b: Snapshot | str) -> Told:
        before, after = (side if isinstance(side, str) else side.id for side in (a, b))
        return Told(self.cli, before, after)

    def samples(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self.cli("show", name, "--format", "json").stdout)["samples"]
        return found

    def put(self, changes: Mapping[str, Any], *slots: str) -> None:
        """By key, on these GPUs; on all where none is named."""
        for slot in slots or self.nvml.devices:
            self.nvml.scenario["devices"][slot].update(changes)
        self.nvml.save()


class MakeHost(Protocol):
    """The fixture `gpu_host`. around: with the files of the machine, which needs root."""

    def __call__(self, product: str, count: int = 1, driver: str = DRIVER, *, around: bool = False) -> GpuHost: ...


@pytest.fixture
def gpu_host(fake_nvml: FakeNvml, fingerprint: "Cli", tmp_path: Path) -> Iterator[MakeHost]:
    def make(product: str, count: int = 1, driver: str = DRIVER, *, around: bool = False) -> GpuHost:
        host = GpuHost(fingerprint, fake_nvml(host_of(product, count, driver)), Around(tmp_path) if around else None)
        if around:
            if os.readlink("/proc/self/ns/pid") != INITIAL_PIDS:
                pytest.skip("a container cannot be staged as a host")
            host.around.module(driver)
            host.around.library(driver)
            host.around.drives(*host.nvml.devices)
        return host

    with standing():
        yield make
