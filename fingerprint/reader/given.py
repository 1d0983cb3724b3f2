"""What a command is about to be given, read where whatever hangs can be given up."""

import os
from collections.abc import Mapping, Sequence

from fingerprint.reader.reader import Reader
from fingerprint.reader.worker import Probes
from fingerprint.snapshot import Job, Reading
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Probe, Target

AREA = "given"
SECONDS = 4.0  # as for a process that runs: git and the digest of a large program take their time


def with_given(probes: Probes, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Probes:
    """These, and one more for a Reader that `read_given` is to ask about this command."""
    from probes.process import Process, given

    def read(host: Host, target: Target) -> Section:
        return given(host, target.pid, argv, env, cwd)

    return {**probes, AREA: Probe(AREA, "process", Process, read, SECONDS, "border")}


def read_given(reader: Reader) -> Reading:
    """Of a child that this process starts now."""
    [(_, reading)] = reader.read([Job(AREA, Target("main", os.getpid()))], SECONDS)
    return reading
