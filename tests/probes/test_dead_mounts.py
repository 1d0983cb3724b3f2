"""A file system whose server is gone, below a process that began before it was: what lies there is not told, and the
rest of each section is. It is mounted over folders that the process already uses: nothing could begin from them."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probes.container import read as container
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.mapped import read as mapped
from probes.mapped.sections import Mapped
from probes.nccl import read as nccl
from tests.kit.standing_still import standing_still
from tests.probes.children import read as process
from tests.probes.children import running
from tests.probes.environments import NO_VARIABLES, Environment, package
from tests.probes.environments import read as libraries

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")]

SILENT = Gap("timed_out")
SLEEP = "import time; time.sleep(60)"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.kit.answering.PATIENCE", 0.05)


@pytest.fixture
def far(tmp_path: Path) -> Path:
    (tmp_path / "far").mkdir()
    return tmp_path / "far"


@contextmanager
def cut_off(folder: Path) -> Iterator[None]:
    """Within it the folder's server is gone, and whoever reads does not wait for it."""
    with standing_still(folder):
        began = time.monotonic()
        yield
        assert time.monotonic() - began < 3


def copied(library: str, place: Path) -> Path:
    place.parent.mkdir(exist_ok=True)
    real = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if f"/{library}" in line)
    return Path(shutil.copy(real, place))


def of_libraries(section: Mapped, name: str) -> tuple[object, object]:
    assert isinstance(section.libraries, Map), section.libraries
    told = section.libraries.items[name]
    return told.path, told.size


def test_of_mapped_libraries_those_are_told_that_lie_elsewhere(far: Path, tmp_path: Path) -> None:
    there, here = copied("libc.so", far / "libnccl.so.2"), copied("libc.so", tmp_path / "near/libgomp.so.1")
    words = f"import ctypes; [ctypes.CDLL(name) for name in ({str(there)!r}, {str(here)!r})]; {SLEEP}"
    with running([sys.executable, "-I", "-S", "-c", words], env={}) as pid, cut_off(far):
        section, asked = mapped.read(Host(), Target("main", pid)), nccl.read(Host(), Target("main", pid))
    assert of_libraries(section, "libnccl") == (str(there), SILENT)
    assert of_libraries(section, "libgomp") == (str(here), here.stat().st_size)
    assert asked.unknown == SILENT


def test_of_nccls_files_those_are_told_that_lie_elsewhere(far: Path, tmp_path: Path) -> None:
    (tmp_path / "topology.xml").write_text("<system/>")
    named = {"NCCL_CONF_FILE": str(far / "nccl.conf"), "NCCL_TOPO_FILE": str(tmp_path / "topology.xml")}
    env = {**named, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": f"{far}/%p.log"}
    with running(["sleep", "60"], env=env) as pid, cut_off(far):
        section = nccl.read(Host(), Target("main", pid))
    assert isinstance(section.files, Map)
    digests = {name: file.sha256 for name, file in section.files.items.items()}
    assert digests["NCCL_CONF_FILE"] == SILENT
    assert isinstance(digests["NCCL_TOPO_FILE"], str)
    assert section.origins == section.log.path == SILENT
    assert isinstance(section.variables, Map)


def test_of_a_process_its_arguments_are_told_and_not_its_script(far: Path) -> None:
    script = far / "serve.py"
    script.write_text(SLEEP)
    with running([sys.executable, "serve.py", "--port", "1"], cwd=far, env={}) as pid, cut_off(far):
        section = process(Host(), pid)
    assert (section.program.path, section.program.sha256) == (str(script), SILENT)
    assert section.git.root == section.git.commit == SILENT
    assert (section.cwd, section.flags) == (str(far), Map({"--port": ("1",)}))
    assert isinstance(section.interpreter.sha256, str)


def test_of_a_module_that_may_lie_there_no_other_place_is_told(far: Path, tmp_path: Path) -> None:
    for folder in (far, tmp_path):
        (folder / "serve.py").write_text(SLEEP)
    env = {"PYTHONPATH": f"{far}:{tmp_path}"}
    with running([sys.executable, "-m", "serve"], cwd="/", env=env) as pid, cut_off(far):
        assert process(Host(), pid).program.path == SILENT


def test_an_executable_that_lies_there_is_not_read_by_another_name(far: Path) -> None:
    program = shutil.copy(shutil.which("sleep") or "", far / "served")
    with running([str(program), "60"], cwd="/") as pid, cut_off(far):
        section = process(Host(), pid)
    assert (section.program.path, section.program.sha256) == (str(program), SILENT)
    assert section.operands == ("60",)


class TestEnvironments:
    def test_whose_folder_is_there_is_not_taken_for_its_base(self, far: Path) -> None:
        venv = Environment(far / "venv")
        with venv.running() as pid, cut_off(far):
            assert process(Host(), pid).interpreter.environment == libraries(pid).environment == SILENT

    def test_packages_that_may_lie_there_are_left_open(self, far: Path, tmp_path: Path) -> None:
        venv = Environment(tmp_path / "venv")
        venv.install("near", "1.0")
        (venv.site / "far.pth").write_text(f"{far}/more\n")
        for folder in ("path", "more"):
            (far / folder).mkdir()
        for paths in ({"PYTHONPATH": str(far / "path")}, {}):
            with venv.running(env={**NO_VARIABLES, **paths}) as pid, cut_off(far):
                told = libraries(pid)
            assert told.folders == SILENT
            assert package(told, "near").version == "1.0"

    @pytest.mark.parametrize("ended", [False, True])
    def test_a_package_that_lies_there_is_not_told_to_be_gone(self, tmp_path: Path, ended: bool) -> None:
        venv = Environment(tmp_path / "venv")
        venv.install("torch", "2.9.0")
        with venv.running() as pid, standing_still(venv.site / "torch", ended=ended):
            torch = package(libraries(pid), "torch")
        assert (torch.version, torch.modified.digest, torch.modified.files) == ("2.9.0", SILENT, SILENT)

    def test_its_only_folder_of_packages_may_be_there(self, tmp_path: Path) -> None:
        venv = Environment(tmp_path / "venv")
        with venv.running() as pid, cut_off(venv.site):
            assert libraries(pid).folders == SILENT


def test_one_that_does_not_answer_is_asked_once_a_moment(far: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.kit.answering.PATIENCE", 0.2)
    host = Host()
    with running(["sleep", "60"], cwd=far) as pid, cut_off(far):
        host.begin_moment()
        assert process(host, pid).git.root == SILENT
        began = time.monotonic()
        assert process(host, pid).git.root == SILENT
        assert time.monotonic() - began < 0.2


def test_a_container_is_told_though_a_mount_in_it_is_dead(far: Path) -> None:
    with running(["sleep", "60"], cwd=far) as pid, cut_off(far):
        assert isinstance(container.read(Host(), Target("main", pid)).shm_size, int)
