"""gpu-check on a machine with GPUs and nothing of ours: a fake NVML, and an nvidia-smi that prints a recorded log."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gpu_check.bundle import LIB, assemble, build

from tests.imports.capture import load, xml_of
from tests.nvml.fake import Fake, FakeNvml
from tests.nvml.from_xml import scenario_of_xml

BOARD, ADDRESS = "gb300-580.173.02", "0008:06:00.0"
OF_ITS_OWN = f"gpu/{ADDRESS}/health/unrepairable_memory"
"""NVML of this driver has no getter for what its nvidia-smi printed."""
POWER_LIMIT = "nvmlDeviceGetPowerManagementLimit"
NAMES = {
    "gpu/serial": "9988776655443",
    "gpu/uuid": "GPU-79497437-2081-51df-d5d8-04bbee59c2f2",
    "gpu/platformInfo/chassis_serial_number": "2507816907154",
    "gpu/fabric/clusterUuid": "bbf9c7b7-a27f-f250-d6f4-8a141925a69c",
}
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
PLACES = (
    Path("/usr/bin/python3.12"), Path("/usr/local/bin/python3.12"),
    *Path.home().glob(".pyenv/versions/3.12*/bin/python3.12"),
)  # fmt: skip
THERE = next((str(path) for path in PLACES if path.exists()), None)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the Python that runs the tests, with its packages in place of the wheels."""
    folder = tmp_path_factory.mktemp("bundle") / "bundle"
    assemble(folder, HERE)
    packages = Path(sysconfig.get_path("platlib"))
    for name in ("msgspec", "psutil", "cpuinfo"):
        shutil.copytree(packages / name, folder / LIB / name)
    shutil.copy(packages / "pynvml.py", folder / LIB)
    return folder


class Machine:
    """Where gpu-check runs. There is a shell, and a Python without a site-packages."""

    def __init__(self, folder: Path, fake: Fake, printed: str | None) -> None:
        """printed: by nvidia-smi, where there is one."""
        self.out = folder / "out"
        self._variables = {
            "PATH": f"{folder}/bin:/usr/bin:/bin",
            "FINGERPRINT_NVML": str(fake.library),
            "FINGERPRINT_NVML_LOCK": str(fake.lock),
        }
        (folder / "bin").mkdir()
        if printed is not None:
            (folder / "printed.xml").write_text(printed)
            smi = folder / "bin/nvidia-smi"
            smi.write_text(f'#!/bin/sh\n[ "$*" = "-q -x" ] && exec cat {folder}/printed.xml\n')
            smi.chmod(0o755)

    def check(self, bundle: Path, *more: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
        argv = [python, "-I", "-S", str(bundle), str(self.out), *more]
        return subprocess.run(argv, env=self._variables, capture_output=True, text=True)

    @property
    def report(self) -> Mapping[str, Any]:
        report: dict[str, Any] = json.loads((self.out / "report.json").read_text())
        return report

    def written(self) -> str:
        return "".join(path.read_text() for path in self.out.rglob("*") if path.is_file())


def log() -> str:
    """Of one GB300, with names of its own."""
    return xml_of({re.sub(r"^gpu\[1\]", "gpu", k): v for k, v in load(BOARD).items() if "gpu[2]" not in k} | NAMES)


def test_all_that_both_tell_is_equal(tmp_path: Path, fake_nvml: FakeNvml, bundle: Path) -> None:
    machine = Machine(tmp_path, fake_nvml(scenario_of_xml(log())), log())
    done = machine.check(bundle, "1")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    verdicts = {row["verdict"] for row in machine.report["comparison"]}
    assert verdicts == {"equal", "not comparable"}
    assert [row["path"] for row in machine.report["comparison"] if row["verdict"] != "equal"] == [OF_ITS_OWN]
    assert len(machine.report["comparison"]) > 130
    assert machine.report["sampling"]["answered"] > 0
    assert machine.report["cost"]["gpu part, ms"]["cpu"] > 0
    assert (machine.out / "report.txt").read_text() == done.stdout


def test_what_is_written_names_neither_board_nor_fabric(tmp_path: Path, fake_nvml: FakeNvml, bundle: Path) -> None:
    fake = fake_nvml(scenario_of_xml(log()))
    fake.put(ADDRESS, "nvmlDeviceGetSerial", "1122334455667")
    machine = Machine(tmp_path, fake, log())
    assert machine.check(bundle, "0").returncode == 1
    told = machine.written()
    assert [row for row in machine.report["comparison"] if row["verdict"] == "different"] == [
        {
            "path": f"gpu/{ADDRESS}/serial", "verdict": "different", "unit": "",
            "printed": "(not shown)", "before": "(not shown)", "after": "(not shown)",
        }
    ]  # fmt: skip
    names = (*NAMES.values(), "1122334455667")
    assert [name for name in names if name.removeprefix("GPU-") in told] == []
    assert "nvmlDeviceGetSerial" in told


def test_a_difference_is_listed_with_both_values(tmp_path: Path, fake_nvml: FakeNvml, bundle: Path) -> None:
    fake = fake_nvml(scenario_of_xml(log()))
    fake.put(ADDRESS, POWER_LIMIT, 1_000_000)
    done = Machine(tmp_path, fake, log()).check(bundle, "0")
    assert done.returncode == 1
    line = f"  DIFFERENT       gpu/{ADDRESS}/power_limit: nvidia-smi 1400000, NVML 1000000"
    assert [told for told in done.stdout.splitlines() if told.startswith("  DIFFERENT")] == [line]


def test_without_nvidia_smi_the_rest_is_done_and_that_is_said(
    tmp_path: Path, fake_nvml: FakeNvml, bundle: Path
) -> None:
    machine = Machine(tmp_path, fake_nvml(scenario_of_xml(log())), None)
    done = machine.check(bundle, "0")
    assert done.returncode == 2
    assert "TROUBLE  there is no nvidia-smi on PATH to compare with" in done.stdout
    recorded = json.loads((machine.out / "recording/snapshot.json").read_text())
    assert recorded["gpu"]["gpus"]["items"][ADDRESS]["power_limit"] == 1_400_000


def test_a_log_that_cannot_be_read_is_said_to_be_one(tmp_path: Path, fake_nvml: FakeNvml, bundle: Path) -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    done = Machine(tmp_path, fake_nvml(scenario_of_xml(log())), said).check(bundle, "0")
    assert done.returncode == 2
    assert "TROUBLE  nvidia-smi -q -x: no log of `nvidia-smi -q -x`, but an error" in done.stdout


def test_without_gpus_the_machine_is_recorded_all_the_same(tmp_path: Path, fake_nvml: FakeNvml, bundle: Path) -> None:
    fake = fake_nvml({"system": {"nvmlInit": {"error": 9}}, "devices": {}})
    machine = Machine(tmp_path, fake, log())
    done = machine.check(bundle)
    assert done.returncode == 2
    assert "TROUBLE  no GPU by NVML: absent" in done.stdout
    assert "cost" not in machine.report
    assert (machine.out / "recording/recording.json").exists()


@pytest.mark.parametrize("wrong", [[], ["--help"], ["out", "soon"], ["out", "1", "2"]])
def test_what_is_not_understood_is_answered_with_the_usage(bundle: Path, wrong: list[str]) -> None:
    argv = [sys.executable, "-I", "-S", str(bundle), *wrong]
    done = subprocess.run(argv, env={}, capture_output=True, text=True)
    assert (done.returncode, done.stderr.startswith("usage: gpu-check OUT [SECONDS]")) == (2, True)


@pytest.mark.parametrize(
    ("variables", "out", "words"),
    [({}, "/proc/out", "/proc/out"), ({"FINGERPRINT_NVML": "always"}, "out", "FINGERPRINT_NVML")],
)
def test_a_place_or_a_setting_that_is_none_is_no_difference(
    tmp_path: Path, bundle: Path, variables: dict[str, str], out: str, words: str
) -> None:
    argv = [sys.executable, "-I", "-S", str(bundle), out]
    done = subprocess.run(argv, env=variables, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.fullmatch(rf"gpu-check: .*{words}.*\n", done.stderr), done.stderr


def test_another_python_is_refused_before_anything_is_imported(tmp_path: Path) -> None:
    assemble(tmp_path / "bundle", "3.2")
    done = subprocess.run([sys.executable, "-I", tmp_path / "bundle", "out"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"gpu-check: built for Python 3.2, and this is {HERE}\n")


def test_a_missing_python_is_said_to_be_missing(bundle: Path) -> None:
    started = [str(bundle / "gpu-check"), "out"]
    done = subprocess.run(started, env={"PATH": "/usr/bin:/bin", "PYTHON": "/none"}, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"gpu-check: there is no /none: install Python {HERE}, or name it in PYTHON\n"


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(SystemExit, match="is not empty: name a new folder"):
        build(tmp_path)


@pytest.mark.long
@pytest.mark.skipif(THERE is None, reason="there is no python3.12")
def test_the_real_bundle_runs_on_a_bare_python_3_12(tmp_path: Path, fake_nvml: FakeNvml) -> None:
    """With the wheels of the registry, whose digests requirements.lock has."""
    build(tmp_path / "bundle")
    assert {path.name for path in (tmp_path / "bundle" / LIB).iterdir()} > {"msgspec", "psutil", "pynvml.py"}
    machine = Machine(tmp_path, fake_nvml(scenario_of_xml(log())), log())
    done = machine.check(tmp_path / "bundle", "1", python=THERE or "")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert machine.report["about"]["Python"].startswith("3.12.")
