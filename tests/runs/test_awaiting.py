"""A server is read again when it is first listened to."""

import os
import socket

import pytest

from fingerprint.runs.awaiting import Awaiting
from probes.kit.host import Host


class Due:
    """What of a census is asked for."""

    def __init__(self, *ports: int) -> None:
        self.ports = frozenset(ports)
        self.pids = (os.getpid(),)
        self.times = 0

    def be_due(self) -> None:
        self.times += 1


@pytest.mark.parametrize("told_by", ["arguments", "names"])
def test_the_census_is_due_once_for_each_port_that_is_listened_on(told_by: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        census = Due(*([port] if told_by == "names" else []))
        given = frozenset({port} if told_by == "arguments" else ())
        awaiting = Awaiting(given, Host(), census, 0.0)  # type: ignore[arg-type]
        awaiting.step(1.0)
        assert census.times == 0
        listener.listen()
        awaiting.step(1.5)
        assert census.times == 0, "it looks each second"
        awaiting.step(2.0)
        awaiting.step(3.0)
        assert census.times == 1
