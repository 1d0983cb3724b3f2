"""Where a process's model and its caches lie as it sees them, how much of the model is in memory, and what the caches
held when it began."""

from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.storage.sections import Storage

__all__ = ["Storage", "read"]


# Thousands of entries of a cache, from a disk that is cold or far away; half a second for each mount that is dead.
@probe(of="process", budget=6.0)
def read(host: Host, target: Target) -> Storage:
    from probes.storage.reading import storage

    return storage(host, target)
