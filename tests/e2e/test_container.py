"""A container that was started again, of namespaces and control groups as the kernel makes them: a pointer to where to
look, and never the cause."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_one_change import the_suspect
from tests.probes.test_container import contained, group
from tests.turned import standing

__all__ = ["group"]
pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a container")]
STARTED = "container/main/started"


@pytest.fixture(autouse=True)
def undisturbed() -> Iterator[None]:
    """No other test turns a setting of the kernel between the two runs."""
    with standing():
        yield


def record(fingerprint: Cli, name: str, group: Path, shm: str = "64m") -> None:
    with contained(group, shm) as pid:
        fingerprint("attach", "--pid", str(pid), "--name", name, "--for", "0.8s")


def change(diff: dict[str, Any], fact: str) -> dict[str, Any]:
    [found] = [it for it in diff["changes"] if it["fact"] == fact]
    return dict(found)


@pytest.mark.long
def test_started_again_it_is_no_suspect_and_where_to_look_is_told(fingerprint: Cli, group: Path) -> None:
    for name in ("a", "b"):
        record(fingerprint, name, group)
    diff = fingerprint.diff("a", "b")
    assert diff["suspects"] == []
    assert change(diff, STARTED)["suspect"] is None
    assert change(diff, STARTED)["verdict"] == "changed"  # no part of a machine
    assert diff["comparable"]["epochs_crossed"] == ["container start"]
    told = " ".join(fingerprint("diff", "a", "b", status=None).stdout.split())
    assert f"Between them lies: container start. What that sets back: fingerprint explain {STARTED}" in told
    assert "compiled and tuned kernels" in fingerprint("explain", STARTED).stdout


def test_what_it_has_less_of_now_is_the_suspect_and_not_its_start(fingerprint: Cli, group: Path) -> None:
    record(fingerprint, "a", group, "1g")
    record(fingerprint, "b", group, "64m")
    diff = fingerprint.diff("a", "b", status=1)
    assert the_suspect(diff) == "container/main/shm_size"
    assert change(diff, STARTED)["suspect"] is None
