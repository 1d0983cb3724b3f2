"""What the client brings into an environment, and what it does beside the real tools there."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.conftest import CLIENT, ROOT, Program
from tests.probes.environments import NO_VARIABLES, Environment
from tests.real.published import install

SMALL_SUITE = "toolz==1.1.0"
"""Its tests are in its wheel."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=CLIENT, env=NO_VARIABLES, capture_output=True, check=True)
    (built,) = folder.glob("serving_fingerprint_client-*-py3-none-any.whl")
    return built


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    """Removed afterwards: pytest keeps the folders of three sessions."""
    yield (made := Environment(tmp_path / "environment"))
    shutil.rmtree(made.root)


def program_in(environment: Environment, home: Path) -> Program:
    """It finds the client as installed, and nothing of ours besides."""
    home.mkdir()
    program = Program(home, environment.python)
    del program.env["PYTHONPATH"]
    return program


def distributions(environment: Environment) -> set[str]:
    """What `pip list` lists."""
    argv = [sys.executable, "-m", "pip", "--python", str(environment.python), "list", "--format", "json"]
    done = subprocess.run(argv, env=NO_VARIABLES, capture_output=True, text=True, check=True)
    return {one["name"] for one in json.loads(done.stdout)}


def test_one_file_enters_the_measured_environment(environment: Environment, wheel: Path, tmp_path: Path) -> None:
    install(environment, str(wheel))
    assert distributions(environment) == {"serving-fingerprint-client"}
    ours = {path.name for path in environment.site.iterdir() if path.suffix not in {".dist-info", ".pth"}}
    assert ours - {"__pycache__"} == {"fingerprint_client.py"}
    program = program_in(environment, tmp_path / "home")
    program("-c", "from fingerprint_client import run\nwith run('A', strict=True) as r: r.metric('decode_ms', 11.2)")
    assert program.metrics("A")["decode_ms"]["samples"] == [11.2]


def test_the_clients_licence_is_the_repositorys() -> None:
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.long
def test_another_projects_suite_records_itself(environment: Environment, wheel: Path, tmp_path: Path) -> None:
    """pytest finds the plugin by its entry point."""
    install(environment, "pytest==9.0.2", SMALL_SUITE, dependencies=True)
    install(environment, str(wheel))
    program = program_in(environment, tmp_path / "home")
    printed = program("-m", "pytest", "-q", "--fingerprint=toolz", "--pyargs", "toolz").stdout
    assert " passed" in printed
    assert "fingerprint: recorded toolz#1" in printed
    assert program.metrics("toolz")["session_s"]["samples"][0] > 0
    assert program.shown("toolz")["ended"] == "server ran on"


RUN_IN_MLFLOW = """
import mlflow
from fingerprint_client import log_to_mlflow, run
mlflow.set_tracking_uri("file:mlruns")
with mlflow.start_run():
    with run("A", strict=True) as r:
        r.metric("decode_ms", 11.2)
    log_to_mlflow(r)
"""


@pytest.mark.long
def test_the_report_is_an_artifact_of_mlflows_run(environment: Environment, wheel: Path, tmp_path: Path) -> None:
    install(environment, "mlflow-skinny==3.17.2", dependencies=True)
    install(environment, str(wheel))
    program = program_in(environment, tmp_path / "home")
    program("-c", RUN_IN_MLFLOW, env={"MLFLOW_ALLOW_FILE_STORE": "true"})  # it warns of its file store's end
    (folder,) = program.home.glob("mlruns/*/*/artifacts/fingerprint")
    report = json.loads((folder / "A-1.json").read_text())
    assert (report["schema"], report["metrics"]["decode_ms"]["samples"]) == ("fingerprint.run/1", [11.2])
    assert (folder / "A-1.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder.parents[1] / "tags/fingerprint.run").read_text() == report["id"]


RUN_IN_WANDB = """
import wandb
from fingerprint_client import log_to_wandb, run
with wandb.init(mode="offline", project="p"):
    with run("A", strict=True) as r:
        r.metric("decode_ms", 11.2)
    log_to_wandb(r)
"""


@pytest.mark.long
def test_the_report_is_an_artifact_of_weights_and_biases_run(
    environment: Environment, wheel: Path, tmp_path: Path
) -> None:
    """Offline the artifact's files wait in its staging folder, and its manifest in the run's file, to be synced."""
    install(environment, "wandb==0.31.0", dependencies=True)
    install(environment, str(wheel))
    program = program_in(environment, tmp_path / "home")
    program("-c", RUN_IN_WANDB, env={"WANDB_DATA_DIR": str(tmp_path / "data")})
    run_id = program.shown("A")["id"]
    (kept,) = program.home.glob("wandb/offline-run-*/run-*.wandb")
    for name in (f"fingerprint-{run_id}", "fingerprint.json", "fingerprint.html"):
        assert name.encode() in kept.read_bytes()
    staged = [path.read_text() for path in (tmp_path / "data").rglob("staging/*")]
    assert run_id in {json.loads(text)["id"] for text in staged if text.startswith("{")}


@pytest.mark.parametrize("log", ["log_to_mlflow", "log_to_wandb"])
def test_a_tracker_that_is_not_there_is_told_and_the_program_goes_on(program: Program, log: str) -> None:
    script = f"from fingerprint_client import run, {log}\nwith run('A') as r: pass\n{log}(r); print('on')"
    done = program("-c", script)
    assert done.stdout == "on\n"
    assert done.stderr.startswith("fingerprint_client: ModuleNotFoundError: No module named ")
