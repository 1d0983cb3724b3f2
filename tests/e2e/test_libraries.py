"""One thing changed in the environment of a Python between two runs: it is the first suspect, alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_mapped import nccl
from tests.e2e.test_one_change import the_suspect
from tests.probes.environments import Environment
from tests.probes.test_process_git import git

SERVER = ("-c", "import time; time.sleep(1.2)")


@pytest.fixture
def venv(tmp_path: Path) -> Environment:
    """Of a server, as far as its packages go."""
    venv = Environment(tmp_path / "venv")
    venv.install("torch", "2.9.0", {"torch/nn.py": "a = 1\n"}, INSTALLER="pip\n")
    venv.install("vllm", "0.11.0", {"vllm/engine.py": "a = 1\n", "vllm/_C.so": "code"}, INSTALLER="pip\n")
    venv.install("requests", "2.32.0")
    return venv


def answer(fingerprint: Cli, venv: Environment, change: Callable[[Environment], object]) -> dict[str, Any]:
    for name in ("A", "B"):
        fingerprint("run", "--name", name, "--", str(venv.python), *SERVER)
        if name == "A":
            change(venv)
    return fingerprint.diff("A", "B")


def patch_in_place(venv: Environment) -> None:
    (venv.site / "vllm/engine.py").write_text("a = 1\nprint(a)\n")


def upgrade(venv: Environment) -> None:
    (venv.site / "torch-2.9.0.dist-info").rename(venv.site / "torch-2.9.1.dist-info")


def swap_the_wheel(venv: Environment) -> None:
    venv.install("vllm", "0.11.0", {"vllm/engine.py": "a = 1\n", "vllm/_C.so": "another"}, INSTALLER="pip\n")


def customise(venv: Environment) -> None:
    (venv.site / "sitecustomize.py").write_text("x = 1\n")


def add_a_hook(venv: Environment) -> None:
    (venv.site / "tracer.pth").write_text("import sys\n")


def install_the_deprecated(venv: Environment) -> None:
    venv.install("pynvml", "12.0.0")


@pytest.mark.parametrize(
    ("change", "suspect"),
    [
        (patch_in_place, "packages/vllm/modified/digest"),
        pytest.param(upgrade, "packages/torch/version", marks=pytest.mark.long),
        pytest.param(swap_the_wheel, "packages/vllm/record", marks=pytest.mark.long),
        pytest.param(customise, "customisations/sitecustomize", marks=pytest.mark.long),
        pytest.param(add_a_hook, "hooks/tracer.pth", marks=pytest.mark.long),
        pytest.param(install_the_deprecated, "packages/pynvml", marks=pytest.mark.long),
    ],
)
def test_what_changed_is_the_one_suspect(
    change: Callable[[Environment], None], suspect: str, fingerprint: Cli, venv: Environment
) -> None:
    assert the_suspect(answer(fingerprint, venv, change)) == f"libraries/main/{suspect}"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_an_editable_tree_at_another_commit(fingerprint: Cli, venv: Environment, tmp_path: Path) -> None:
    tree = tmp_path / "engine"
    tree.mkdir()
    (tree / "engine.py").write_text("a = 1\n")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    url = {"url": f"file://{tree}", "dir_info": {"editable": True}}
    venv.install("sglang", "0.5.3", direct_url_json=json.dumps(url))

    def commit_again(_: Environment) -> None:
        (tree / "engine.py").write_text("a = 2\n")
        git(tree, "commit", "-q", "-a", "-m", "second")

    diff = answer(fingerprint, venv, commit_again)
    assert the_suspect(diff) == "libraries/main/origins/sglang/tree/commit"
    assert diff["suspects"][0]["after"] == git(tree, "rev-parse", "HEAD")


@pytest.mark.long
def test_another_wheel_is_one_suspect_with_the_library_that_the_server_mapped_of_it(
    fingerprint: Cli, venv: Environment
) -> None:
    """Built anew under the same version."""
    where = venv.site / "nvidia/nccl/lib"
    for name, release in (("A", "2.27.3"), ("B", "2.28.9")):
        where.mkdir(parents=True, exist_ok=True)
        (where / "libnccl.so.1").unlink(missing_ok=True)
        library = Path(nccl(where, release))
        venv.install("nvidia_nccl_cu12", "2.27.3", INSTALLER="pip\n")
        with (venv.site / "nvidia_nccl_cu12-2.27.3.dist-info/RECORD").open("a") as record:
            row = [str(library.relative_to(venv.site)), f"sha256={release}", str(library.stat().st_size)]
            record.write(",".join(row) + "\n")
        load = f"import ctypes, time; ctypes.CDLL({str(library)!r}); time.sleep(1.2)"
        fingerprint("run", "--name", name, "--", str(venv.python), "-c", load)
    diff = fingerprint.diff("A", "B")
    assert the_suspect(diff) == "libraries/main/packages/nvidia-nccl-cu12/record"
    assert "mapped/main/libraries/libnccl/version" in diff["suspects"][0]["consequences"]


@pytest.mark.parametrize(
    ("options", "edited"), [pytest.param((), None, marks=pytest.mark.long), (("--deep",), ["requests/__init__.py"])]
)
@pytest.mark.long
def test_a_package_that_is_not_watched_is_held_against_its_record_when_a_run_is_deep(
    options: tuple[str, ...], edited: list[str] | None, fingerprint: Cli, venv: Environment
) -> None:
    (venv.site / "requests/__init__.py").write_text("another\n")
    fingerprint("run", "--name", "A", *options, "--", str(venv.python), *SERVER)
    document = json.loads(fingerprint("show", "A", "--format", "json").stdout)
    requests = document["sections"]["libraries/main"]["facts"]["packages"]["items"]["requests"]
    assert requests.get("modified", {}).get("files") == edited
