"""What a server of an engine answers about itself: with which arguments, model, cache and graphs it serves."""

from probes.engine.reading import engine
from probes.engine.sections import Engine
from probes.kit.host import Host
from probes.kit.probe import Target, probe

__all__ = ["Engine", "read"]


# Five questions at most, none of which is waited for longer than a second, nor any after one that was.
@probe(of="process", budget=4.0, cadence="serving")
def read(host: Host, target: Target) -> Engine:
    return engine(host, target.pid)
