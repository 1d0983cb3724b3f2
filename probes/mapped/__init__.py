"""What a process has in its address space and at hand: the libraries that it really mapped, where its pages are,
which devices it holds open.

`mapped` is the kernel's word for it (/proc/PID/maps). A list of packages tells what could be loaded, this one what was.
"""

from probes.kit.facts import then
from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.mapped.libraries import libraries, preloaded
from probes.mapped.memory import memory
from probes.mapped.objects import objects
from probes.mapped.sections import Mapped

DEVICES = r"/dev/(?:nvidia|infiniband/|gdrdrv|kfd|dri/|vfio/)"


# Files of libraries are read in a few pieces each, and the small ones without a build id whole.
@probe(of="process", budget=4.0)
def read(host: Host, target: Target) -> Mapped:
    names = preloaded(host, target.pid)
    found = objects(host, target.pid, names)
    return Mapped(
        libraries=libraries(host, target.pid, found),
        files=then(found, lambda seen: seen.number),
        preloaded=names,
        devices=host.opened(target.pid, DEVICES),
        memory=memory(host, target.pid),
    )
