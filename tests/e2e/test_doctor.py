"""What cannot be read of a server's process: named to who may not, and nothing to who may."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint.doctor import Finding, House, examine
from fingerprint.snapshot import Key, Provenance, Snapshot, reading_of
from probes import NOT_OF_THE_HOST
from probes.kit.host import Host
from probes.kit.probe import Target, discover
from tests.e2e.conftest import Cli
from tests.kit.test_user import SOMEBODY
from tests.probes.children import running
from tests.waiting import until

SERVER = ("sh", "-c", "sleep 60; :")
AREAS = ("container", "libraries", "mapped", "model", "nccl", "process")


def denied(findings: list[dict[str, Any]]) -> set[str]:
    """The areas of which something is."""
    return {found["about"].partition("/")[0] for found in findings if found["level"] == "limit"} & set(AREAS)


def test_of_ones_own_process_nothing_is_denied(fingerprint: Cli) -> None:
    with running(SERVER) as pid:
        findings = json.loads(fingerprint("doctor", "--pid", str(pid), "--format", "json").stdout)
    assert {found["about"] for found in findings} >= {"installation"}
    assert denied(findings) == set()


def test_all_processes_of_a_server_are_looked_at_and_told_once(fingerprint: Cli) -> None:
    with running(("sh", "-c", "sleep 60 & sleep 60 & wait")) as pid:
        until(lambda: len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()) == 2)
        findings = json.loads(fingerprint("doctor", "--pid", str(pid), "--format", "json").stdout)
        told = [found for found in findings if found["about"] == "mapped/main and 2 more"]
        facts = [f"mapped/{target}/memory/node" for target in ("main", "main.sleep.1", "main.sleep.2")]
    assert [found["facts"] for found in told] == [facts]


def test_a_process_that_is_not_there_is_said(fingerprint: Cli) -> None:
    assert "there is no process 99999999" in fingerprint("doctor", "--pid", "99999999", status=2).stderr


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_plain_user_is_told_what_of_roots_process_is_denied_and_what_would_help() -> None:
    with running(SERVER) as pid:
        sections_of(pid)  # what is imported late may lie where only root may look
        told = [msgspec.to_builtins(it) for it in as_somebody(pid)]
    assert denied(told) >= {"container", "mapped", "process"}
    limits = [found for found in told if found["level"] == "limit" and found["about"] == "process/main"]
    assert {"run as the process's own user, as root, or with CAP_SYS_PTRACE"} <= {found["remedy"] for found in limits}
    assert any("process/main/env" in found["facts"] for found in limits)


def sections_of(pid: int) -> Mapping[str, Any]:
    probes = discover(NOT_OF_THE_HOST).values()
    return {probe.area: probe.read(Host(), Target("main", pid)) for probe in probes if probe.cadence == "border"}


def as_somebody(pid: int) -> tuple[Finding, ...]:
    """What doctor makes of what a forked process read that gave up root."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(out)
            os.setgroups([])
            os.setresgid(SOMEBODY, SOMEBODY, SOMEBODY)
            os.setresuid(SOMEBODY, SOMEBODY, SOMEBODY)
            with os.fdopen(into, "wb") as answer:
                answer.write(msgspec.json.encode(sections_of(pid)))
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as answer:
        told = msgspec.json.decode(answer.read())
    os.waitpid(child, 0)
    sections = {area: msgspec.convert(section, discover([area])[area].section) for area, section in told.items()}
    readings = {Key(area, "main"): reading_of(section) for area, section in sections.items()}
    return examine(Snapshot("s", 0, 1.0, "h", Provenance("0", "3", SOMEBODY, "k"), readings), House())
