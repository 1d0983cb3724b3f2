"""A process of the run: what it is, what it was started with, and what the kernel grants it."""

from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.process.given import given, is_wrapper
from probes.process.reading import process as _process
from probes.process.sections import Process
from probes.process.tree import member_of, program_name, tree

__all__ = ["Process", "given", "is_wrapper", "member_of", "program_name", "read", "tree"]


# git is given a second a command, and the digest of a large program may take as long.
@probe(of="process", budget=4.0)
def read(host: Host, target: Target) -> Process:
    return _process(host, target)
