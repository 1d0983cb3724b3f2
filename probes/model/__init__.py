"""The models that a process was told to serve: which files they are, as its arguments name them."""

from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.model.reading import model
from probes.model.sections import Model

__all__ = ["Model", "read"]


# Headers of a hundred shards and a tokenizer of 20 MB, from a disk that is cold or far away.
@probe(of="process", budget=6.0)
def read(host: Host, target: Target) -> Model:
    return model(host, target.pid)
