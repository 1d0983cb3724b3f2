"""The house rules hold, and a violation of each is caught."""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import pytest

from tests.turned import standing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = ("fingerprint", "probes")


def ours(command: str, *arguments: str, cwd: Path = ROOT, text: str = "") -> "subprocess.CompletedProcess[str]":
    """A tool of the environment that the tests run in."""
    program = Path(sys.executable).parent / command
    return subprocess.run([program, *arguments], cwd=cwd, input=text, capture_output=True, text=True, check=False)


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


# What an area module may not do.


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import os", "TID251"),
        ("from os import path", "TID251"),
        ("import os.path", "TID251"),
        ("from pathlib import Path", "TID251"),
        ("import subprocess", "TID251"),
        ("import socket", "TID251"),
        ("import time", "TID251"),
        ("import urllib.request", "TID251"),
        ("from importlib import import_module", "TID251"),
        ("text = open('/proc/stat').read()", "PTH123"),
    ],
)
@pytest.mark.parametrize("file", ["probes/area.py", "probes/area/part.py"])
def test_an_area_module_that_goes_past_the_host_fails(file: str, line: str, rule: str) -> None:
    found = ours(
        "ruff", "check", "--output-format=concise", "--no-cache", "--stdin-filename", file, "-", text=f"{line}\n"
    )
    assert found.returncode == 1
    assert rule in found.stdout


@pytest.mark.parametrize("file", ["probes/kit/host.py", "fingerprint/runs/wrap.py", "tests/test_x.py"])
def test_elsewhere_the_same_is_allowed(file: str) -> None:
    found = ours(
        "ruff", "check", "--no-cache", "--select=TID251,PTH123", "--stdin-filename", file, "-", text="import os\n"
    )
    assert found.returncode == 0, found.stdout


# Who may import whom.

VIOLATIONS: Mapping[str, tuple[str, str]] = {
    "fingerprint -> probes, never back": ("probes/kit/violation.py", "import fingerprint.snapshot"),
    "an area stands alone": ("probes/violation.py", "import probes.cpu"),
    "inside fingerprint": ("fingerprint/store/violation.py", "import fingerprint.diff"),
    "a report takes the contract": ("fingerprint/report/violation.py", "import fingerprint.snapshot"),
    "one door to psutil": ("fingerprint/runs/violation_a.py", "import psutil"),
    "one door to cpuinfo": ("fingerprint/runs/violation_b.py", "import cpuinfo"),
    "one door to apscheduler": ("fingerprint/runs/violation_m.py", "import apscheduler"),
    "one door to subprocess": ("fingerprint/runs/violation_c.py", "def late():\n    import subprocess"),
    "one door to deepdiff": ("fingerprint/runs/violation_d.py", "import deepdiff"),
    "one door to sqlite3": ("fingerprint/runs/violation_e.py", "import sqlite3"),
    "one door to pydantic": ("fingerprint/runs/violation_f.py", "import pydantic"),
    "one door to fastapi": ("fingerprint/runs/violation_k.py", "import fastapi"),
    "one door to uvicorn": ("fingerprint/runs/violation_l.py", "import uvicorn"),
    "one door to prometheus_client": ("fingerprint/runs/violation_n.py", "import prometheus_client"),
    "one door to rich": ("fingerprint/runs/violation_g.py", "from rich.text import Text"),
    "one door to click": ("fingerprint/runs/violation_h.py", "import click"),
    "one door to pynvml": ("probes/kit/violation_i.py", "import pynvml"),
}


def test_each_import_contract_is_broken_by_its_violation_and_by_nothing_else(tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    clean = _contracts(tmp_path)
    assert set(clean.values()) == {"KEPT"}
    for file, text in VIOLATIONS.values():
        (tmp_path / file).write_text(f"{text}\n")
    assert _contracts(tmp_path) == dict.fromkeys(clean, "BROKEN")
    assert all(any(name.startswith(start) for name in clean) for start in VIOLATIONS)
    assert len(clean) == len(VIOLATIONS)


def _contracts(folder: Path) -> dict[str, str]:
    """Name -> KEPT or BROKEN."""
    told = ours("lint-imports", "--no-logo", "--no-cache", cwd=folder).stdout.replace("\n", " ")
    names = [contract["name"] for contract in PYPROJECT["tool"]["importlinter"]["contracts"]]
    return {name: _verdict(name, told) for name in names}


def _verdict(name: str, told: str) -> str:
    found = re.search(r"\s+".join(map(re.escape, name.split())) + r"\s+(KEPT|BROKEN)", told)
    return found[1] if found else told


# Size: what a reader can take in.


def test_files_have_at_most_400_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in modules()}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_functions_have_at_most_40_lines_and_10_at_the_median() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.name}": length for path in modules() for node, length in _functions(path)
    }
    assert {name: length for name, length in lengths.items() if length > 40} == {}
    assert median(lengths.values()) < 10


def _functions(path: Path) -> Iterator[tuple["ast.FunctionDef | ast.AsyncFunctionDef", int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, (node.end_lineno or 0) - node.lineno + 1


# The lock, the wheel, the scripts, the pages.


def test_the_lock_holds_every_requirement_with_hashes() -> None:
    from packaging.requirements import Requirement

    groups = PYPROJECT["dependency-groups"]
    wanted = [*PYPROJECT["project"]["dependencies"], *groups["test"], *groups["lint"], *groups["build"]]
    locked = _locked(ROOT / "requirements.lock")
    for requirement in map(Requirement, wanted):
        versions = locked.get(requirement.name.lower().replace("_", "-"), [])
        assert any(requirement.specifier.contains(version) for version in versions), requirement
    assert _locked(ROOT / "requirements-bench.lock") == {"ceteris": ["0.4.1"]}


def _locked(file: Path) -> dict[str, list[str]]:
    """Name -> versions (one for each range of Pythons). Each entry must carry hashes."""
    found: dict[str, list[str]] = {}
    for entry in re.split(r"\n(?=\S)", file.read_text()):
        if not entry.startswith("#"):
            name, version = re.match(r"([\w.-]+)==([^\s;]+)", entry).groups()  # type: ignore[union-attr]
            assert "--hash=sha256:" in entry, name
            found.setdefault(name, []).append(version)
    return found


@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")
def test_the_wheel_holds_the_two_packages_typed_and_nothing_else(tmp_path: Path) -> None:
    built = ours("python", "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("serving_fingerprint-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == set(PACKAGES)
    assert {"fingerprint/py.typed", "probes/py.typed", "probes/kit/host.py"} <= set(names)
    gitdir = ROOT / "probes/kit/gitdir"
    assert {str(path.relative_to(ROOT)) for path in gitdir.rglob("*") if path.is_file()} <= set(names)
    units = {str(path.relative_to(ROOT / "systemd")) for path in (ROOT / "systemd").rglob("*") if path.is_file()}
    assert {f"fingerprint/service/units/{name}" for name in units} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the scripts need before they can do anything, with no Python on the PATH yet."""
    (tmp_path / "bin").mkdir()
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for file in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / file, tmp_path)
    for tool in ("sh", "dirname", "cat", "cmp", "rm", "cp"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def _python3(checkout: Path, script: str) -> None:
    file = checkout / "bin/python3"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.mark.parametrize("script", ["test", "demo"])
@pytest.mark.parametrize(
    ("python3", "words"),
    [
        (None, "needs Python 3.10 or later, found no python3: install the package python3"),
        ('test "$1" = --version && echo Python 3.8.10', "needs Python 3.10 or later, found Python 3.8.10"),
        (
            'case "$2" in *venv*) exit 1 ;; *version_info*) exit 0 ;; esac',
            "has no venv: install the package python3-venv",
        ),
    ],
)
def test_what_a_script_misses_is_told_in_one_line(checkout: Path, script: str, python3: str | None, words: str) -> None:
    if python3 is not None:
        _python3(checkout, python3)
    ended = subprocess.run(
        [checkout / "scripts" / script],
        env={"PATH": str(checkout / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert words in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.long
@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="runs in the environment that scripts/test makes")
def test_the_demo_names_the_state_that_it_changed_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}
    with standing():
        ended = subprocess.run([ROOT / "scripts/demo"], env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "The diff names that first" in ended.stdout
    # pip asks rustc for its version, and rustup's stand-in for rustc makes its own folder.
    assert [left for left in tmp_path.glob("*/*") if left.name != ".rustup"] == []


def test_the_scripts_may_be_executed() -> None:
    for script in ("scripts/test", "scripts/demo", ".ci/run"):
        assert os.access(ROOT / script, os.X_OK), script


def test_the_decisions_page_lists_every_decision() -> None:
    folder = ROOT / "docs/decisions"
    pages = {path.name for path in folder.glob("0*.md")}
    assert pages == set(re.findall(r"\]\((0[\w.-]+\.md)\)", (folder / "README.md").read_text()))


def test_the_architecture_page_is_short_and_names_what_exists() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    assert len(text.splitlines()) < 100
    words = set(re.findall(r"`([a-z_]+)`", text))
    parts = {path.stem for folder in ("probes", "probes/kit") for path in (ROOT / folder).glob("[a-z]*")}
    assert parts - {"py", "kit", "gitdir"} - words == set()
    for path in re.findall(r"`((?:fingerprint|probes)/[a-z_/]*(?:\.py)?)`", text):
        assert (ROOT / path).exists(), path
