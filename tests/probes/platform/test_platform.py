"""What stands around the GPUs: made-up machines file by file, this one, and files that make no sense."""

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import Host
from probes.platform import Platform
from probes.platform.containers import _version_in
from tests.probes.tree import read as read_area
from tests.probes.tree import tree

CONFIG = """\
#accept-nvidia-visible-devices-as-volume-mounts = false
disable-require = false

[nvidia-container-cli]
no-cgroups = true
environment = []

[nvidia-container-runtime]
mode = "cdi"
runtimes = ["runc", "crun"]

[nvidia-container-runtime.modes.cdi]
default-kind = "nvidia.com/gpu"
api_key = "hunter2-hunter2-hunter2"
"""
DAEMON = """{"default-runtime": "nvidia", "registry-mirrors": ["https://user:secret@mirror.example"],
"exec-opts": ["native.cgroupdriver=cgroupfs"], "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}"""
VERSION = (
    '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "cuda_cudart": {"name": "Runtime", "version": "12.4.127"}}'
)
BMC = "/sys/class/ipmi/ipmi0/device/bmc"
FILES = {
    "/usr/local/cuda-12.4/version.json": VERSION,
    "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15": "",
    "/usr/local/cuda-12.4/compat/libcuda.so.1": "",
    "/usr/local/cuda-10.1/version.txt": "CUDA Version 10.1.243\n",
    "/usr/local/bin/cuda-gdb": "",
    "/etc/ld.so.conf.d/00-compat.conf": "# first\n/usr/local/cuda/compat\n",
    "/etc/ld.so.conf.d/libc.conf": "/usr/local/lib\n",
    "/etc/nvidia-container-runtime/config.toml": CONFIG,
    "/etc/cdi/nvidia.yaml": "cdiVersion: 0.5.0\n",
    "/etc/cdi/README": "no specification\n",
    "/etc/docker/daemon.json": DAEMON,
    "/etc/tuned/active_profile": "throughput-performance\n",
    "/var/lib/power-profiles-daemon/state.ini": "[State]\nProfile=power-saver\nCpuDriver=intel_pstate\n",
    "/etc/default/irqbalance": '#IRQBALANCE_ONESHOT=\nIRQBALANCE_BANNED_CPULIST="4-7"\nIRQBALANCE_ARGS=--debug\n',
    "/proc/2/comm": "kthreadd\n",
    "/proc/700/comm": "irqbalance\n",
    "/proc/700/cmdline": "/usr/sbin/irqbalance\0--foreground\0",
    "/proc/800/comm": "power-profiles-\n",
    "/proc/800/cmdline": "/usr/libexec/power-profiles-daemon\0",
    "/lib/systemd/system/irqbalance.service": "",
    "/lib/systemd/system/cpupower.service": "",
    "/etc/systemd/system/multi-user.target.wants/irqbalance.service": "",
    "/sys/class/power_supply/AC/type": "Mains\n",
    "/sys/class/power_supply/AC/online": "0\n",
    "/sys/class/power_supply/BAT0/type": "Battery\n",
    "/sys/class/power_supply/BAT0/status": "Discharging\n",
    f"{BMC}/firmware_revision": "1.45\n",
    f"{BMC}/aux_firmware_revision": "0x01 0x02 0x03 0x04\n",
    f"{BMC}/manufacturer_id": "0x002a7c\n",
    f"{BMC}/product_id": "0x1b86\n",
    "/sys/class/hwmon/hwmon2/name": "nct6798\n",
    "/sys/class/hwmon/hwmon2/fan1_input": "1204\n",
    "/sys/class/hwmon/hwmon2/fan2_input": "nonsense\n",
    "/sys/class/hwmon/hwmon2/temp1_input": "40000\n",
}


def machine(root: Path, files: Mapping[str, str] = FILES) -> Host:
    host = tree(root, files)
    (root / "usr/local/cuda").symlink_to("/etc/alternatives/cuda")
    (root / "etc/alternatives").mkdir(parents=True, exist_ok=True)
    (root / "etc/alternatives/cuda").symlink_to("/usr/local/cuda-12.4")
    (root / "usr/local/cuda-12").symlink_to("cuda-12.4")
    return host


def read(host: Host) -> Platform:
    section = read_area("platform", host)
    assert isinstance(section, Platform)
    return section


def items(seen: Any) -> Mapping[str, Any]:
    assert isinstance(seen, Map), seen
    return seen.items


def test_each_toolkit_is_told_with_its_release_and_the_one_that_a_build_finds(tmp_path: Path) -> None:
    cuda = read(machine(tmp_path)).cuda
    assert cuda.default == "/usr/local/cuda-12.4"
    assert {name: one.version for name, one in items(cuda.toolkits).items()} == {"12.4": "12.4.1", "10.1": "10.1.243"}


def test_a_newer_drivers_libraries_are_told_and_whether_every_process_is_given_them(tmp_path: Path) -> None:
    cuda = read(machine(tmp_path)).cuda
    assert items(cuda.toolkits)["12.4"].compat == "550.54.15"
    assert isinstance(items(cuda.toolkits)["10.1"].compat, Gap)
    assert cuda.compat_in_loader == ("/usr/local/cuda/compat",)


def test_the_toolkits_settings_are_told_by_their_tables(tmp_path: Path) -> None:
    told = items(read(machine(tmp_path)).containers.toolkit)
    assert told["nvidia-container-runtime.mode"] == "cdi"
    assert told["nvidia-container-cli.no-cgroups"] == "true"
    assert told["nvidia-container-runtime.runtimes"] == '["runc","crun"]'
    assert isinstance(told["nvidia-container-runtime.modes.cdi.api_key"], Redacted)


def test_what_cdi_gives_is_told_by_its_files(tmp_path: Path) -> None:
    told = items(read(machine(tmp_path)).containers.cdi)
    assert told == {"/etc/cdi/nvidia.yaml": hashlib.sha256(b"cdiVersion: 0.5.0\n").hexdigest()}


def test_of_dockers_settings_those_that_decide_on_speed_are_told_and_no_mirror(tmp_path: Path) -> None:
    told = items(read(machine(tmp_path)).containers.docker)
    assert told["default-runtime"] == ("nvidia",)
    assert told["exec-opts"] == ("native.cgroupdriver=cgroupfs",)
    assert "registry-mirrors" not in told


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVIDIA Container Toolkit CLI version 1.17.8\ncommit: f202b80\n", "1.17.8"),
        ("NVIDIA Container Toolkit CLI version 1.18.0-rc.2\n", "1.18.0-rc.2"),
    ],
)
def test_the_toolkit_tells_its_version(text: str, version: str) -> None:
    assert _version_in(text) == version


def test_daemons_are_told_running_or_not_with_what_they_were_told(tmp_path: Path) -> None:
    daemons = read(machine(tmp_path)).daemons
    told = items(daemons.programs)
    assert (told["irqbalance"].running, told["irqbalance"].arguments) == (True, ("--foreground",))
    assert told["irqbalance"].unit == "enabled"
    assert told["power-profiles-daemon"].running is True
    assert (told["thermald"].running, told["thermald"].arguments) == (False, Gap("absent"))
    assert (told["cpupower"].running, told["cpupower"].unit) == (Gap("unsupported"), "disabled")


def test_profiles_and_what_irqbalance_keeps_free_are_told(tmp_path: Path) -> None:
    daemons = read(machine(tmp_path)).daemons
    assert (daemons.tuned_profile, daemons.power_profile) == ("throughput-performance", "power-saver")
    assert items(daemons.irqbalance) == {"IRQBALANCE_BANNED_CPULIST": "4-7", "IRQBALANCE_ARGS": "--debug"}


def test_a_laptop_without_mains_is_told(tmp_path: Path) -> None:
    supplies = items(read(machine(tmp_path)).power.supplies)
    assert (supplies["AC"].type, supplies["AC"].online) == ("Mains", False)
    assert supplies["BAT0"].status == "Discharging"


def test_the_boards_controller_is_told_by_what_the_kernel_asked_it(tmp_path: Path) -> None:
    bmc = read(machine(tmp_path)).bmc
    assert bmc.firmware_revision == "1.45 (0x01 0x02 0x03 0x04)"
    assert (bmc.manufacturer_id, bmc.product_id) == ("0x002a7c", "0x1b86")


def test_a_controller_that_does_not_answer_is_given_up_and_the_rest_is_told(tmp_path: Path) -> None:
    host = SilentBmc(machine(tmp_path).root)
    section = read(host)
    assert section.bmc.firmware_revision == section.bmc.product_id == Gap("timed_out")
    assert host.asked == [f"{BMC}/firmware_revision"]
    assert section.daemons.tuned_profile == "throughput-performance"


class SilentBmc(Host):
    """Of a real one nobody here has the hardware."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.asked: list[str] = []

    def text(self, path: str, cap: int = 1 << 20, patience: float = 0.0) -> Any:
        if not path.startswith(BMC):
            return super().text(path, cap, patience)
        self.asked.append(path)
        return Gap("timed_out", "no answer") if patience else pytest.fail("it was waited for without an end")


def test_fans_are_told_by_chip(tmp_path: Path) -> None:
    fans = items(read(machine(tmp_path)).cooling.fans)
    assert fans == {"nct6798.hwmon2.fan1": 1204, "nct6798.hwmon2.fan2": Gap("failed")}


@pytest.mark.parametrize(
    "text", ["", "\x00\xff", "{", "[", '{"cuda": 1}', "= = =\n", "[a\nb", "x" * (5 << 20)], ids=range(8)
)
def test_files_that_make_no_sense_are_gaps(tmp_path: Path, text: str) -> None:
    nonsense = {path: text for path in FILES if path.endswith((".json", ".toml", ".txt", ".ini"))}
    section = read(machine(tmp_path, {**FILES, **nonsense}))
    assert isinstance(items(section.cuda.toolkits)["12.4"].version, Gap)
    assert isinstance(items(section.cuda.toolkits)["10.1"].version, Gap)
    assert isinstance(section.daemons.power_profile, Gap)
    assert section.daemons.tuned_profile == "throughput-performance"


@given(text=st.binary(max_size=80))
@settings(max_examples=10, deadline=None)
def test_whatever_a_file_holds_a_section_is_read(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    root = tmp_path_factory.mktemp("machine")
    host = machine(root)
    for path in FILES:
        (root / path[1:]).write_bytes(text)
    read(host)


def test_of_this_machine_the_toolkits_are_those_in_their_folder() -> None:
    listed = {name[5:] for name in os.listdir("/usr/local") if name.startswith("cuda-") and _is_own(name)}
    assert items(read(Host()).cuda.toolkits).keys() == listed


def _is_own(name: str) -> bool:
    return not os.path.islink(f"/usr/local/{name}") and name[5:].replace(".", "").isdigit()


def test_of_this_machine_the_daemons_that_run_are_those_that_ps_lists() -> None:
    told = items(read(Host()).daemons.programs)
    running = subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True, check=True).stdout.split()
    if "kthreadd" in running:
        assert {name for name, one in told.items() if one.running is True} == {
            name for name in told if name[:15] in running
        }
