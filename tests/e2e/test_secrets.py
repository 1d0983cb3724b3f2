"""Secrets in everything that a server is started with, holds and writes: found nowhere that a run left, and still
compared."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli
from tests.probes.environments import Environment
from tests.standin import free_port
from tests.waiting import until

SERVER = """\
import os, socket, sys, time
print("token=hunter2-printed")
print("Authorization: Bearer hunter2-told", file=sys.stderr)
with open(f"nccl.{os.getpid()}", "w") as log:
    log.write(open("log").read().replace("PID", str(os.getpid())))
with socket.create_server(("127.0.0.1", int(sys.argv[-1]))):
    open("serves", "w").close()
    time.sleep(1.6)
"""
LOG = """\
h1:PID:7 [0] NCCL INFO NCCL_NET_TOKEN set by environment to hunter2-log.
h1:PID:7 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to https://me:hunter2-logged@fabric.example/.
h1:PID:7 [0] net.cc:12 NCCL WARN NET/Plugin : refused with api_key=hunter2-warned
"""
WORDS = ("--api-key", "hunter2-argument", "--hf-token=hunter2-joined", "https://me:hunter2-url@weights.example/m?v=1")
VARIABLES = {
    "MY_SERVICE": "hunter2-variable",
    "VLLM_API_KEY": "hunter2-allowed-prefix",
    "HF_HUB_ENDPOINT": "https://me:hunter2-in-url@hub.example/",
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_FILE": "nccl.%p",
    "NCCL_CONF_FILE": "nccl.conf",
}


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Away from where fingerprint writes, with secrets in each file that it reads."""
    folder = tmp_path_factory.mktemp("server")
    venv = Environment(folder / "venv")
    url = {"url": "https://me:hunter2-package@index.example/vllm.whl", "archive_info": {"hash": "sha256=ab"}}
    venv.install("vllm", "0.11.0", {"vllm/engine.py": "a = 1\n"}, direct_url_json=json.dumps(url))
    (venv.site / "agent.pth").write_text("import sys; sys.api_key = dict(api_key='hunter2-hook')\n")
    (folder / "m").mkdir()
    config = {"vocab_size": 8, "auth_token": "hunter2-model", "url": "https://me:hunter2-deep@hub.example/"}
    (folder / "m/config.json").write_text(json.dumps(config))
    (folder / "nccl.conf").write_text("NCCL_AUTH_TOKEN=hunter2-conf\nOTHER=hunter2-other\n")
    (folder / "log").write_text(LOG)
    (folder / "vllm").write_text(SERVER)
    return venv


def started(server: Environment, port: int) -> tuple[list[str], Path, Mapping[str, str]]:
    """argv, folder and variables."""
    folder = server.root.parent
    argv = [str(server.python), str(folder / "vllm"), "serve", str(folder / "m"), *WORDS, "--port", str(port)]
    return argv, folder, VARIABLES


@contextmanager
def serving(fingerprint: Cli, server: Environment, port: int) -> Iterator[int]:
    argv, folder, env = started(server, port)
    with subprocess.Popen(
        argv, cwd=folder, env={**fingerprint.env, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        until((folder / "serves").exists)
        yield child.pid
        child.kill()


def leaking(folder: Path) -> list[str]:
    """The files that hold a secret, whatever they are."""
    files = (Path(where) / name for where, _, names in os.walk(folder) for name in names)
    return [str(file) for file in files if b"hunter2" in file.read_bytes()]


def facts_of(fingerprint: Cli, run: str, area: str) -> Any:
    return json.loads(fingerprint("show", run, "--format", "json").stdout)["sections"][f"{area}/main"]["facts"]


def everything_told(fingerprint: Cli) -> str:
    """By each verb that tells of runs; what is written into a file lies where `leaking` looks."""
    fingerprint("export", "a", "b", "-o", "exported.json")
    asked = (
        ("show", "a"), ("show", "b"), ("show", "a", "--format", "json"), ("runs", "--format", "json"), ("runs",),
        ("diff", "a", "b"), ("diff", "a", "b", "--format", "json"),
    )  # fmt: skip
    done = [fingerprint(*words, status=None) for words in asked]
    return "".join(told.stdout + told.stderr for told in done)


def test_they_are_found_nowhere_and_what_stands_for_them_compares(fingerprint: Cli, server: Environment) -> None:
    port = free_port()
    argv, folder, env = started(server, port)
    mine = fingerprint("run", "--name", "a", "--", *argv, cwd=folder, env=env)
    assert "hunter2-printed" in mine.stdout, "what the command writes itself is its own"
    assert "hunter2" not in mine.stderr.replace("hunter2-told", "")
    (folder / "serves").unlink()
    with serving(fingerprint, server, port) as pid:
        attached = fingerprint("attach", "--pid", str(pid), "--name", "b", "--for", "1s")
    told = attached.stdout + attached.stderr + everything_told(fingerprint)
    assert "hunter2" not in told
    assert leaking(fingerprint.home) == []
    assert_all_was_read(fingerprint, "b")
    assert_equal_but_not_said(fingerprint)


def assert_all_was_read(fingerprint: Cli, run: str) -> None:
    """A secret that nobody came upon would prove nothing."""
    process = facts_of(fingerprint, run, "process")
    assert is_digest(process["flags"]["items"]["--api-key"][0])
    assert is_digest(process["env"]["items"]["VLLM_API_KEY"])
    assert is_digest(process["env"]["items"]["HF_HUB_ENDPOINT"])
    nccl = facts_of(fingerprint, run, "nccl")
    assert is_digest(nccl["variables"]["items"]["NCCL_AUTH_TOKEN"])
    assert is_digest(nccl["log"]["set_by_environment"]["items"]["NCCL_NET_TOKEN"])
    assert is_digest(nccl["log"]["warnings"][0])
    libraries = facts_of(fingerprint, run, "libraries")
    assert is_digest(libraries["origins"]["items"]["vllm"]["url"])
    assert is_digest(libraries["hooks"]["items"]["agent.pth"]["runs"][0])
    configuration = facts_of(fingerprint, run, "model")["items"]["target"]["configuration"]["value"]
    assert configuration["vocab_size"] == 8
    assert is_digest(configuration["auth_token"])


def is_digest(value: Any) -> bool:
    return isinstance(value, dict) and value["$"] == "hmac"


def assert_equal_but_not_said(fingerprint: Cli) -> None:
    """Of two runs with the same secrets no digest changed."""
    hidden = ("--api-key", "VLLM_API_KEY", "/url", "/runs", "configuration", "NCCL_AUTH_TOKEN")
    assert [it["fact"] for it in fingerprint.diff("a", "b")["changes"] if it["fact"].endswith(hidden)] == []


@pytest.mark.long
def test_another_secret_is_told_by_the_name_of_what_holds_it(fingerprint: Cli, server: Environment) -> None:
    argv, folder, env = started(server, free_port())
    fingerprint("run", "--name", "a", "--", *argv, cwd=folder, env=env)
    argv[argv.index("hunter2-argument")] = "hunter2-another"
    fingerprint("run", "--name", "b", "--", *argv, cwd=folder, env=env)
    diff = fingerprint.diff("a", "b")
    assert [it["fact"] for it in diff["changes"] if it["fact"].startswith("process/")] == [
        "process/main/flags/--api-key"
    ]
    assert "hunter2" not in json.dumps(diff)
    assert leaking(fingerprint.home) == []
