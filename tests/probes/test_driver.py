"""The driver from the kernel's side, on made-up machines."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from probes.driver import Driver
from probes.driver.daemons import version_in
from probes.driver.module import PARAMETERS_FILE, VERSION_FILE
from probes.kit.facts import Gap, Map
from tests.probes.driver_machine import PARAMS, PROPRIETARY, VERSION, Machine, code
from tests.probes.tree import read, tree

MODPROBE = "/etc/modprobe.d/nvidia.conf"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def items(collection: Any) -> dict[str, Any]:
    assert isinstance(collection, Map), collection
    return dict(collection.items)


# The module that runs.


def test_an_open_module_is_told_by_its_version_line(machine: Machine) -> None:
    found = machine.read().module
    assert (found.version, found.flavour) == ("570.133.20", "open")


def test_a_proprietary_module_is_told_by_its_version_line(machine: Machine) -> None:
    machine.files({VERSION: PROPRIETARY})
    found = machine.read().module
    assert (found.version, found.flavour) == ("535.161.08", "proprietary")


def test_a_version_line_of_another_form_makes_no_version(machine: Machine) -> None:
    machine.files({VERSION: "NVRM version: something else\n"})
    assert code(machine.read().module.version) == "failed"


def test_parameters_are_kept_by_name_texts_without_their_quotes(machine: Machine) -> None:
    machine.files({PARAMS: 'EnableMSI: 1\nRegistryDwords: "PeerMappingOverride=1;"\nRmMsg: ""\n'})
    assert items(machine.read().module.parameters) == {
        "EnableMSI": "1",
        "RegistryDwords": "PeerMappingOverride=1;",
        "RmMsg": "",
    }


@pytest.mark.parametrize("told", ["absent", "not_read"])
def test_without_a_driver_nothing_is_looked_for_and_nothing_is_healthy(machine: Machine, told: Any) -> None:
    """In a tree of files it is not known whether there was one."""
    machine.answers["text", VERSION] = Gap(told)
    machine.answers["kernel_log", ""] = machine.answers["pids", ""] = "not to be asked"
    found = machine.read()
    assert {code(value) for value in (found.module.version, found.daemons, found.kernel_log.xids, found.log)} == {told}
    assert code(found.fabricmanager.matches_module) == told


def test_a_device_whose_driver_is_not_loaded_still_has_a_log(machine: Machine) -> None:
    machine.answers["text", VERSION] = Gap("absent")
    machine.files({"/proc/bus/pci/devices": on_the_bus(0x1700, "10de2330") + "\n"})
    machine.logged("", "NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0x40:2168)")
    found = machine.read()
    assert items(found.log)["0000:17:00.0"].init_failed == 1
    assert items(found.daemons)["nvidia-persistenced"].running is False


# What the next load will bring.


def test_an_option_in_a_file_that_is_not_in_force_is_pending(machine: Machine) -> None:
    machine.files({MODPROBE: "# who\noptions nvidia NVreg_RmProfilingAdminOnly=0 \\\n  NVreg_EnableStreamMemOPs=1\n"})
    machine.files({PARAMS: "RmProfilingAdminOnly: 1\nEnableStreamMemOPs: 1\n"})
    found = machine.read().next_load
    assert items(found.options) == {"nvidia.NVreg_EnableStreamMemOPs": "1", "nvidia.NVreg_RmProfilingAdminOnly": "0"}
    assert found.pending == ("nvidia.NVreg_RmProfilingAdminOnly",)


@pytest.mark.parametrize(
    ("option", "in_force"),
    [("=-1", "4294967295"), ("=0x1b6", "438"), ('="a=1;b=2"', '"a=1;b=2"'), ("=1", "1")],
)
def test_one_value_in_two_spellings_is_not_pending(machine: Machine, option: str, in_force: str) -> None:
    machine.files({MODPROBE: f"options nvidia NVreg_DeviceFileMode{option}\n", PARAMS: f"DeviceFileMode: {in_force}\n"})
    assert machine.read().next_load.pending == ()


def test_options_of_the_other_modules_are_held_against_sysfs(machine: Machine) -> None:
    machine.files(
        {
            MODPROBE: "options nvidia-drm modeset=1 fbdev=1\noptions snd_hda_intel power_save=0\n",
            "/sys/module/nvidia_drm/parameters/modeset": "Y\n",
            "/sys/module/nvidia_drm/parameters/fbdev": "N\n",
        }
    )
    found = machine.read().next_load
    assert set(items(found.options)) == {"nvidia_drm.modeset", "nvidia_drm.fbdev"}
    assert found.pending == ("nvidia_drm.fbdev",)


def test_a_file_in_etc_stands_in_for_the_one_of_its_name_elsewhere(machine: Machine) -> None:
    machine.files(
        {
            MODPROBE: "options nvidia NVreg_EnableMSI=1\n",
            "/usr/lib/modprobe.d/nvidia.conf": "options nvidia NVreg_EnableMSI=0\noptions nvidia NVreg_Mobile=1\n",
            "/usr/lib/modprobe.d/other.conf": "blacklist nouveau\nblacklist pcspkr\n",
            "/usr/lib/modprobe.d/README": "options nvidia NVreg_Not=1\n",
        }
    )
    found = machine.read().next_load
    assert items(found.options) == {"nvidia.NVreg_EnableMSI": "1"}
    assert found.blacklist == ("nouveau",)


def test_a_folder_of_options_that_cannot_be_listed_leaves_all_of_them_unknown(machine: Machine) -> None:
    machine.answers["names", "/run/modprobe.d"] = Gap("denied", "Permission denied")
    found = machine.read().next_load
    assert {code(found.options), code(found.blacklist), code(found.pending)} == {"denied"}


def test_the_kernels_command_line_has_the_last_word(machine: Machine) -> None:
    machine.files(
        {
            MODPROBE: "options nvidia NVreg_EnableMSI=1\n",
            "/proc/cmdline": "ro nvidia.NVreg_EnableMSI=0 modprobe.blacklist=nouveau,pcspkr nvidia-drm.modeset=1\n",
        }
    )
    found = machine.read().next_load
    assert items(found.options) == {"nvidia.NVreg_EnableMSI": "0", "nvidia_drm.modeset": "1"}
    assert found.blacklist == ("nouveau",)


# Libraries against the module.


def linked(machine: Machine, version: str) -> None:
    for name in ("libnvidia-ml.so", "libcuda.so"):
        machine.link(f"{LIBRARIES}/{name}.1", f"{name}.{version}")


def test_libraries_of_the_modules_version_match(machine: Machine) -> None:
    linked(machine, "570.133.20")
    found = machine.read().libraries
    assert (found.nvml, found.cuda, found.match_module) == ("570.133.20", "570.133.20", True)


def test_an_upgraded_library_beside_the_old_module_is_a_pending_reboot(machine: Machine) -> None:
    linked(machine, "570.148.08")
    found = machine.read().libraries
    assert (found.nvml, found.match_module) == ("570.148.08", False)


def test_links_of_alternatives_are_followed(machine: Machine) -> None:
    machine.link(f"{LIBRARIES}/libnvidia-ml.so.1", "/etc/alternatives/nvml")
    machine.link("/etc/alternatives/nvml", f"{LIBRARIES}/nvidia/current/libnvidia-ml.so.1")
    machine.link(f"{LIBRARIES}/nvidia/current/libnvidia-ml.so.1", "libnvidia-ml.so.535.161.08")
    assert machine.read().libraries.nvml == "535.161.08"


def test_links_in_a_circle_end(machine: Machine) -> None:
    machine.link(f"{LIBRARIES}/libnvidia-ml.so.1", "libnvidia-ml.so.1")
    assert code(machine.read().libraries.nvml) == "failed"


def test_without_any_library_there_is_nothing_to_compare(machine: Machine) -> None:
    assert code(machine.read().libraries.match_module) == "not_observable"


def test_a_library_forced_into_every_process_is_told(machine: Machine) -> None:
    machine.files({"/etc/ld.so.preload": "/usr/local/vgpu/libvgpu.so\n"})
    assert machine.read().libraries.preload == ("/usr/local/vgpu/libvgpu.so",)


def test_firmware_for_the_running_module_is_listed(machine: Machine) -> None:
    machine.files({"/lib/firmware/nvidia/570.133.20/gsp_ga10x.bin": "", "/lib/firmware/nvidia/535.161.08/old.bin": ""})
    assert machine.read().gsp_firmware == ("gsp_ga10x.bin",)


# NVML's words.


def test_nvmls_numbers_become_words(machine: Machine) -> None:
    machine.nvml(
        nvmlSystemGetNVMLVersion="12.570.133.20",
        nvmlSystemGetCudaDriverVersion_v2=12080,
        nvmlSystemGetDriverBranch={"branch": "r570_00"},
        nvmlSystemGetNvlinkBwMode=3,
        nvmlSystemGetConfComputeSettings={"environment": 2, "ccFeature": 1, "devToolsMode": 0, "multiGpuMode": 1},
    )
    found = machine.read()
    assert (found.nvml.version, found.nvml.cuda_version) == ("12.570.133.20", "12.8")
    assert (found.nvml.driver_branch, found.nvml.nvlink_bw_mode) == ("r570_00", "half")
    mode = found.confidential_computing
    assert (mode.environment, mode.feature, mode.devtools_mode, mode.multi_gpu_mode) == (
        "prod", "enabled", "off", "protected_pcie",
    )  # fmt: skip


def test_a_word_that_no_header_has_yet_is_told_as_unknown(machine: Machine) -> None:
    machine.nvml(nvmlSystemGetNvlinkBwMode=17)
    assert machine.read().nvml.nvlink_bw_mode == "unknown (17)"
    machine.answers["nvml", "nvmlSystemGetNvlinkBwMode"] = 0xFFFFFFFF
    assert code(machine.read().nvml.nvlink_bw_mode) == "unsupported"


def test_answers_of_another_form_cost_their_facts_alone(machine: Machine) -> None:
    machine.answers["nvml", ""] = ["what"]
    found = machine.read()
    assert {code(found.nvml.version), code(found.nvml.driver_branch), code(found.nvml.cuda_version)} == {"failed"}
    assert code(found.confidential_computing.feature) == "failed"
    assert found.module.flavour == "open"


def test_a_driver_without_settings_of_confidential_computing_tells_its_state(machine: Machine) -> None:
    machine.nvml(
        nvmlSystemGetConfComputeSettings=Gap("unsupported"),
        nvmlSystemGetConfComputeState={"environment": 0, "ccFeature": 0, "devToolsMode": 0},
    )
    found = machine.read().confidential_computing
    assert (found.feature, code(found.multi_gpu_mode)) == ("disabled", "unsupported")


def test_an_nvml_that_does_not_answer_leaves_the_kernels_side(machine: Machine) -> None:
    machine.answers["nvml", ""] = Gap("timed_out", "NVML: unresponsive since 10:00:00 in nvmlInit (pid 7)")
    found = machine.read()
    assert found.module.version == "570.133.20"
    assert {code(found.nvml.driver_version), code(found.confidential_computing.feature)} == {"timed_out"}


# Daemons.


def test_a_daemon_runs_or_does_not(machine: Machine) -> None:
    machine.runs(nvidia_persiste=700)
    machine.answers["arguments", "/proc/700/cmdline"] = ("nvidia-persistenced", "--user", "nvidia-persistenced")
    found = items(machine.read().daemons)
    assert found["nvidia-persistenced"].running is True
    assert found["nvidia-persistenced"].arguments == ("--user", "nvidia-persistenced")
    assert (found["nvidia-powerd"].running, code(found["nvidia-powerd"].arguments)) == (False, "absent")


def test_in_a_container_a_daemon_of_the_host_is_not_said_to_be_down(machine: Machine) -> None:
    machine.answers["pids", ""] = {"kthreadd": (), "nv-hostengine": (9,)}
    found = items(machine.read().daemons)
    assert code(found["nvidia-persistenced"].running) == "not_observable"
    assert found["nvidia-dcgm"].running is True


def test_the_two_programs_of_mps_are_told_apart(machine: Machine) -> None:
    machine.answers["pids", ""] = {"kthreadd": (2,), "nvidia-cuda-mps": (50, 51)}
    machine.answers["arguments", "/proc/50/cmdline"] = ("/usr/bin/nvidia-cuda-mps-control", "-d")
    machine.answers["arguments", "/proc/51/cmdline"] = ("/usr/bin/nvidia-cuda-mps-control", "-d")
    found = items(machine.read().daemons)
    assert (found["nvidia-mps-control"].running, found["nvidia-mps-server"].running) == (True, False)


def test_what_systemd_starts_at_the_next_boot_is_told_by_its_links(machine: Machine) -> None:
    system = "/usr/lib/systemd/system"
    machine.files(
        {f"{system}/{unit}.service": "" for unit in ("nvidia-fabricmanager", "nvidia-persistenced", "nvidia-powerd")}
    )
    machine.link(
        "/etc/systemd/system/multi-user.target.wants/nvidia-fabricmanager.service",
        f"{system}/nvidia-fabricmanager.service",
    )
    machine.link("/etc/systemd/system/nvidia-powerd.service", "/dev/null")
    found = items(machine.read().daemons)
    told = {name: found[f"nvidia-{name}"].unit for name in ("fabricmanager", "persistenced", "powerd")}
    assert told == {"fabricmanager": "enabled", "persistenced": "disabled", "powerd": "masked"}
    assert isinstance(found["nvidia-dcgm"].unit, Gap)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Fabric Manager version is : 570.133.20\n", "570.133.20"),
        ("IMEX version is: 580.105.08\n", "580.105.08"),
        ("Version : 4.7.0\nBuild ID : 24637\nBuild Date : 2026-09-09\n", "4.7.0"),
    ],
)
def test_a_version_is_found_in_what_each_program_prints(text: str, version: str) -> None:
    assert version_in(text) == version


@pytest.mark.parametrize(("version", "matches"), [("570.133.20", True), ("570.148.08", False)])
def test_the_fabric_manager_must_be_of_the_drivers_version(machine: Machine, version: str, matches: bool) -> None:
    machine.files({"/usr/bin/nv-fabricmanager": ""})
    machine.answers["command", "/\0/usr/bin/nv-fabricmanager\0--version"] = f"Fabric Manager version is : {version}\n"
    found = machine.read()
    assert items(found.daemons)["nvidia-fabricmanager"].version == version
    assert found.fabricmanager.matches_module is matches


def test_the_fabric_managers_settings_are_kept_without_comments(machine: Machine) -> None:
    machine.files({"/usr/share/nvidia/nvswitch/fabricmanager.cfg": "# MODE=9\n\nFABRIC_MODE=0\nLOG_LEVEL = 4\n"})
    assert items(machine.read().fabricmanager.settings) == {"FABRIC_MODE": "0", "LOG_LEVEL": "4"}


# GPUs that another driver has.


def on_the_bus(place: int, identity: str, driver: str = "") -> str:
    return "\t".join((f"{place:04x}", identity, *["0"] * 15, *([driver] if driver else [])))


def test_a_gpu_of_another_driver_or_of_none_is_told_by_its_address(machine: Machine) -> None:
    rows = [
        on_the_bus(0x1700, "10de2330", "nvidia"),
        on_the_bus(0x2A00, "10de2330", "vfio-pci"),
        on_the_bus(0x6500, "10de2330"),
        on_the_bus(0x6501, "10de228b", "snd_hda_intel"),
        on_the_bus(0x6600, "15b31021", "mlx5_core"),
    ]
    machine.files({"/proc/bus/pci/devices": "\n".join(rows) + "\n"})
    for address, kind in (
        ("0000:17:00.0", "0x030200"), ("0000:2a:00.0", "0x030200"), ("0009:2a:00.0", "0x020000"),
        ("0008:65:00.0", "0x030200"), ("0008:65:00.1", "0x040300"),
    ):  # fmt: skip
        vendor = "0x15b3" if address.startswith("0009") else "0x10de"
        folder = f"/sys/bus/pci/devices/{address}"
        machine.files({f"{folder}/vendor": f"{vendor}\n", f"{folder}/class": f"{kind}\n"})
    assert items(machine.read().gpus_bound_elsewhere) == {"0000:2a:00.0": "vfio-pci", "0008:65:00.0": "none"}


# Other people's machines.

CORPUS = os.environ.get("FINGERPRINT_CORPUS", "")
DUMPS = sorted(Path(CORPUS).rglob("*_proc_driver_nvidia.txt")) if CORPUS else []


@pytest.mark.skipif(not DUMPS, reason="FINGERPRINT_CORPUS holds no dumps of /proc/driver/nvidia")
@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name)
def test_a_real_dump_gives_its_version_and_every_parameter(path: Path, tmp_path: Path) -> None:
    files = dict(re.findall(r"^\*\*\* (/\S+)\n\*\*\* ls: .*\n((?:(?!____|\*\*\*).*\n)*)", path.read_text(), re.M))
    plain = {name.replace("/./", "/"): text for name, text in files.items()}
    found: Driver = read("driver", tree(tmp_path, plain))
    assert str(found.module.version) in plain[VERSION_FILE]
    assert found.module.flavour == "proprietary"
    told = items(found.module.parameters)
    assert [f"{name}: {value}" for name, value in told.items()] == plain[PARAMETERS_FILE].replace('"', "").splitlines()
