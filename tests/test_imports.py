"""What each verb imports in the user's process: none pays for what another needs (decision 4)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = frozenset({"fingerprint", "probes"})
TELLING = """
import json, sys
from fingerprint.cli import main
try:
    main(sys.argv[2:])
finally:
    open(sys.argv[1], "w").write(json.dumps(sorted(sys.modules)))
"""
# What the standard library has of the dear, and who pays for it.
DEAR = frozenset({
    "asyncio", "concurrent", "email", "http", "logging", "multiprocessing", "sqlite3", "ssl", "subprocess",
    "unittest", "xml",
})  # fmt: skip
READS = frozenset({"click", "msgspec"})
STORES = READS | {"sqlite3"}
# psutil imports subprocess; ioprio_get(2), asked of it, answers what the command is given.
RUNS = STORES | {"psutil", "subprocess"}

Imports = Callable[..., frozenset[str]]


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Imports:
    """The modules that one command has imported when it ends."""
    folder = tmp_path_factory.mktemp("imports")
    kept = {name: str(folder / name) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    environ = {**os.environ, **kept, "FINGERPRINT_STORE": str(folder / "store.db")}

    def imported(*argv: str) -> frozenset[str]:
        told = folder / "told"
        told.unlink(missing_ok=True)
        subprocess.run([sys.executable, "-c", TELLING, told, *argv], cwd=ROOT, env=environ, capture_output=True)
        return frozenset(json.loads(told.read_text()))

    for name in ("run-A", "run-B"):
        imported("run", "-q", "--name", name, "--", "true")
    return imported


def dear(modules: frozenset[str]) -> set[str]:
    """Of other distributions, and of the standard library. msgspec takes typing_extensions where it is there."""
    names = {module.partition(".")[0] for module in modules} - OURS - {"__main__", "typing_extensions"}
    foreign = {name for name in names if name not in sys.stdlib_module_names and not name.startswith("_")}
    return foreign | (names & DEAR)


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
        ("run -q -- true", RUNS),
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
