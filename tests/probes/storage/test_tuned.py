"""Settings of kernels by the GPU's name: where engines look, and what there is for this host's GPU."""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import Host
from probes.kit.imports import Folder
from probes.kit.pth import importing
from probes.storage.sections import Tuned
from probes.storage.tuned import MOST, folders, gpus, tuned
from tests.probes.children import running
from tests.probes.storage.test_storage import read
from tests.probes.tree import tree

SLOT = "0000:17:00.0"
H200 = "E=128,N=384,device_name=NVIDIA_H200,dtype=fp8_w8a8.json"
H100 = "E=128,N=384,device_name=NVIDIA_H100_80GB_HBM3.json"
SITE = "/opt/venv/lib/python3.12/site-packages"
MOE = "sglang/srt/layers/moe/fused_moe_triton/configs"
VLLM = f"{SITE}/vllm/model_executor/layers/fused_moe/configs"
SGLANG = f"{SITE}/{MOE}"


def machine(root: Path, files: Mapping[str, str], gpu: str = "NVIDIA H200", power: str = "active") -> Host:
    told = {
        f"/proc/driver/nvidia/gpus/{SLOT}/information": f"Model: \t\t {gpu}\nIRQ:   \t\t 128\n",
        f"/sys/bus/pci/devices/{SLOT}/power/runtime_status": f"{power}\n",
    }
    return tree(root, {**told, **files})


def found(host: Host, **env: str) -> Mapping[str, Tuned]:
    return tuned(host, host, folders(host, env, importing(host, [Folder(SITE, "environment", site=True)]))).items


def test_the_files_for_this_gpu_are_told_and_no_others(tmp_path: Path) -> None:
    host = machine(tmp_path, {f"{VLLM}/{H200}": "{}", f"{VLLM}/{H100}": "{}", f"{VLLM}/README": ""})
    told = found(host)["vllm.fused_moe"]
    assert told.path == VLLM
    assert told.files == Map({H200: hashlib.sha256(b"{}").hexdigest()})


def test_sglangs_are_told_with_the_release_of_triton_that_they_are_for(tmp_path: Path) -> None:
    host = machine(tmp_path, {f"{SGLANG}/triton_3_4_0/{H200}": "{}", f"{SGLANG}/other/{H200}": "{}"})
    files = found(host)["sglang.fused_moe"].files
    assert isinstance(files, Map)
    assert [*files.items] == [f"triton_3_4_0/{H200}"]


@pytest.mark.parametrize(
    "installed",
    [
        {"__editable__.sglang-0.5.pth": "/src/sglang/python\n"},
        {
            "__editable__.sglang-0.5.pth": "import __editable___sglang_finder; __editable___sglang_finder.install()\n",
            "__editable___sglang_finder.py": "MAPPING: dict[str, str] = {'sglang': '/src/sglang/python/sglang'}\n",
        },
        {
            "_sglang.pth": "import _editable_impl_sglang\n",
            "_editable_impl_sglang.py": "F.map_module('sglang', '/src/sglang/python/sglang/__init__.py')\n",
        },
    ],
    ids=["a path", "setuptools' finder", "editables"],
)
def test_those_of_an_editable_install_lie_in_its_sources(tmp_path: Path, installed: Mapping[str, str]) -> None:
    files = {f"{SITE}/{name}": text for name, text in installed.items()}
    told = found(machine(tmp_path, {f"/src/sglang/python/{MOE}/{H200}": "{}", **files}))["sglang.fused_moe"]
    assert (told.path, told.files) == (f"/src/sglang/python/{MOE}", Map({H200: hashlib.sha256(b"{}").hexdigest()}))


def test_of_two_packages_that_is_told_which_is_imported(tmp_path: Path) -> None:
    files = {f"/src/{MOE}/{H200}": "{}", f"{SGLANG}/{H200}": "", f"{SITE}/easy-install.pth": "/src\n"}
    assert found(machine(tmp_path, files))["sglang.fused_moe"].path == SGLANG


@pytest.mark.parametrize(
    ("gpu", "fits"),
    [("NVIDIA H200", True), ("NVIDIA H200 NVL", True), ("NVIDIA H20", False), ("NVIDIA H100 80GB HBM3", False)],
)
def test_vllm_takes_an_h200s_for_all_that_is_one(tmp_path: Path, gpu: str, fits: bool) -> None:
    host = machine(tmp_path, {f"{VLLM}/{H200}": "{}"}, gpu)
    files = found(host)["vllm.fused_moe"].files
    assert isinstance(files, Map)
    assert (H200 in files.items) is fits


def test_a_folder_that_a_variable_names_is_told_whether_it_is_there_or_not(tmp_path: Path) -> None:
    host = machine(tmp_path, {f"/mine/{H200}": "{}"})
    told = found(host, VLLM_TUNED_CONFIG_FOLDER="/mine", SGLANG_MOE_CONFIG_DIR="/none")
    assert isinstance(told["VLLM_TUNED_CONFIG_FOLDER"].files, Map)
    assert told["SGLANG_MOE_CONFIG_DIR"].path == "/none/configs"
    assert isinstance(told["SGLANG_MOE_CONFIG_DIR"].files, Gap)


def test_one_that_is_relative_or_redacted_is_not_guessed(tmp_path: Path) -> None:
    host = machine(tmp_path, {})
    for value in ("./configs", Redacted("k", "d")):
        told = tuned(host, host, folders(host, {"VLLM_TUNED_CONFIG_FOLDER": value}, [SITE])).items
        assert told["VLLM_TUNED_CONFIG_FOLDER"].files == Gap("not_observable")


def test_a_gpu_that_sleeps_is_not_asked_for_its_name(tmp_path: Path) -> None:
    host = machine(tmp_path, {f"{VLLM}/{H200}": "{}"}, power="suspended")
    assert gpus(host) == found(host)["vllm.fused_moe"].files == Gap("asleep")


def test_without_a_gpu_no_file_is_named_after_it(tmp_path: Path) -> None:
    host = tree(tmp_path, {f"{VLLM}/{H200}": "{}"})
    assert gpus(host) == Gap("absent")


def test_of_too_many_files_none_is_told_in_part(tmp_path: Path) -> None:
    many = {f"{VLLM}/E={number},N=1,device_name=NVIDIA_H200.json": "{}" for number in range(MOST + 1)}
    assert found(machine(tmp_path, many))["vllm.fused_moe"].files == Gap("failed")


def test_an_engines_files_are_looked_for_where_its_python_imports_from(tmp_path: Path) -> None:
    """Of this machine, which may have no GPU to be named after."""
    (tmp_path / MOE).mkdir(parents=True)
    with running([sys.executable, "-c", "import time; time.sleep(60)"], env={"PYTHONPATH": str(tmp_path)}) as pid:
        told = read(pid).tuned
    assert isinstance(told, Map)
    assert told.items["sglang.fused_moe"].path == str(tmp_path / MOE)
