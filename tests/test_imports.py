"""What each verb imports in the user's process: none pays for what another needs (decision 4)."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = frozenset({"fingerprint", "probes"})
# Of our dependencies and of the standard library, what nobody should pay for unasked.
DEAR = frozenset({
    "apscheduler", "click", "cpuinfo", "deepdiff", "msgspec", "psutil", "pydantic", "pynvml", "rich",
    "asyncio", "concurrent", "email", "http", "logging", "multiprocessing", "sqlite3", "ssl",
    "unittest", "xml",
})  # fmt: skip
READS = frozenset({"click", "msgspec"})
STORES = READS | {"sqlite3"}

# A command that says which of our modules compile a regular expression when they are imported.
COMPILES = """
import re, sys

def told(*args, compiled=re.compile, **more):
    code = sys._getframe(1).f_code
    if code.co_name == "<module>":
        print("compiles:", code.co_filename, file=sys.stderr)
    return compiled(*args, **more)

re.compile = told
from fingerprint.cli import main
main(sys.argv[1:])
"""

Python = Callable[..., list[str]]
Imports = Callable[..., frozenset[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Python:
    """What it says on standard error, started with these arguments. What it forks has no streams to tell its own on."""
    folder = tmp_path_factory.mktemp("imports")
    kept = {name: str(folder / name) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    environ = {**os.environ, **kept, "FINGERPRINT_STORE": str(folder / "store.db")}

    def said(*argv: str) -> list[str]:
        ended = subprocess.run(
            [sys.executable, *argv], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
        )
        assert ended.returncode in (0, 1), ended.stderr
        return ended.stderr.splitlines()

    return said


@pytest.fixture(scope="module")
def imports(python: Python) -> Imports:
    """The modules that the process of one command imports."""

    def told(*argv: str) -> frozenset[str]:
        lines = python("-X", "importtime", *argv)
        return frozenset(line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:"))

    at_start = told("-c", "")

    def imported(*argv: str) -> frozenset[str]:
        return told("-m", "fingerprint", *argv) - at_start

    for name in ("run-A", "run-B"):
        imported("run", "-q", "--name", name, "--", "true")
    return imported


def dear(modules: frozenset[str]) -> frozenset[str]:
    return DEAR & {module.partition(".")[0] for module in modules}


def test_the_version_costs_click_and_nothing_of_the_library(imports: Imports) -> None:
    modules = imports("--version")
    assert dear(modules) == {"click"}
    ours = {module for module in modules if module.partition(".")[0] in OURS}
    library = {module for module in ours if not module.startswith("fingerprint.cli")}
    assert library == {"fingerprint", "fingerprint.trouble", "fingerprint.version"}


@pytest.mark.parametrize(
    ("argv", "costs"),
    [
        ("--help", {"click"}),
        ("snapshot --no-store --format json", READS),
        ("snapshot -q", STORES),
        ("snapshot --no-store", READS | {"rich"}),
        ("run -q -- true", STORES),
        ("diff run-A run-B --format json", STORES),
        ("diff run-A run-B", STORES | {"rich"}),
        ("show run-A --format json", STORES),
        ("runs --format json", STORES),
        ("status --format json", STORES),
        ("facts", READS),
        ("config", READS),
    ],
)
def test_a_verb_imports_what_it_needs_and_no_more(imports: Imports, argv: str, costs: set[str]) -> None:
    assert dear(imports(*argv.split())) == costs


@pytest.mark.parametrize("argv", ["run -q -- true", "snapshot -q", "runs --format json"])
def test_no_regular_expression_is_compiled_for_being_imported(python: Python, argv: str) -> None:
    lines = python("-c", COMPILES, *argv.split())
    assert any("click" in line for line in lines), "whoever does is told"
    assert not [line for line in lines if str(ROOT / "fingerprint") in line or str(ROOT / "probes") in line]
