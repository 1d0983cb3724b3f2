"""What a PCI Express link carries, by generation: what its registers, NVML and the kernel count from 1."""

from probes.kit.facts import Gap, Seen

SPEEDS = (0, 2500, 5000, 8000, 16000, 32000, 64000)  # MT/s of a lane; NVML_PCIE_LINK_MAX_SPEED_* alike
PAYLOAD = ((0, 1), (4, 5), (4, 5), (128, 130), (128, 130), (128, 130), (242, 256))
"""What the encoding leaves of a lane's bits (PCI Express Base Specification 6.0, 4.2)."""


def speed_of(generation: int) -> Seen[int]:
    """MT/s. Unknown of a generation that this table does not have yet."""
    return SPEEDS[generation] if 0 < generation < len(SPEEDS) else Gap("unsupported")


def carries(generation: int, lanes: int) -> Seen[int]:
    """MB/s, one way, of which headers of packets take a tenth and more."""
    speed = speed_of(generation)
    if isinstance(speed, Gap):
        return speed
    part, of = PAYLOAD[generation]
    return speed * lanes * part // of // 8
