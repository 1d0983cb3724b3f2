"""Who opens as many connections as he can takes no descriptor from what the service itself does."""

import json
import os
import re
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from fingerprint.service import served
from fingerprint.service.api import listening
from fingerprint.service.client import Client, samples_beside
from fingerprint.service.notify import status
from fingerprint.service.pulse import Pulse
from fingerprint.service.samples import MOST_PEERS
from tests.service.test_daemon import Daemon
from tests.service.test_faults import health
from tests.standin import free_port
from tests.waiting import until

UNIT = Path(__file__).parents[2] / "systemd/fingerprint.service"
SERVERS = 100


def most_files() -> int:
    found = re.search(r"^LimitNOFILE=(\d+)$", UNIT.read_text(), re.M)
    assert found
    return int(found[1])


class Limited(Daemon):
    """With the unit's limit of open files, and TCP beside its socket."""

    def start(self) -> None:
        token = self.folder / "token"
        token.write_text("0123456789abcdef-a-secret")
        token.chmod(0o600)
        self.tcp = ("127.0.0.1", free_port())
        config = self.folder / ".config/fingerprint/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f"[service]\ntcp = '127.0.0.1:{self.tcp[1]}'\ntoken_file = '{token}'\n")
        super().start()
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (most_files(), most_files()))


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Limited]:
    found = Limited(tmp_path)
    yield found
    if found.process.poll() is None:
        found.stop()


def test_all_that_others_may_open_leaves_a_hundred_servers_and_the_readers_their_descriptors() -> None:
    others = 2 * listening.MOST_OPEN + MOST_PEERS + 3 * served.MOST_BEGUN
    assert others + 3 * SERVERS + 60 <= most_files()


@pytest.mark.parametrize("ask", [Pulse("/nowhere", 1).step, lambda: status("all is well")])
def test_without_a_free_descriptor_the_main_thread_goes_on(
    ask: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_free(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere")
    monkeypatch.setattr(socket, "socket", none_free)
    ask()


@pytest.mark.long
def test_it_goes_on_while_others_open_all_that_they_can_at_all_its_doors(limited: Limited) -> None:
    client = Client(str(limited.folder / "api.sock"))
    until(lambda: health(limited)["ok"], 60)
    path = str(limited.folder / "api.sock")
    doors: list[tuple[socket.AddressFamily, str | tuple[str, int]]] = [
        (socket.AF_UNIX, path), (socket.AF_UNIX, samples_beside(path)), (socket.AF_INET, limited.tcp),
    ]  # fmt: skip
    with ExitStack() as held:
        for _ in range(400):
            for family, address in doors:
                one = held.enter_context(socket.socket(family))
                one.settimeout(0.5)
                with suppress(OSError):
                    one.connect(address)
        assert len(os.listdir(f"/proc/{limited.process.pid}/fd")) < most_files() - 3 * SERVERS
        time.sleep(2)
        assert limited.process.poll() is None, limited.log.read_text()
    until(lambda: json.loads(client.post("/v1/runs", {"name": "run-A", "pid": os.getpid()}))["name"] == "run-A")
    until(lambda: health(limited)["ok"], 30)
    assert "Traceback" not in limited.log.read_text()
