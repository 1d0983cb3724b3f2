"""A run whose libraries, working directory, settings and import path lie on a file system whose server goes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.kit.standing_still import standing_still
from tests.probes.test_dead_mounts import copied

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts"), pytest.mark.long]

SERVER = """\
import ctypes, os, sys
ctypes.CDLL(os.path.abspath("libnccl.so.2"))
print("serving", flush=True)
sys.stdin.read()
"""


def test_every_section_is_read_and_what_lies_there_timed_out(fingerprint: Cli, tmp_path: Path) -> None:
    far = tmp_path / "far"
    copied("libc.so", far / "libnccl.so.2")
    (far / "serve.py").write_text(SERVER)
    env = {**fingerprint.env, "NCCL_CONF_FILE": str(far / "nccl.conf"), "PYTHONPATH": str(far / "site")}
    argv = fingerprint.argv("run", "-q", "--name", "a", "--", "sh", "-c", f"cd {far} && exec {sys.executable} serve.py")
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        assert run.stdout.readline() == "serving\n"
        with standing_still(far):
            with pytest.raises(subprocess.TimeoutExpired):
                run.wait(8)
            run.communicate("")
    assert run.returncode == 0
    shown = json.loads(fingerprint("show", "a", "--format", "json").stdout)
    assert shown["troubles"] == []
    told = fingerprint("show", "a", "--facts", "*/main/**", env={"COLUMNS": "200"}).stdout
    gaps = {line.split()[0] for line in told.splitlines() if "does not answer" in line}
    assert gaps >= {"mapped/main/libraries/libnccl/size", "nccl/main/origins", "libraries/main/folders"}
