"""NCCL of a process: what it is asked for, by whom, and what its log says that it chose."""

from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.nccl.reading import nccl
from probes.nccl.sections import Nccl

__all__ = ["Nccl", "read"]


# A log of megabytes takes a third of a second; plugins and topology files may lie on a disk that is cold.
@probe(of="process", budget=3.0)
def read(host: Host, target: Target) -> Nccl:
    return nccl(host, target.pid)
