"""How hot a GPU is, how hot it may become, and what cools it."""

from probes.gpu.asking import Device
from probes.kit.facts import Section, Seen, identity, telemetry
from probes.kit.knobs import read_each


class Temperature(Section):
    """Absolute thresholds (before Ada), or margins below them (Ada and later): a product has one or the other."""

    gpu: Seen[int] = telemetry(
        "Leakage and throttling grow with it: a warm GPU reaches its power limit at a lower clock",
        "nvmlDeviceGetTemperatureV(0)",
        "C",
    )


class Fans(Section):
    count: Seen[int] = identity(
        "None on boards that the chassis cools: their clocks follow its fans and inlet",
        "nvmlDeviceGetNumFans",
        context=True,
    )


def read_temperature(device: Device) -> Temperature:
    return read_each(Temperature, device.answer)
