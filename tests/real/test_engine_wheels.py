"""The environments that engines' own wheels make: versions, files against RECORD, and the variables that they read.

The wheels are installed and nothing of them is imported: what they depend on is not there.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probes.kit.facts import Map
from probes.kit.host import Host
from probes.libraries.sections import Engine, Libraries
from tests.e2e.conftest import Cli
from tests.e2e.test_one_change import the_suspect
from tests.probes.environments import NO_VARIABLES, Environment, package
from tests.real.published import install, installed

pytestmark = pytest.mark.long

SERVER = ("-c", "import time; time.sleep(1.2)")


class Wheel:
    """listed: one of the variables that it reads. edited: a file that a patch would touch."""

    def __init__(self, name: str, release: str, listed: str, edited: str) -> None:
        self.name, self.release, self.listed, self.edited = name, release, listed, edited
        self.prefix = name.upper()


WHEELS = (
    Wheel("sglang", "0.5.23", "SGLANG_USE_AITER", "srt/managers/scheduler.py"),
    Wheel("sglang", "0.4.6", "SGLANG_ENABLE_TORCH_INFERENCE_MODE", "srt/managers/scheduler.py"),
    Wheel("vllm", "0.33.0", "VLLM_LOGGING_LEVEL", "envs.py"),
    Wheel("vllm", "0.8.5", "VLLM_USE_V1", "engine/llm_engine.py"),
    Wheel("lmdeploy", "0.18.0", "LMDEPLOY_RANDOM_LOAD_WEIGHT", "pytorch/engine/engine.py"),
)


@pytest.fixture(scope="module", params=WHEELS, ids=lambda wheel: f"{wheel.name}-{wheel.release}")
def wheel(request: pytest.FixtureRequest) -> Wheel:
    found: Wheel = request.param
    return found


@pytest.fixture(scope="module")
def environment(wheel: Wheel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    root = tmp_path_factory.mktemp(wheel.name) / "venv"
    with installed(root, f"{wheel.name}=={wheel.release}") as environment:
        yield environment


@contextmanager
def edited(path: Path) -> Iterator[None]:
    """Patched in place, and put back."""
    kept = path.read_bytes()
    try:
        path.write_bytes(kept + b"\n# patched\n")
        yield
    finally:
        path.write_bytes(kept)


def engine(libraries: Libraries, name: str) -> Engine:
    assert isinstance(libraries.engines, Map)
    return libraries.engines.items[name]


def test_as_it_was_published(wheel: Wheel, environment: Environment) -> None:
    found = package(environment.read(), wheel.name)
    assert (found.version, found.modified.digest, found.modified.count) == (wheel.release, "clean", 0)


def test_every_file_is_as_it_was_published(wheel: Wheel, environment: Environment) -> None:
    found = package(environment.read(host=Host(deep=True)), wheel.name)
    assert (found.modified.digest, found.modified.unsettled) == ("clean", 0)


def test_a_patched_file_is_named_and_one_put_back_is_none(wheel: Wheel, environment: Environment) -> None:
    patched = f"{wheel.name}/{wheel.edited}"
    with edited(environment.site / patched):
        found = package(environment.read(), wheel.name)
    assert (found.modified.count, found.modified.files) == (1, (patched,))
    assert package(environment.read(), wheel.name).modified.digest == "clean"


def test_a_patched_file_is_the_one_suspect(fingerprint: Cli, wheel: Wheel, environment: Environment) -> None:
    command = ("--", str(environment.python), *SERVER)
    fingerprint("run", "--name", "a", *command)
    with edited(environment.site / wheel.name / wheel.edited):
        fingerprint("run", "--name", "b", *command)
    fact = the_suspect(fingerprint.diff("a", "b", status=1))
    assert fact == f"libraries/main/packages/{wheel.name}/modified/digest"


def test_a_variable_that_it_reads_and_one_that_it_does_not(wheel: Wheel, environment: Environment) -> None:
    unknown = f"{wheel.prefix}_NO_SUCH_SETTING"
    found = engine(environment.read(env={**NO_VARIABLES, wheel.listed: "1", unknown: "1"}), wheel.name)
    assert isinstance(found.unknown, Map)
    assert list(found.unknown.items) == [unknown]


def test_a_variable_that_it_does_not_read_is_a_finding(
    fingerprint: Cli, wheel: Wheel, environment: Environment
) -> None:
    variable = f"{wheel.listed[:-1]}X"
    fingerprint("run", "--name", "a", "--", str(environment.python), *SERVER, env={variable: "1"})
    (finding,) = json.loads(fingerprint("show", "a", "--format", "json").stdout)["findings"]
    assert (finding["rule"], finding["about"]) == ("variable-not-read", variable)
    assert f"{wheel.name} {wheel.release}" in finding["says"]


def test_another_release_is_the_one_suspect(fingerprint: Cli, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    for name, release in (("a", "0.4.6"), ("b", "0.5.23")):
        install(environment, f"sglang=={release}")
        fingerprint("run", "--name", name, "--", str(environment.python), *SERVER)
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "libraries/main/packages/sglang/version"
    assert (diff["suspects"][0]["before"], diff["suspects"][0]["after"]) == ("0.4.6", "0.5.23")


def test_a_wheel_comes_before_the_library_that_it_brought(fingerprint: Cli, tmp_path: Path) -> None:
    """numpy's, which can be imported alone: OpenBLAS lies in it under another name in each release."""
    environment = Environment(tmp_path / "venv")
    for name, release in (("a", "2.2.6"), ("b", "2.4.6")):
        install(environment, f"numpy=={release}")
        fingerprint("run", "--name", name, "--", str(environment.python), "-c", "import numpy, time; time.sleep(1.2)")
    (suspect,) = fingerprint.diff("a", "b", status=1)["suspects"]
    assert suspect["facts"] == ["libraries/main/packages/numpy/version"]
    assert (suspect["before"], suspect["after"]) == ("2.2.6", "2.4.6")
    openblas = "mapped/main/libraries/libscipy_openblas64_"
    assert {f"{openblas}/path", f"{openblas}/version"} <= {*suspect["consequences"]}
