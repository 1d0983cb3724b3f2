"""Two real runs between which a card was set in another way: it is a suspect where it carried something."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.probes.network.test_namespace import NAMESPACES

pytestmark = [pytest.mark.long, pytest.mark.skipif(not NAMESPACES, reason="no network may be laid here")]
IDLE = "import time; time.sleep(0.3)"
TALKS = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    accepted, _ = server.accept()
    while accepted.recv(1 << 20):
        pass
thread = threading.Thread(target=serve)
thread.start()
with socket.create_connection(server.getsockname()) as client:
    for _ in range(200):
        client.sendall(bytes(1 << 20))
thread.join()
"""
SCRIPT = """
set -e
mount -t sysfs sysfs /sys
ip link set lo up
"$1" -m fingerprint run --name A -- "$1" -c "$2"
ip link set lo mtu 1500
"$1" -m fingerprint run --name B -- "$1" -c "$2"
"$1" -m fingerprint diff A B --format json || test $? = 1
"""


def suspect(work: str, folder: Path) -> Any:
    argv = ["unshare", "--net", "--mount", *NAMESPACES[0].split(), "sh", "-c", SCRIPT, "sh", sys.executable, work]
    environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "FINGERPRINT_STORE": str(folder / "store")}
    told = subprocess.run(argv, check=True, capture_output=True, text=True, env=environ, timeout=120)
    (found,) = (one for one in json.loads(told.stdout)["suspects"] if one["facts"] == ["network/interfaces/lo/mtu"])
    return found


def test_the_mtu_of_a_card_that_nothing_crossed_is_unlikely(tmp_path: Path) -> None:
    found = suspect(IDLE, tmp_path)
    assert found["likelihood"] == "unlikely"
    assert "network/interfaces/lo/statistics" in found["against"][0]["says"]


def test_the_mtu_of_a_card_over_which_the_run_talked_is_possible(tmp_path: Path) -> None:
    found = suspect(TALKS, tmp_path)
    assert (found["likelihood"], found["against"], found["restore"]) == ("possible", [], "ip link set lo mtu 65536")
