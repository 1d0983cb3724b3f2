"""What was put around the GPUs: toolkits and what containers are given, daemons that set clocks and interrupts by
themselves, and the controller of the board."""

from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.platform.board import Bmc, Cooling, Power, read_bmc, read_cooling, read_power
from probes.platform.containers import Containers, read_containers
from probes.platform.cuda import Cuda, read_cuda
from probes.platform.daemons import Daemons, read_daemons


class Platform(Section):
    cuda: Cuda = Cuda()
    containers: Containers = Containers()
    daemons: Daemons = Daemons()
    power: Power = Power()
    bmc: Bmc = Bmc()
    cooling: Cooling = Cooling()


@probe(of="host", budget=2.0)
def read(host: Host, _target: Target) -> Platform:
    return Platform(
        cuda=read_cuda(host),
        containers=read_containers(host),
        daemons=read_daemons(host),
        power=read_power(host),
        bmc=read_bmc(host),
        cooling=read_cooling(host),
    )
