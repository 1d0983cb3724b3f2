"""What the process really mapped, and what its container gave it: one thing changed between two runs, told first."""

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_one_change import the_suspect
from tests.kit.test_elf import compiled

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may make namespaces and mounts")
SERVER = """\
import ctypes, time
for path in open("libraries").read().split():
    ctypes.CDLL(path)
time.sleep(1.3)
"""
CONTAINED = 'mount -t tmpfs -o size="$(cat size)" none /dev/shm && exec sleep 1.3'


def nccl(folder: Path, release: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "libnccl.so.1").unlink(missing_ok=True)  # written over, it would change beneath who has it mapped
    return compiled(folder, f'const char version[] = "NCCL version {release}+cuda12.9";', "libnccl")


@pytest.fixture
def server(fingerprint: Cli) -> list[str]:
    """A command that maps the libraries that a file lists, so that neither arguments nor variables tell which."""
    (fingerprint.home / "serve.py").write_text(SERVER)
    return ["--", sys.executable, str(fingerprint.home / "serve.py")]


def run(fingerprint: Cli, name: str, command: list[str], *libraries: str) -> None:
    (fingerprint.home / "libraries").write_text("\n".join(libraries))
    fingerprint("run", "--name", name, *command)


@pytest.mark.long
def test_another_release_of_a_library_in_its_place(fingerprint: Cli, server: list[str]) -> None:
    run(fingerprint, "a", server, nccl(fingerprint.home / "lib", "2.27.3"))
    run(fingerprint, "b", server, nccl(fingerprint.home / "lib", "2.28.9"))
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "mapped/main/libraries/libnccl/version"
    assert (diff["suspects"][0]["before"], diff["suspects"][0]["after"]) == ("2.27.3+cuda12.9", "2.28.9+cuda12.9")


def test_a_second_copy_of_a_library(fingerprint: Cli, server: list[str]) -> None:
    first, second = nccl(fingerprint.home / "a", "2.27.3"), nccl(fingerprint.home / "b", "2.27.3")
    run(fingerprint, "a", server, first)
    run(fingerprint, "b", server, first, second)
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "mapped/main/libraries/libnccl/copies"


@pytest.mark.root
@needs_root
@pytest.mark.long
def test_a_container_started_again_with_less_shared_memory(fingerprint: Cli) -> None:
    command = ["--", "unshare", "--mount", "--ipc", "sh", "-c", CONTAINED]
    for name, size in (("a", "1g"), ("b", "64m")):
        (fingerprint.home / "size").write_text(size)
        fingerprint("run", "--name", name, *command)
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "container/main/shm_size"
    assert (diff["suspects"][0]["before"], diff["suspects"][0]["after"]) == (1 << 30, 64 << 20)
