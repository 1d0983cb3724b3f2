"""The container of a process: which one, since when, and what it was given beside what its control groups allow.

Limits of the control groups are of `process`, their counters of `usage`, preloaded libraries of `mapped`.
"""

from probes.container.grants import capabilities, device_nodes, label
from probes.container.groups import cgroup
from probes.container.mounts import mounts
from probes.container.runtime import identified
from probes.container.sections import Container
from probes.container.surroundings import as_its_parent, namespaces
from probes.kit.host import Host
from probes.kit.probe import Target, probe


@probe(of="process", budget=2.0)
def read(host: Host, target: Target) -> Container:
    """Of a descendant nothing where it stands where its parent does: the same is told once, at the top."""
    if "." in target.name and as_its_parent(host, target.pid):
        return Container()
    pid = target.pid
    separate = namespaces(host, pid)
    places = mounts(host, pid)
    told = identified(host, pid, separate, places.root_type)
    return Container(
        runtime=told.runtime,
        id=told.id,
        image=told.image,
        image_id=told.image_id,
        started=told.started,
        namespaces=separate,
        root_type=places.root_type,
        shm_size=places.shm_size,
        shm_used=places.shm_used,
        capabilities=capabilities(host, pid),
        label=label(host, pid),
        devices=device_nodes(host, pid),
        cgroup=cgroup(host, pid),
    )
