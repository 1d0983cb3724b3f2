"""Who else was at work while a command ran is among its samples."""

import json
import subprocess
import sys
from typing import Any

from tests.e2e.conftest import Cli

BURN = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


def samples(fingerprint: Cli, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fingerprint("show", run, "--format", "json").stdout)["samples"]
    return found


def test_a_busy_neighbour_is_seen_beside_the_run_with_its_share_of_the_cpus(fingerprint: Cli) -> None:
    neighbour = subprocess.Popen([sys.executable, "-c", BURN])
    try:
        fingerprint("run", "--name", "a", "--", "sleep", "1.6")
    finally:
        neighbour.kill()
        neighbour.wait()
    seen = samples(fingerprint, "a")
    assert any(path.startswith("neighbours/main/python") and path.endswith("/cpu") for path in seen)
    assert not any(path.startswith("neighbours/main/sleep/") for path in seen)
