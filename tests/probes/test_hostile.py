"""A server whose user laid a trap in the place of each file that is read of it, read by root."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from fingerprint.sections import decoder_of
from probes.kit.host import Host
from probes.kit.probe import Target, discover
from tests.kit.test_user import SOMEBODY, open_to_all
from tests.probes.environments import Environment

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root reads for others")]
SECRETS = {
    "json": json.dumps({"vocab_size": "hunter2", "url": "hunter2", "archive_info": {"hash": "hunter2"}}),
    "conf": "NCCL_ALGO=hunter2\nNCCL_PROTO=hunter2\n",
    "pth": "import hunter2\n",
    "log": "h:PID:7 [0] NCCL INFO Using network hunter2\nh:PID:7 [0] x.cc:1 NCCL WARN hunter2\n",
    "metadata": "Name: hunter2\nVersion: hunter2\n",
    "record": "hunter2.py,sha256=hunter2,7\n",
    "head": "ref: refs/heads/hunter2\n",
    "envs": '"VLLM_HUNTER2": lambda: hunter2\n',
    "text": "root:$6$hunter2:20228:0:99999:7:::\n",
}
SITE = "site"
PLACES = {
    "m/config.json": "json",
    "m/generation_config.json": "json",
    "m/hf_quant_config.json": "json",
    "m/tokenizer_config.json": "json",
    "m/model.safetensors": "text",
    "m/model.safetensors.index.json": "json",
    "nccl.conf": "conf",
    "topology.xml": "text",
    "nccl.log": "log",
    ".git/HEAD": "head",
    ".git/packed-refs": "text",
    ".git/index": "text",
    f"{SITE}/hook.pth": "pth",
    f"{SITE}/sitecustomize.py": "text",
    f"{SITE}/vllm/envs.py": "envs",
    f"{SITE}/vllm-0.11.0.dist-info/RECORD": "record",
    f"{SITE}/vllm-0.11.0.dist-info/direct_url.json": "json",
    f"{SITE}/torch-of-mine.dist-info/METADATA": "metadata",
    f"{SITE}/numpy-2.0.0.dist-info/INSTALLER": "text",
}
SERVER = f"""\
import os, time
os.setgroups([])
os.setresgid({SOMEBODY}, {SOMEBODY}, {SOMEBODY})
os.setresuid({SOMEBODY}, {SOMEBODY}, {SOMEBODY})
print("there", flush=True)
time.sleep(600)
"""
VARIABLES = {
    "NCCL_CONF_FILE": "nccl.conf",
    "NCCL_TOPO_FILE": "topology.xml",
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_FILE": "nccl.log",
    "VLLM_MADE_UP": "1",
}


@pytest.fixture
def server(tmp_path: Path) -> Environment:
    open_to_all(tmp_path)
    venv = Environment(tmp_path / "venv")
    venv.install("vllm", "0.11.0", {"vllm/envs.py": ""}, direct_url_json="{}")
    for folder in ("m", ".git", f"{venv.site}/torch-of-mine.dist-info", f"{venv.site}/numpy-2.0.0.dist-info"):
        (tmp_path / folder).mkdir()
    (tmp_path / "vllm").write_text(SERVER)
    (tmp_path / "secrets").mkdir(mode=0o700)
    return venv


@contextmanager
def serving(server: Environment, *apart: str) -> Iterator[int]:
    """apart: what it is started by."""
    folder = server.root.parent
    argv = [*apart, str(server.python), str(folder / "vllm"), "serve", str(folder / "m"), "--port", "31811"]
    with subprocess.Popen(argv, cwd=folder, env=VARIABLES, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"there\n"
            yield child.pid
        finally:
            child.kill()


def lay(server: Environment, trap: Callable[[Path, str], None]) -> None:
    folder = server.root.parent
    for place, kind in PLACES.items():
        path = server.site / place.removeprefix(f"{SITE}/") if place.startswith(SITE) else folder / place
        path.unlink(missing_ok=True)
        trap(path, kind)


def link_to_a_secret(server: Environment, pid: int) -> Callable[[Path, str], None]:
    """Each with what would tell most in that place."""
    folder = server.root.parent / "secrets"
    for kind, text in SECRETS.items():
        (folder / kind).write_text(text.replace("PID", str(pid)))
    return lambda path, kind: path.symlink_to(folder / kind)


def everything_of(pid: int) -> bytes:
    """All that is read of a process, as whoever receives it decodes it, strictly."""
    target, told = Target("main", pid), b""
    for probe in discover().values():
        if probe.of != "host":
            section = msgspec.json.encode(probe.read(Host(), target))
            decoder_of(probe.section)(section)
            told += section
    return told


@pytest.mark.parametrize("apart", [(), ("unshare", "-m")], ids=["among ours", "in mounts of its own"])
def test_links_to_what_only_root_may_read_tell_nothing(server: Environment, apart: tuple[str, ...]) -> None:
    with serving(server, *apart) as pid:
        lay(server, link_to_a_secret(server, pid))
        told = everything_of(pid)
    assert b"hunter2" not in told.lower()
    assert told.count(b'"denied"') > 10


def test_the_same_files_are_read_where_they_are_his_own(server: Environment) -> None:
    """Else the traps would prove nothing."""
    with serving(server) as pid:
        lay(server, lambda path, kind: (path.write_text(SECRETS[kind].replace("PID", str(pid))), None)[1])
        told = everything_of(pid)
    assert told.lower().count(b"hunter2") > 10


def test_nothing_waits_for_a_fifo(server: Environment) -> None:
    with serving(server) as pid:
        lay(server, lambda path, _kind: os.mkfifo(path))
        assert b'"unsupported"' in everything_of(pid)
