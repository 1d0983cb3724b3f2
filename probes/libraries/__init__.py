"""The Python environment of a process: what it can import, where that came from, and who edited it since."""

from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.libraries.sections import Libraries

__all__ = ["Libraries", "read"]


# A cold disk and an environment of 500 packages; git has a second for each editable tree.
@probe(of="environment", budget=5.0)
def read(host: Host, target: Target) -> Libraries:
    """What reads it is imported where an environment is read, which a snapshot of the host never does."""
    from probes.libraries.reading import libraries

    return libraries(host, target.pid)
