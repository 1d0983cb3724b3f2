"""The area `gpu`: what NVML, and the kernel where NVML is silent, tell of each GPU.

Its key is the PCI address: the slot. Which unit sits in it are the identity facts.
"""

from probes.gpu.asking import Device
from probes.gpu.thermal import Temperature, read_temperature
from probes.kit.facts import Map, Section, Seen, identity, then
from probes.kit.host import Host
from probes.kit.knobs import read_each
from probes.kit.probe import Target, probe


class Gpu(Section):
    """Paths: gpu/0000:17:00.0/power_limit, gpu/0000:17:00.0/clocks/sm ...

    Facts of its own are read by their sources; those that need more, and the sections, are given beside them.
    """

    name: Seen[str] = identity("Another product is another machine", "nvmlDeviceGetName")
    temperature: Temperature = Temperature()


class Gpus(Section):
    gpus: Seen[Map[Gpu]] = identity(
        "A GPU that fell off the bus, or that a container may not see", "nvmlDeviceGetCount"
    )


def sample(host: Host, _target: Target) -> Gpus:
    """What moves, and nothing else: the calls of inquiry.SAMPLE."""
    seen = host.nvml_sample()
    return Gpus(gpus=then(seen, lambda keys: Map({key: _sampled(Device(host, key)) for key in keys})))


@probe(of="host", budget=1.0, sample=sample, asks_nvml=True)
def gpu(host: Host, _target: Target) -> Gpus:
    return Gpus(gpus=then(host.nvml_devices(), lambda keys: Map({key: _gpu(Device(host, key)) for key in keys})))


def _gpu(device: Device) -> Gpu:
    return read_each(Gpu, device.answer, temperature=read_temperature(device))


def _sampled(device: Device) -> Gpu:
    return Gpu(temperature=read_temperature(device))
